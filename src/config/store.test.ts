import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadText, renderProblem } from './index.ts';

const load = (redis: object, rest: object = {}) =>
  loadText(JSON.stringify({ config: { store: { redis } }, binds: [], ...rest }), { file: 'f.yaml', env: {} });

function problemsOf(redis: object): string {
  const result = load(redis);
  return result.ok ? '' : result.problems.map(renderProblem).join('\n');
}

function storeOf(redis: object): unknown {
  const result = load(redis);
  assert.ok(result.ok, JSON.stringify(result));
  return result.model.process.fixed.store;
}

const rest = { keyPrefix: 'portcullis:', connectTimeoutMs: 2_000, commandTimeoutMs: 250 };

test('the address of a store is a URL, or a host with its port and database', () => {
  const at = (host: string, port: number, database: number) => ({ host, port, database, ...rest });
  assert.deepEqual(storeOf({ url: 'redis://r.example.com' }), at('r.example.com', 6379, 0));
  assert.deepEqual(storeOf({ url: 'redis://[::1]:7000/2' }), at('::1', 7000, 2));
  assert.deepEqual(storeOf({ url: 'rediss://r/' }), { ...at('r', 6379, 0), tls: {} });
  assert.deepEqual(storeOf({ host: 'r', port: 1, database: 3 }), at('r', 1, 3));
});

test('the settings of a store are checked at load', () => {
  for (const [redis, problem] of [
    [{}, /either url or host/],
    [{ url: 'redis://a', host: 'b' }, /either url or host/],
    [{ url: 'http://a' }, /expected redis:/],
    [{ url: 'redis://a/b' }, /expected redis:/],
    [{ url: 'redis://a?x=1' }, /expected redis:/],
    [{ url: 'redis://user:word@a' }, /no user and password here/],
    [{ url: 'redis://a', port: 1 }, /stands beside host only/],
    [{ host: 'a', username: 'u' }, /needs password/],
    [{ host: 'a', tls: { cert: 'c.pem' } }, /needs key/],
    [{ host: 'a', keyPrefix: 'two words' }, /visible characters/],
    [{ host: 'a', commandTimeout: '0s' }, /commandTimeout/],
    [{ host: 'a', passwort: 'x' }, /did you mean password/],
  ] as const)
    assert.match(problemsOf(redis), problem);
});

test('a global limit needs a store, wherever it stands', () => {
  const localRateLimit = [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1s', scope: 'global' }];
  const routes = [{ name: 'r', policies: { localRateLimit, directResponse: { status: 200, body: 'x' } } }];
  const documents: object[] = [
    { binds: [{ port: 1, listeners: [{ routes }] }] },
    { gateways: { default: { port: 1 } }, routes },
    {
      mcp: { port: 1, targets: [{ name: 'a', mcp: { host: 'http://a/mcp' } }], policies: { localRateLimit } },
    },
  ];
  for (const document of documents) {
    const without = loadText(JSON.stringify(document), { file: 'f.yaml', env: {} });
    assert.ok(!without.ok);
    assert.match(without.problems.map(renderProblem).join(), /scope: global needs config\.store/);
    const withStore = { ...document, config: { store: { redis: { host: 'redis' } } } };
    const result = loadText(JSON.stringify(withStore), { file: 'f.yaml', env: {} });
    assert.ok(result.ok, JSON.stringify(result));
  }
});
