import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startGateway } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { openSession } from './session.testing.ts';
import { inline, mcpRoute, node, rogue, startEchoApp, startIdp } from './stage.testing.ts';

let idp: Awaited<ReturnType<typeof startIdp>>;
let echo: Awaited<ReturnType<typeof startEchoApp>>;
before(async () => {
  [idp, echo] = await Promise.all([startIdp(), startEchoApp()]);
});
after(async () => {
  await echo?.close();
  await idp?.close();
});

interface Changes {
  readonly logging: object;
  readonly accessLog?: object;
  readonly workers?: number;
}

const configOf = ({ logging, accessLog, workers = 1 }: Changes): string => `
config:
  workers: ${workers}
  logging: ${inline({ accessLog: 'json', ...logging })}
  session: { key: ${'ab'.repeat(32)} }
${accessLog === undefined ? '' : `frontendPolicies: { accessLog: ${inline(accessLog)} }`}
binds:
- port: 0
  listeners:
  - routes:
${mcpRoute({ idp, path: '/mcp', target: { cmd: node, args: [rogue] } })}
    - name: echo
      matches: [{ path: { pathPrefix: /get } }]
      backends: [{ host: '127.0.0.1:${echo.port}' }]
`;

for (const workers of [1, 2])
  test(`expressions add fields, and the filter leaves requests out, with ${workers} processes`, async () => {
    await using gateway = await startGateway(
      configOf({
        workers,
        logging: {
          filter: 'request.pathAndQuery != "/get?quiet"',
          fields: {
            add: {
              tenant: 'request.headers["x-tenant"]',
              type: 'response.headers["content-type"]',
              sub: 'jwt.sub',
              tool: 'mcp.tool.target + "/" + mcp.tool.name',
              code: 'response.code',
              inTime: 'proxy.upstreamDuration < duration("1h")',
              token: 'request.headers.authorization',
            },
            remove: ['client', 'host'],
          },
        },
      }),
    );
    await gateway.keysReady();
    for (const [path, id] of [
      ['/get?quiet', 'f-1'],
      ['/get?loud', 'f-2'],
      ['/nowhere', 'f-3'],
    ])
      await ask(`${gateway.url}${path}`, { headers: { 'x-request-id': id ?? '', 'x-tenant': 'blue' } });
    const loud = await gateway.accessLine('f-2');
    assert.deepEqual(
      [loud['tenant'], loud['type'], loud['code'], loud['inTime'], loud['sub'], loud['client'], loud['host']],
      ['blue', 'application/json; charset=utf-8', 200, true, undefined, undefined, undefined],
    );
    const nowhere = await gateway.accessLine('f-3');
    assert.deepEqual(
      [nowhere['code'], nowhere['inTime'], nowhere['type']],
      [404, undefined, 'text/plain; charset=utf-8'],
    );
    const token = await idp.issueToken({ user: 'alice' });
    const named: typeof fetch = (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set('x-request-id', String(init?.body).includes('tools/call') ? 'f-4' : 'other');
      return fetch(url, { ...init, headers });
    };
    const session = await openSession(`${gateway.url}/mcp`, token, { fetch: named });
    await session.call('pid');
    await session.close();
    const call = await gateway.accessLine('f-4');
    assert.equal(call['sub'], 'alice');
    assert.match(String(call['tool']), /\/pid$/);
    assert.ok(!gateway.accessLog().includes(token) && !gateway.accessLog().includes('f-1'));
  });

test('frontendPolicies.accessLog goes before config.logging, and a reload changes both', async () => {
  const logging = { filter: 'response.code == 1', fields: { add: { a: '"config"', b: '"config"' } } };
  await using gateway = await startGateway(
    configOf({ logging, accessLog: { filter: 'true', add: { a: '"policy"' }, remove: ['path'] } }),
  );
  await ask(`${gateway.url}/get`, { headers: { 'x-request-id': 'g-1' } });
  const line = await gateway.accessLine('g-1');
  assert.deepEqual([line['a'], line['b'], line['path']], ['policy', 'config', undefined]);
  gateway.rewrite(configOf({ logging: {} }));
  let path: unknown;
  for (let i = 2; path === undefined; i++) {
    await ask(`${gateway.url}/get`, { headers: { 'x-request-id': `g-${i}` } });
    path = (await gateway.accessLine(`g-${i}`))['path'];
  }
  assert.equal(path, '/get');
});
