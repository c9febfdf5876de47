import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import type { KeySet, KeySets } from './contract.ts';
import { createMetrics } from '../telemetry/index.ts';
import { createKeySets } from './keySets.ts';
import { memoryLog } from './log.testing.ts';
import { jsonAnswer, startLoopback, type Loopback } from './loopback.testing.ts';
import { until } from '../until.testing.ts';
import type { Pace } from './remoteKeys.ts';
import { makeKey } from './token.testing.ts';

const one = makeKey('P-256', 'one');
const two = makeKey('P-256', 'two');
const setOf = (...keys: { jwk: unknown }[]): unknown => ({ keys: keys.map((key) => key.jwk) });

const pace: Partial<Pace> = { firstRetryMs: 5, maxRetryMs: 20, timeoutMs: 2_000, pollMs: 10 };

function open(t: TestContext, changes: Partial<Pace> = {}, now: () => number = Date.now) {
  const { log, lines } = memoryLog();
  const keySets = createKeySets({ log, now, pace: { ...pace, ...changes } });
  t.after(() => keySets.close());
  return { keySets, lines };
}

async function server(t: TestContext, ...args: Parameters<typeof startLoopback>): Promise<Loopback> {
  const loopback = await startLoopback(...args);
  t.after(() => loopback.close());
  return loopback;
}

const use = (keySets: KeySets, url: string): KeySet => keySets.use({ kind: 'url', url }).set;
const has = (set: KeySet, kid: string): boolean => set.find(kid).length === 1;
const problem = (keySets: KeySets): string => keySets.view()[0]?.problem ?? '';

test('a provider that is down at the start is asked until it answers', async (t) => {
  const port = await startLoopback(jsonAnswer({})).then(async (probe) => {
    await probe.close();
    return probe.port;
  });
  const { keySets, lines } = open(t);
  const set = use(keySets, `http://127.0.0.1:${port}/keys`);
  assert.equal(set.ready, false);
  await until('the refused connection is known', () => problem(keySets).includes('ECONNREFUSED'));
  assert.equal(keySets.view()[0]?.state, 'waiting');
  await server(t, jsonAnswer(setOf(one)), port);
  await until('the key set is ready', () => set.ready);
  assert.ok(has(set, 'one'));
  const { loadedAt = 0, ...view } = keySets.view()[0] ?? assert.fail();
  assert.ok(loadedAt > 0);
  assert.deepEqual(view, {
    source: `http://127.0.0.1:${port}/keys`,
    keys: 1,
    state: 'ready',
    problem: undefined,
  });
  // The same problem again and again is one line of the log.
  assert.equal(lines.filter((line) => line.level === 'warn').length, 1);
});

test('a rotated key is fetched when a token names it, once for all who wait, and not again in the cool-down', async (t) => {
  let at = 1_000_000;
  const provider = await server(t, jsonAnswer(setOf(one)));
  const { keySets } = open(t, { cooldownMs: 30_000 }, () => at);
  const set = use(keySets, `${provider.url}/keys`);
  await until('the key set is ready', () => set.ready);
  const { generation } = set;
  provider.answer = jsonAnswer(setOf(two));

  const waiting = [set.refetch(), set.refetch(), set.refetch()];
  assert.ok(waiting.every((promise) => promise === waiting[0]));
  await waiting[0];
  assert.equal(provider.asked.length, 2);
  assert.ok(has(set, 'two'));
  assert.equal(has(set, 'one'), false);
  assert.equal(set.generation, generation + 1);

  assert.equal(set.refetch(), undefined);
  at += 30_000;
  await set.refetch();
  assert.equal(provider.asked.length, 3);
  // Equal keys are no change, whatever else the answer holds.
  assert.equal(set.generation, generation + 1);
});

test('rubbish, errors, empty sets and broken answers leave the old keys in place', async (t) => {
  const provider = await server(t, jsonAnswer(setOf(one)));
  const { keySets } = open(t, { cooldownMs: 0, firstRetryMs: 60_000, timeoutMs: 300 });
  const set = use(keySets, `${provider.url}/keys`);
  await until('the key set is ready', () => set.ready);
  const bad: [RegExp, Loopback['answer']][] = [
    [/not JSON/, jsonAnswer('<html>')],
    [/not JSON/, jsonAnswer('')],
    [/not a JSON Web Key Set/, jsonAnswer([])],
    [/not a JSON Web Key Set/, jsonAnswer('null')],
    [/not a JSON Web Key Set/, jsonAnswer({ keys: 'all' })],
    [/no usable key/, jsonAnswer({ keys: [] })],
    [/no usable key/, jsonAnswer({ keys: [{ kty: 'oct', k: 'AA', kid: 'x' }, null, 7] })],
    [/answered 500/, (_q, r) => r.writeHead(500).end('no')],
    [/answered 204/, (_q, r) => r.writeHead(204).end()],
    [/over 1048576 bytes/, jsonAnswer(`{"keys":[${' '.repeat(1_100_000)}]}`)],
    [/not http or https/, (_q, r) => r.writeHead(302, { location: 'file:///etc/passwd' }).end()],
    [/too many redirects/, (_q, r) => r.writeHead(302, { location: '/keys' }).end()],
    [/not reachable/, (_q, r) => r.destroy()],
    [
      /cut off/,
      (_q, r) => {
        r.writeHead(200, { 'content-length': '1000' });
        r.write('{"keys":', () => r.destroy());
      },
    ],
    [/no answer in time/, () => undefined],
    [/cut off/, (_q, r) => void r.writeHead(200).write('{')],
  ];
  for (const [expected, answer] of bad) {
    provider.answer = answer;
    await set.refetch();
    assert.match(problem(keySets), expected);
    assert.equal(keySets.view()[0]?.state, 'stale');
    assert.ok(has(set, 'one'));
  }
  provider.answer = jsonAnswer(setOf(one, two));
  await set.refetch();
  assert.equal(keySets.view()[0]?.state, 'ready');
  assert.ok(has(set, 'two'));
});

test('a redirect is followed', async (t) => {
  const provider = await server(t, (request, response) => {
    if (request.url === '/keys') response.writeHead(307, { location: '/moved' }).end();
    else jsonAnswer(setOf(one))(request, response);
  });
  const { keySets } = open(t);
  const set = use(keySets, `${provider.url}/keys`);
  await until('the key set is ready', () => set.ready);
  assert.deepEqual(provider.asked, ['/keys', '/moved']);
});

test('a set is fetched again when its time is over, within the bounds', async (t) => {
  const provider = await server(t, jsonAnswer(setOf(one), { 'cache-control': 'public, max-age=0' }));
  const { keySets } = open(t, { minFreshMs: 5, maxFreshMs: 10 });
  const set = use(keySets, `${provider.url}/keys`);
  await until('the key set is ready', () => set.ready);
  provider.answer = jsonAnswer(setOf(two), { 'cache-control': 'max-age=86400' });
  await until('key two is there', () => has(set, 'two'));
  provider.answer = jsonAnswer(setOf(one));
  await until('key one is there', () => has(set, 'one'));
});

test('an unusual key is skipped with a warning and does not spoil the set', async (t) => {
  const weak = makeKey('RSA1024', 'weak');
  const encryption = makeKey('RSA', 'enc', { use: 'enc' });
  const provider = await server(t, jsonAnswer({ keys: [weak.jwk, encryption.jwk, { kty: 'AKP' }, one.jwk] }));
  const { keySets, lines } = open(t);
  const set = use(keySets, `${provider.url}/keys`);
  await until('the key set is ready', () => set.ready);
  assert.equal(keySets.view()[0]?.keys, 1);
  const warnings = lines.filter((line) => line.level === 'warn').map((line) => line.fields.reason);
  assert.deepEqual(warnings, [
    'an RSA modulus of 1024 bits (2048 to 8192 are taken)',
    'no kid: tokens cannot name it',
  ]);
});

test('users of one source share one set, and the last release stops its fetching', async (t) => {
  const provider = await server(t, jsonAnswer(setOf(one)));
  const { keySets } = open(t, { minFreshMs: 5, maxFreshMs: 5 });
  const source = { kind: 'url', url: `${provider.url}/keys` } as const;
  const first = keySets.use(source);
  const second = keySets.use(source);
  assert.equal(first.set, second.set);
  await until('the provider was asked again', () => provider.asked.length > 2);
  first.release();
  first.release();
  assert.equal(keySets.view().length, 1);
  second.release();
  assert.equal(keySets.view().length, 0);
  assert.equal(second.set.refetch(), undefined);
});

const folder = mkdtempSync(join(tmpdir(), 'portcullis-keys-'));
after(() => rmSync(folder, { recursive: true }));

const replace = (file: string, text: string): void => {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
};

test('a file is read at once and again when it is replaced, rubbish in between changes nothing', async (t) => {
  const file = join(folder, 'jwks.json');
  writeFileSync(file, JSON.stringify(setOf(one)));
  const { keySets } = open(t);
  const { set } = keySets.use({ kind: 'file', file });
  assert.ok(has(set, 'one'));
  replace(file, '{"keys": [');
  await until('the bad answer is known', () => problem(keySets) === 'not JSON');
  assert.ok(has(set, 'one'));
  replace(file, JSON.stringify(setOf(two)));
  await until('key two is there', () => has(set, 'two'));
  assert.equal(problem(keySets), '');
});

test('a file that comes later is found', async (t) => {
  const file = join(folder, 'later.json');
  const { keySets } = open(t);
  const { set } = keySets.use({ kind: 'file', file });
  assert.equal(set.ready, false);
  assert.match(problem(keySets), /ENOENT/);
  writeFileSync(file, JSON.stringify(setOf(one)));
  await until('the key set is ready', () => set.ready);
});

test('an inline set is there at once, and one without a usable key is refused', (t) => {
  const { keySets } = open(t);
  const { set } = keySets.use({ kind: 'inline', jwks: JSON.stringify(setOf(one)) });
  assert.ok(set.ready && has(set, 'one'));
  assert.throws(() => keySets.use({ kind: 'inline', jwks: '{"keys":[]}' }), /no usable key/);
  assert.equal(keySets.view().length, 1);
});

test('key sets whose addresses hold a code are named without it, with one sample for each name', async (t) => {
  const provider = await server(t, jsonAnswer(setOf(one)));
  const { log, lines } = memoryLog();
  const metrics = createMetrics({ process: false });
  const keySets = createKeySets({ log, metrics, pace });
  t.after(() => keySets.close());
  const address = `http://127.0.0.1:${provider.port}/keys`;
  const [first, second] = ['first-code', 'second-code'].map((code) =>
    use(keySets, `${address}?code=${code}`),
  );
  await until('both key sets are ready', () => first?.ready === true && second?.ready === true);
  const exposed = await metrics.expose();
  assert.equal(
    exposed.split('\n').filter((line) => line === `portcullis_jwks_keys{source="${address}"} 1`).length,
    1,
  );
  assert.match(exposed, /jwks_fetches_total\{source="[^"?]+",result="ok"\} 2/);
  assert.doesNotMatch(exposed + JSON.stringify([lines, keySets.view()]), /(?:first|second)-code/);
});
