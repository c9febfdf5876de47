import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AuthorizationServer } from '../../src/policies/backendAuth/authorizationServer.testing.ts';
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

test('added fields show no token that an exchange reads, and no header that a child gets', async (t) => {
  const tokens = await AuthorizationServer.start();
  t.after(() => tokens.close());
  tokens.instead = (response) =>
    response.end(JSON.stringify({ access_token: 'issued', token_type: 'Bearer', expires_in: 60 }));
  const host = `127.0.0.1:${tokens.port}`;
  const from = (source: object): object => ({ source, tokenType: 'urn:example:opaque' });
  const exchange = (name: string): object => ({
    oauthTokenExchange: {
      host,
      subjectToken: from({ header: { name } }),
      actorToken: from({ queryParameter: { name: 'agent' } }),
    },
  });
  const app = { host: `127.0.0.1:${echo.port}` };
  const child = { cmd: node, args: [rogue], env: { PARTNER_KEY: { header: 'x-partner' } } };
  await using gateway = await startGateway(`
config:
  logging: ${inline({ accessLog: 'json', fields: { add: { uri: 'request.uri', all: 'request.headers' } } })}
binds:
- port: 0
  listeners:
  - routes:
    - matches: [{ path: { exact: /route } }]
      policies: ${inline({ backendAuth: exchange('x-assertion') })}
      backends: [${inline(app)}]
    - matches: [{ path: { exact: /backend } }]
      backends: [${inline({ ...app, policies: { backendAuth: exchange('x-partner') } })}]
    - matches: [{ path: { exact: /mcp } }]
      backends: [{ mcp: { targets: [{ name: rogue, stdio: ${inline(child)} }] } }]
`);
  const shownFor = async (id: string, path: string, header: string, value: string): Promise<string> => {
    const headers = { [header]: value, 'x-request-id': id, 'x-tenant': 'blue' };
    const { status } = await ask(`${gateway.url}${path}`, { headers });
    assert.ok(status < 500, String(status));
    const { uri, all } = await gateway.accessLine(id);
    return JSON.stringify([uri, all]);
  };
  for (const shown of [
    await shownFor('h-1', '/route?agent=opaque-agent', 'x-assertion', 'opaque-subject'),
    await shownFor('h-2', '/backend?agent=opaque-agent', 'x-partner', 'opaque-partner'),
    await shownFor('h-3', '/mcp', 'x-partner', 'opaque-key'),
  ]) {
    assert.match(shown, /"x-tenant":"blue"/);
    assert.doesNotMatch(shown, /opaque/);
  }
});
