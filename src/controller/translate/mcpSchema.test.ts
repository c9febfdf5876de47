import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { mcpBackendSchema } from './mcpSchema.ts';

const accepted = (path: string): boolean =>
  mcpBackendSchema.safeParse({ targets: [{ name: 'a', service: { name: 'a', port: 80, path } }] }).success;

test('a path is visible ASCII: nothing that could end the line that it stands in', () => {
  for (const path of ['/', '/mcp', '/v1/mcp;a=b', "/~a!$&'()*+,=:@%20"])
    assert.equal(accepted(path), true, path);
  for (const path of [
    ...['', 'mcp', '/a b', '/a\r\nx: y', '/a?b', '/a#b', '/\x00', '/\x7f', '/\u00e9'],
    // A byte a character, these are spaces and line breaks.
    '/a\u0120HTTP/1.1\u010d\u010ax: y',
  ])
    assert.equal(accepted(path), false, JSON.stringify(path));
});

test('a program is shared only where there are no sessions, and only in the proxies', () => {
  const isAccepted = (stdio: object, spec: object): boolean =>
    mcpBackendSchema.safeParse({ targets: [{ name: 'a', stdio: { command: 'a', ...stdio } }], ...spec })
      .success;
  const stateless = { statefulMode: 'stateless' };
  assert.equal(isAccepted({ scope: 'shared' }, stateless), true);
  assert.equal(isAccepted({ scope: 'session' }, {}), true);
  assert.equal(isAccepted({ scope: 'shared' }, {}), false);
  assert.equal(isAccepted({ scope: 'shared' }, { statefulMode: 'stateful' }), false);
  assert.equal(isAccepted({ scope: 'shared', placement: 'Pod' }, stateless), false);
});

test('every McpBackend of the samples and of the documents is valid', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const samples = globSync('deploy/samples/*.yaml', { cwd: root }).map((file) => [file, read(root, file)]);
  const blocks = globSync('docs/**/*.md', { cwd: root }).flatMap((file) =>
    Array.from(read(root, file).matchAll(/^```ya?ml\n([\s\S]*?)^```/gm), ([, text = '']) => [file, text]),
  );
  const found = [...samples, ...blocks].flatMap(([file = '', text = '']) =>
    text
      .split(/^---$/m)
      .filter((one) => /^kind: McpBackend$/m.test(one))
      .map((one) => [file, parse(one) as { readonly spec: unknown }] as const),
  );
  for (const wanted of ['deploy/samples/mcp-federation.yaml', 'docs/guides/mcp.md'])
    assert.ok(
      found.some(([file]) => file === wanted),
      wanted,
    );
  for (const [file, { spec }] of found) {
    const { success, error } = mcpBackendSchema.safeParse(spec);
    assert.ok(success, `${file}: ${error?.message ?? ''}`);
  }
});

test('every list of targets in the documents is valid', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const pages = ['docs/guides/mcp.md', 'docs/openapi.md'];
  const lists = pages.flatMap((file) =>
    Array.from(read(root, file).matchAll(/^```ya?ml\n(targets:[\s\S]*?)^```/gm), ([, text = '']) => text),
  );
  assert.ok(lists.length >= pages.length);
  for (const text of lists) {
    const { success, error } = mcpBackendSchema.safeParse(parse(text));
    assert.ok(success, `${text}: ${error?.message ?? ''}`);
  }
});

const read = (root: string, file: string): string => readFileSync(`${root}${file}`, 'utf8');
