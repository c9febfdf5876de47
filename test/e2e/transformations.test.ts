/** transformations: what backends, MCP servers and clients get, with real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, resultText } from './session.testing.ts';

const at = (path: string): object => ({ matches: [{ path: { pathPrefix: path } }] });
const keyOf = (name: string): string => `a-long-enough-key-of-${name}`;
const keys = ['ada', 'bob'].map((name) => ({ key: keyOf(name), metadata: { name } }));
const apiKey = { mode: 'optional', keys };
const tenant = { ':path': '"/tenants/" + request.headers["x-tenant"] + request.path' };

describe('with transformations, the gateway', () => {
  let app: Server;
  let tools: RemoteServer;
  let gateway: GatewayProcess;
  const seen: Pick<IncomingMessage, 'url' | 'headers'>[] = [];

  before(async () => {
    app = createServer((request, response) => {
      seen.push({ url: request.url ?? '', headers: request.headers });
      response.writeHead(203, { 'x-app': 'shop', 'x-level': 'of the app' }).end();
    }).listen(0, '127.0.0.1');
    await once(app, 'listening');
    const backends = [{ host: `127.0.0.1:${String((app.address() as AddressInfo).port)}` }];
    tools = await RemoteServer.start();
    const caller = {
      apiKey,
      transformations: {
        request: { set: { 'x-user': 'apiKey.name', ':authority': '"tools.test"', ':path': '"/x"' } },
      },
    };
    gateway = await startGateway(
      JSON.stringify({
        binds: [
          {
            port: 0,
            listeners: [
              {
                policies: {
                  transformations: {
                    request: { set: { 'x-listener': 'request.method' } },
                    response: { set: { 'x-code': 'response.code' } },
                  },
                },
                routes: [
                  {
                    ...at('/caller'),
                    policies: {
                      apiKey,
                      transformations: {
                        request: {
                          set: {
                            'x-user': 'apiKey.name',
                            'x-text': 'url.decode(request.headers["x-encoded"])',
                            'x-key': 'request.headers.authorization',
                            'x-both': '"transformed"',
                          },
                          add: { 'x-more': 'request.headers["x-listener"]' },
                          remove: ['x-internal'],
                        },
                        response: {
                          set: { 'x-from': 'response.headers["x-app"]', 'x-level': 'apiKey.level' },
                        },
                      },
                      requestHeaderModifier: { set: { 'x-both': 'fixed' } },
                    },
                    backends,
                  },
                  {
                    ...at('/tenant'),
                    policies: {
                      transformations: {
                        request: { set: { ...tenant, host: 'request.headers["x-tenant"] + ".test"' } },
                      },
                    },
                    backends,
                  },
                  {
                    ...at('/mcp'),
                    policies: caller,
                    backends: [{ mcp: { targets: [{ name: 't', mcp: { host: tools.url } }] } }],
                  },
                ],
              },
            ],
          },
        ],
      }),
    );
  });

  after(async () => {
    await gateway?.[Symbol.asyncDispose]();
    app?.close();
    await tools?.close();
  });

  beforeEach(() => {
    seen.length = 0;
  });

  const ask = async (path: string, headers: Readonly<Record<string, string>>): Promise<Response> => {
    const response = await fetch(gateway.url + path, { headers });
    await response.text();
    return response;
  };

  test('tells the backend who the caller is, whatever the caller says', async () => {
    await ask('/caller', { authorization: `Bearer ${keyOf('ada')}`, 'x-user': 'root', 'x-internal': '1' });
    await ask('/caller', { 'x-user': 'root' });
    assert.deepEqual(
      seen.map(({ headers }) => [headers['x-user'], headers['x-internal']]),
      [
        ['ada', undefined],
        [undefined, undefined],
      ],
    );
  });

  test('sends no key that it has taken out of the request', async () => {
    await ask('/caller', { authorization: `Bearer ${keyOf('ada')}`, 'x-key': 'mine' });
    assert.equal(seen.length, 1);
    assert.ok(!JSON.stringify(seen).includes(keyOf('ada')));
    assert.equal(seen[0]?.headers['x-key'], undefined);
  });

  test('never sends a value that would begin another header', async () => {
    await ask('/caller', { 'x-encoded': 'a%0D%0Ax-evil:%201', 'x-text': 'mine' });
    await ask('/caller', { 'x-encoded': 'a%20b' });
    assert.deepEqual(
      seen.map(({ headers }) => [headers['x-text'], headers['x-evil']]),
      [
        [undefined, undefined],
        ['a b', undefined],
      ],
    );
  });

  test('applies those of the listener before those of the route, and fixed headers last', async () => {
    await ask('/caller', {});
    const { headers } = seen[0] ?? {};
    assert.deepEqual(
      [headers?.['x-listener'], headers?.['x-more'], headers?.['x-both']],
      ['GET', 'GET', 'fixed'],
    );
  });

  test('changes responses of the backend and its own', async () => {
    const served = await ask('/caller', {});
    assert.deepEqual(
      ['x-code', 'x-from', 'x-level'].map((name) => served.headers.get(name)),
      ['203', 'shop', null],
    );
    const refused = await ask('/caller', { authorization: 'Bearer another-key' });
    assert.deepEqual([refused.status, refused.headers.get('x-code')], [401, '401']);
    assert.equal((await ask('/none', {})).headers.get('x-code'), '404');
  });

  test('sends requests to another path and host', async () => {
    assert.equal((await ask('/tenant/a?b=1', { 'x-tenant': 'blue' })).status, 203);
    assert.deepEqual([seen[0]?.url, seen[0]?.headers.host], ['/tenants/blue/tenant/a', 'blue.test']);
  });

  test('forwards nothing where path or host have no usable value', async () => {
    for (const value of ['../admin', '..%2Fadmin', 'a/../..', 'a b'])
      assert.equal((await ask('/tenant', { 'x-tenant': value })).status, 500, value);
    assert.equal((await ask('/tenant', {})).status, 500);
    assert.deepEqual(seen, []);
  });

  test('tells MCP servers who the caller is, and leaves them their path', async () => {
    for (const name of ['ada', 'bob']) {
      tools.seen.length = 0;
      const session = await openSession(`${gateway.url}/mcp`, keyOf(name));
      assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
      const listed = await session.send('POST', { id: 7, method: 'tools/list' });
      await listed.text();
      assert.equal(listed.headers.get('x-code'), '200');
      await session.close();
      assert.ok(tools.seen.length >= 3);
      for (const { headers, url } of tools.seen)
        assert.deepEqual(
          [headers['x-user'], headers['x-listener'] !== undefined, headers.host, url, headers.authorization],
          [name, true, 'tools.test', '/mcp', undefined],
        );
    }
    tools.seen.length = 0;
    const session = await openSession(`${gateway.url}/mcp`);
    await session.close();
    assert.deepEqual(new Set(tools.seen.map(({ headers }) => headers['x-user'])), new Set([undefined]));
  });
});
