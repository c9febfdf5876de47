/** Headers of proxies about their clients count where the configuration trusts the proxy, and nowhere else. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { field, get, ok, RawBackend, status, type Message } from '../wire.testing.ts';

const TRUSTED = '127.0.0.2';
const OTHER = '127.0.0.3';
const list = ['127.0.0.2/31', '10.0.0.0/8'];

interface Started {
  readonly plane: TestPlane;
  readonly backend: RawBackend;
  /** The outcome of a request: the client's answer, and the backend's view, if it got the request. */
  ask(from: string, text: string): Promise<{ answer: Message; seen: Message | undefined }>;
}

async function start(t: TestContext, model: ModelInShort): Promise<Started> {
  const backend = await RawBackend.start({
    onRequest: (_request, connection) => connection.send(ok('hello')),
  });
  const plane = await TestPlane.start({ routes: [{ to: backend.port }], ...model });
  t.after(async () => {
    plane.close();
    await backend.close();
  });
  const ask: Started['ask'] = async (from, text) => {
    const client = await plane.client(undefined, from);
    const before = backend.requests.length;
    const answer = await client.ask(text);
    client.close();
    return { answer, seen: backend.requests[before] };
  };
  return { plane, backend, ask };
}

const lines = ['x-forwarded-for: 6.6.6.6, 192.0.2.7, 10.0.0.9', 'x-forwarded-proto: https'];

test('a trusted proxy tells the client, its scheme and the proxies before it', async (t) => {
  const { plane, ask } = await start(t, { trustedProxies: ['127.0.0.2', '10.0.0.0/8'] });
  const { seen } = await ask(TRUSTED, get('/a', ...lines));
  assert.ok(seen !== undefined);
  assert.equal(field(seen, 'x-forwarded-for'), '192.0.2.7, 10.0.0.9, 127.0.0.2');
  assert.equal(field(seen, 'x-forwarded-proto'), 'https');
  assert.equal(plane.access[0]?.client, '192.0.2.7');
});

test('headers of untrusted clients are ignored and not forwarded', async (t) => {
  const { plane, ask } = await start(t, { trustedProxies: ['127.0.0.2', '10.0.0.0/8'] });
  const { seen } = await ask(OTHER, get('/a', ...lines));
  assert.ok(seen !== undefined);
  assert.equal(field(seen, 'x-forwarded-for'), OTHER);
  assert.equal(field(seen, 'x-forwarded-proto'), 'http');
  assert.equal(plane.access[0]?.client, OTHER);
});

test('without an address of the gateway in X-Forwarded-For, only the addresses of trusted proxies are forwarded', async (t) => {
  const { ask } = await start(t, {
    trustedProxies: ['127.0.0.2', '10.0.0.0/8'],
    headers: { forwardedFor: false },
  });
  const xff = async (from: string, ...fields: readonly string[]): Promise<string | undefined> => {
    const { seen } = await ask(from, get('/a', ...fields));
    assert.ok(seen !== undefined);
    return field(seen, 'x-forwarded-for');
  };
  assert.equal(await xff(OTHER, ...lines), undefined);
  assert.equal(await xff(TRUSTED, ...lines), '192.0.2.7, 10.0.0.9');
  assert.equal(await xff(TRUSTED), undefined);
});

test('rules see the address and the scheme that a trusted proxy told, and the proxy as the raw address', async (t) => {
  const { ask } = await start(t, {
    trustedProxies: ['127.0.0.2'],
    policies: {
      authorization: policySchemas.authorization.parse({
        rules: [
          'source.address == "192.0.2.7" && source.rawAddress == "127.0.0.2" && request.scheme == "https"',
        ],
      }),
    },
  });
  const told = get('/', 'x-forwarded-for: 192.0.2.7:40000', 'x-forwarded-proto: https');
  assert.equal(status((await ask(TRUSTED, told)).answer), 200);
  assert.equal(status((await ask(OTHER, told)).answer), 403);
});

test('rate limits by address count the clients behind a trusted proxy each for itself', async (t) => {
  const limit = { maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'source.address' };
  const { ask } = await start(t, {
    trustedProxies: ['127.0.0.2'],
    policies: { localRateLimit: policySchemas.localRateLimit.parse([limit]) },
  });
  const from = async (address: string): Promise<number> =>
    status((await ask(TRUSTED, get('/', `x-forwarded-for: ${address}`))).answer);
  assert.equal(await from('192.0.2.7'), 200);
  assert.equal(await from('192.0.2.7'), 429);
  assert.equal(await from('192.0.2.8'), 200);
});

test('without trusted proxies the header of a client is no client', async (t) => {
  const { plane, ask } = await start(t, {});
  const { seen } = await ask(TRUSTED, get('/a', ...lines));
  assert.ok(seen !== undefined);
  assert.equal(field(seen, 'x-forwarded-for'), '6.6.6.6, 192.0.2.7, 10.0.0.9, 127.0.0.2');
  assert.equal(field(seen, 'x-forwarded-proto'), 'http');
  assert.equal(plane.access[0]?.client, TRUSTED);
});

test('a PROXY header is taken from trusted proxies alone', async (t) => {
  const { plane, backend, ask } = await start(t, {
    trustedProxies: list.slice(0, 1),
    proxyProtocol: { version: 'all', mode: 'optional' },
  });
  const header = 'PROXY TCP4 192.0.2.7 198.51.100.1 4711 443\r\n';
  const { seen } = await ask(TRUSTED, header + get());
  assert.ok(seen !== undefined);
  assert.equal(field(seen, 'x-forwarded-for'), '192.0.2.7');
  const stranger = await plane.client(undefined, '127.0.0.9');
  stranger.send(header + get());
  assert.notEqual(await stranger.closed(), 'open');
  assert.equal(stranger.text, '');
  assert.equal(backend.requests.length, 1);
  const warning = plane.log.find(({ message }) => message.includes('PROXY'));
  assert.match(String(warning?.fields?.['problem']), /127\.0\.0\.9: .*config\.trustedProxies/);
  assert.equal(status((await ask('127.0.0.9', get())).answer), 200, 'without a header it speaks for itself');
});

test('behind a PROXY header the chain goes on where that address is trusted, too', async (t) => {
  const { ask } = await start(t, { trustedProxies: list, proxyProtocol: { version: 'all', mode: 'strict' } });
  const from = (address: string): string => `PROXY TCP4 ${address} 198.51.100.1 4711 443\r\n`;
  const request = get('/', 'x-forwarded-for: 192.0.2.7');
  const inside = await ask(TRUSTED, from('10.0.0.5') + request);
  assert.ok(inside.seen !== undefined);
  assert.equal(field(inside.seen, 'x-forwarded-for'), '192.0.2.7, 10.0.0.5');
  const outside = await ask(TRUSTED, from('203.0.113.9') + request);
  assert.ok(outside.seen !== undefined);
  assert.equal(field(outside.seen, 'x-forwarded-for'), '203.0.113.9');
});

test('a new list counts from the next request on, also on connections that stay', async (t) => {
  const { plane, backend } = await start(t, {});
  const model = { routes: [{ to: backend.port }] };
  const client = await plane.client(undefined, TRUSTED);
  const request = get('/', 'x-forwarded-for: 192.0.2.7');
  await client.ask(request);
  await plane.apply({ ...model, trustedProxies: [TRUSTED] });
  await client.ask(request);
  await plane.apply({ ...model, trustedProxies: [] });
  await client.ask(request);
  assert.deepEqual(
    plane.access.map((record) => record.client),
    [TRUSTED, '192.0.2.7', TRUSTED],
  );
});
