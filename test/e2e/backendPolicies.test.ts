/** Policies that stand on backends, in the route and among the named ones: each acts on its own backend only. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { loadText } from '../../src/config/load.ts';
import { renderProblem } from '../../src/config/problem.ts';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, resultText } from './session.testing.ts';

const at = (path: string): object => ({ matches: [{ path: { pathPrefix: path } }] });
const hides = { mcpAuthorization: { rules: [{ deny: 'mcp.tool.name == "echo"' }, 'true'] } };

describe('a policy of a backend', () => {
  let app: Server;
  let host: string;
  let seen: IncomingHttpHeaders[] = [];
  let tools: RemoteServer;
  let gateway: GatewayProcess;

  before(async () => {
    app = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(200, { 'x-app': 'yes' }).end();
    }).listen(0, '127.0.0.1');
    await once(app, 'listening');
    host = `127.0.0.1:${(app.address() as AddressInfo).port}`;
    tools = await RemoteServer.start();
    const mcp = { targets: [{ name: 't', mcp: { host: tools.url } }] };
    const credential = {
      backendAuth: { key: { value: 'of-this-backend' } },
      requestHeaderModifier: { set: { 'x-tenant': 'blue' } },
      responseHeaderModifier: { add: { 'x-seen': 'by-backend' } },
    };
    gateway = await startGateway(
      JSON.stringify({
        backends: [
          { name: 'keyed', host, policies: credential },
          { name: 'guarded', mcp, policies: hides },
          {
            name: 'server',
            host: `127.0.0.1:${String(tools.port)}`,
            policies: { backendAuth: { key: { value: 'of-the-server' } } },
          },
        ],
        binds: [
          {
            port: 0,
            listeners: [
              {
                routes: [
                  { ...at('/inline'), backends: [{ host, policies: credential }] },
                  { ...at('/named'), backends: [{ backend: 'keyed' }] },
                  { ...at('/plain'), backends: [{ host }] },
                  { ...at('/mcp/inline'), backends: [{ mcp, policies: hides }] },
                  { ...at('/mcp/named'), backends: [{ backend: 'guarded' }] },
                  { ...at('/mcp/plain'), backends: [{ mcp }] },
                  {
                    ...at('/mcp/server'),
                    backends: [
                      { mcp: { targets: [{ name: 't', mcp: { backend: 'server', path: '/mcp' } }] } },
                    ],
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

  for (const path of ['/inline', '/named'])
    test(`over HTTP acts at ${path}`, async () => {
      seen = [];
      const response = await fetch(gateway.url + path, {
        headers: { authorization: 'Bearer of-the-client' },
      });
      assert.equal(response.headers.get('x-seen'), 'by-backend');
      assert.equal(seen[0]?.authorization, 'Bearer of-this-backend');
      assert.equal(seen[0]?.['x-tenant'], 'blue');
    });

  test('does not act on other backends', async () => {
    seen = [];
    const response = await fetch(`${gateway.url}/plain`);
    assert.equal(response.headers.get('x-seen'), null);
    assert.equal(seen[0]?.authorization, undefined);
    const session = await openSession(`${gateway.url}/mcp/plain`);
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
    await session.close();
  });

  for (const path of ['/mcp/inline', '/mcp/named'])
    test(`about MCP items acts at ${path}`, async () => {
      const session = await openSession(gateway.url + path);
      assert.equal((await session.call('echo', { text: 'x' })).error?.code, -32_602);
      await session.close();
      const line = new RegExp(`${path}.*policy=mcpAuthorization.*place=\\S*backends\\[0\\]\\.policies`);
      await until('the log names the rule', () => line.test(gateway.accessLog()));
    });

  test('of a named HTTP backend holds for an MCP target that refers to it', async () => {
    tools.seen.length = 0;
    const session = await openSession(`${gateway.url}/mcp/server`);
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
    assert.equal(tools.of('tools/call')[0]?.headers.authorization, 'Bearer of-the-server');
    await session.close();
  });
});

test('policies of the other kind of backend, and of one MCP backend of several, are refused', () => {
  const mcp = { targets: [{ name: 't', mcp: { host: 'http://127.0.0.1:9/mcp' } }] };
  const route = (...backends: object[]): object => ({
    backends: [
      { name: 'guarded', mcp, policies: hides },
      { name: 'app', host: '127.0.0.1:9', policies: { responseHeaderModifier: { add: { a: 'b' } } } },
    ],
    binds: [{ port: 0, listeners: [{ routes: [{ backends }] }] }],
  });
  const told = (document: object): string => {
    const result = loadText(JSON.stringify(document), { file: 'c.yaml', env: {} });
    return result.ok ? 'taken' : result.problems.map(renderProblem).join('\n');
  };
  assert.equal(told(route({ backend: 'guarded' })), 'taken');
  assert.match(
    told(route({ backend: 'app', policies: hides })),
    /policies\.mcpAuthorization: is for MCP backends/,
  );
  assert.match(
    told(route({ backend: 'guarded', policies: { backendAuth: { key: 'k' } } })),
    /policies\.backendAuth: is for HTTP backends/,
  );
  assert.match(told(route({ mcp, policies: hides }, { mcp })), /needs a route with this backend only/);
  assert.match(told(route({ mcp }, { backend: 'guarded' })), /needs a route with this backend only/);
  assert.match(
    told(route({ mcp: { targets: [{ name: 't', mcp: { backend: 'app' } }] } })),
    /app has responseHeaderModifier, which MCP targets do not have/,
  );
});
