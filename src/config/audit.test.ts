import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { missingFiles } from './files.ts';
import { loadText } from './load.ts';
import { parseJsonPath } from './schema/jsonPath.ts';

const load = (audit: unknown) =>
  loadText(JSON.stringify({ config: { audit }, binds: [] }), { file: 'test.yaml', env: {} });

const problemsOf = (audit: unknown): string[] => {
  const result = load(audit);
  return result.ok ? [] : result.problems.map(({ path, message }) => `${path}: ${message}`);
};

test('config.audit has its defaults', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-audit-config-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, 'k'.repeat(32));
  const result = load({
    sink: { file: { path: '/a.jsonl', rotation: { maxSize: '1MiB' } } },
    chain: { key: { file: keyFile } },
  });
  assert.ok(result.ok);
  assert.deepEqual(result.model.process.fixed.audit, {
    sink: { kind: 'file', path: '/a.jsonl', rotation: { maxBytes: 1_048_576, keep: 10 } },
    include: ['calls', 'lists', 'sessions', 'refusals', 'admin'],
    arguments: 'shape',
    redact: [],
    chain: { keyFile, checkpointEveryMs: 10_000 },
    required: false,
  });
});

test('config.audit refuses settings that contradict each other, by name', () => {
  assert.match(
    problemsOf({ sink: 'stdout', required: true }).join(),
    /audit\.required: needs sink\.file or sink\.http/,
  );
  assert.match(
    problemsOf({ sink: 'stdout', redact: ['$.a'] }).join(),
    /audit\.redact: needs arguments: redacted/,
  );
  assert.match(
    problemsOf({ sink: 'stdout', arguments: 'redacted', redact: ['a..'] }).join(),
    /audit\.redact\[0\]: expected a path/,
  );
  for (const sink of ['stderr', {}, { file: { path: '/a' }, http: { url: 'http://a.test' } }, { syslog: {} }])
    assert.notDeepEqual(problemsOf({ sink }), [], JSON.stringify(sink));
  assert.match(
    problemsOf({ sink: { http: { url: 'ftp://a.test' } } }).join(),
    /expected an http or https address/,
  );
});

test('a file of the stream whose folder does not exist is found before the start', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-audit-folder-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, 'k'.repeat(32));
  const missing = (below: string): string[] => {
    const result = load({
      sink: { file: { path: join(folder, below, 'a.jsonl') } },
      chain: { key: { file: keyFile }, checkpoints: { file: join(folder, below, 'c.jsonl') } },
    });
    assert.ok(result.ok);
    return missingFiles(result.named, {}).map(
      ({ path, message }) => `${path}: ${message.replace(folder, '')}`,
    );
  };
  assert.deepEqual(missing('.'), []);
  assert.deepEqual(missing('none'), [
    'config.audit.sink.file.path: /none/a.jsonl: its folder does not exist',
    'config.audit.chain.checkpoints.file: /none/c.jsonl: its folder does not exist',
  ]);
  assert.match(missing('key').join(), /its folder is no folder/);
});

test('checkpoints need a file of their own', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-audit-same-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, 'k'.repeat(32));
  const problems = (file: string): string[] =>
    problemsOf({
      sink: { file: { path: join(folder, 'a.jsonl') } },
      chain: { key: { file: keyFile }, checkpoints: { file } },
    });
  assert.deepEqual(problems(join(folder, 'b.jsonl')), []);
  for (const file of [join(folder, 'a.jsonl'), `${folder}/./x/../a.jsonl`])
    assert.match(problems(file).join(), /audit\.chain\.checkpoints\.file: needs a file of its own/);
});

test('a log that leaves checkpoints out is a warning', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-audit-level-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, 'k'.repeat(32));
  const warnings = (level: string, checkpoints: unknown, chain = true): string[] => {
    const audit = { sink: 'stdout', ...(chain && { chain: { key: { file: keyFile }, checkpoints } }) };
    const config = { logging: { level }, audit };
    const result = loadText(JSON.stringify({ config, binds: [] }), { file: 'test.yaml', env: {} });
    assert.ok(result.ok);
    return result.warnings.flatMap(({ path, message }) => (path === '' ? [] : [`${path}: ${message}`]));
  };
  for (const level of ['warn', 'error'])
    assert.deepEqual(warnings(level, 'log'), [
      `config.audit.chain: checkpoints go to the log, which leaves them out at the level ${level}`,
    ]);
  for (const level of ['info', 'debug']) assert.deepEqual(warnings(level, 'log'), []);
  assert.deepEqual(warnings('warn', { file: join(folder, 'c.jsonl') }), []);
  assert.deepEqual(warnings('warn', undefined, false), []);
});

test('paths name members, elements, wildcards and any depth', () => {
  const name = (text: string) => ({ kind: 'name', name: text });
  assert.deepEqual(parseJsonPath("$.user['full name'].tags[0]"), [
    name('user'),
    name('full name'),
    name('tags'),
    { kind: 'index', index: 0 },
  ]);
  assert.deepEqual(parseJsonPath('items[*].key'), [name('items'), { kind: 'any' }, name('key')]);
  assert.deepEqual(parseJsonPath('..token'), [{ kind: 'deep' }, name('token')]);
  assert.deepEqual(parseJsonPath('a.*.b..c'), [
    name('a'),
    { kind: 'any' },
    name('b'),
    { kind: 'deep' },
    name('c'),
  ]);
  for (const text of ['', '$', '.', 'a.', 'a..', 'a b', '$a', 'a[', 'a[]', "a['b]"])
    assert.equal(parseJsonPath(text), undefined, text);
});
