/** McpBackends with several targets, from a real API server through a controller and a proxy to real servers. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { until } from '../../src/until.testing.ts';
import { startGateway } from '../e2e/gateway.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';
import { startControllerProcess } from './controllerProcess.testing.ts';
import { applyGateway, gatewayApi, object, ours } from './gatewayStage.testing.ts';
import { proxyFlags } from './proxyFlags.testing.ts';
import { here, noAddress, service } from './services.testing.ts';

const skip = noAddress ?? needsCluster.skip;
const program = fileURLToPath(new URL('../../src/mcp/fixtures/catalog.ts', import.meta.url));

describe('McpBackends with several targets', { skip }, () => {
  const stage = clusterForSuite();
  let port = 0;

  before(async () => {
    [port = 0] = await freePorts(1);
    await applyGateway(stage.cluster, port, [route]);
  });

  const start = async (t: TestContext): Promise<AsyncDisposable> => {
    const controller = await startControllerProcess(t, stage.cluster.kubeconfig);
    await controller.ready();
    return await startGateway('', { args: await proxyFlags(t, stage.cluster, [controller]) });
  };

  /** A session through the proxy, as soon as the McpBackend is served. */
  const open = async (t: TestContext): Promise<Client> =>
    await until('a session begins', async () => {
      const client = new Client({ name: 'test', version: '1' });
      const url = new URL(`http://127.0.0.1:${String(port)}/mcp`);
      try {
        await client.connect(new StreamableHTTPClientTransport(url) as Parameters<typeof client.connect>[0]);
      } catch {
        return undefined;
      }
      t.after(async () => await client.close());
      return client;
    });

  const names = async (client: Client): Promise<readonly string[]> =>
    (await client.listTools()).tools.map(({ name }) => name);

  test('a program in the proxy, a Service and an HTTP API are one server for clients', async (t) => {
    const tickets = await mcpServer(t, 'tickets');
    const api = await httpApi(t);
    await stage.cluster.apply(
      [
        ...service('tickets', tickets),
        ...service('shop', api),
        object('v1', 'ConfigMap', 'shop-api', { data: { 'openapi.yaml': JSON.stringify(shopApi) } }),
        mcpBackend({
          failureMode: 'failOpen',
          targets: [
            { name: 'here', stdio: { command: process.execPath, args: [program, '{"name":"program"}'] } },
            { name: 'tickets', service: { name: 'tickets', port: 80 } },
            {
              name: 'shop',
              openapi: {
                service: { name: 'shop', port: 80 },
                schema: { configMap: { name: 'shop-api' } },
              },
            },
            { name: 'missing', service: { name: 'missing', port: 80 } },
          ],
          view: { rest: 'show', tools: [{ target: 'tickets', name: 'whoami', as: 'who_has_tickets' }] },
        }),
      ].join('\n---\n'),
    );
    await using proxy = await start(t);
    assert.ok(proxy);
    const client = await open(t);
    const listed = await until('all targets are there', async () => {
      const all = await names(client);
      return ['here_echo', 'who_has_tickets', 'shop_getPet'].every((name) => all.includes(name)) && all;
    });
    assert.ok(!listed.includes('tickets_whoami'));
    const call = async (name: string, args: Record<string, unknown> = {}): Promise<string> =>
      JSON.stringify((await client.callTool({ name, arguments: args })).content);
    assert.match(await call('here_echo'), /program: echo/);
    assert.match(await call('who_has_tickets'), /tickets/);
    assert.match(await call('shop_getPet', { path: { id: 7 } }), /GET \/pets\/7/);
    // The status names the target whose Service is missing; the others are served all the same.
    const status = await stage.cluster.kubectl([
      ...['get', 'mcpbackend', 'desk', '-o'],
      'jsonpath={.status.ancestors[0].conditions[?(@.type=="ResolvedRefs")].message}',
    ]);
    assert.equal(status, 'target missing: Service default/missing: there is none');
  });

  test('Services join and leave a live session with their labels', async (t) => {
    await stage.cluster.apply(
      [
        ...service('calendar', await mcpServer(t, 'calendar'), { mcp: 'yes' }),
        ...service('mail', await mcpServer(t, 'mail')),
        mcpBackend({
          failureMode: 'failOpen',
          targets: [{ name: 'desk', selector: { services: { matchLabels: { mcp: 'yes' } } } }],
        }),
      ].join('\n---\n'),
    );
    await using proxy = await start(t);
    assert.ok(proxy);
    const client = await open(t);
    const is = async (...wanted: readonly string[]): Promise<unknown> =>
      await until(`the tools are ${wanted.join()}`, async () => {
        const all = (await names(client)).toSorted();
        return all.join() === wanted.join();
      });
    // One Service alone has a prefix already: the next one must not change its names.
    await is('calendar_whoami');
    await stage.cluster.kubectl(['label', 'service', 'mail', 'mcp=yes']);
    await is('calendar_whoami', 'mail_whoami');
    assert.match(JSON.stringify((await client.callTool({ name: 'mail_whoami' })).content), /mail/);
    await stage.cluster.kubectl(['label', 'service', 'calendar', 'mcp-']);
    await is('mail_whoami');
  });
});

/** Serves until the test ends. @returns its port */
async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, here);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server over Streamable HTTP with one tool, which says the name of the server. */
const mcpServer = async (t: TestContext, name: string): Promise<number> =>
  await listen(
    t,
    createServer((request, response) => void answer(name, request, response)),
  );

/** Each request stands alone, with a server of its own. */
async function answer(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(405).end();
    return;
  }
  const server = new McpServer({ name, version: '1' });
  server.registerTool('whoami', {}, () => ({ content: [{ type: 'text', text: name }] }));
  const transport = new StreamableHTTPServerTransport({});
  response.on('close', () => void server.close());
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  await transport.handleRequest(request, response);
}

/** An HTTP API that answers with the first line of the request. */
const httpApi = async (t: TestContext): Promise<number> =>
  await listen(
    t,
    createServer(({ method = '', url = '' }, response) => {
      response.setHeader('content-type', 'text/plain').end(`${method} ${url}`);
    }),
  );

const shopApi = {
  openapi: '3.1.0',
  info: { title: 'Shop', version: '1' },
  paths: {
    '/pets/{id}': {
      get: {
        operationId: 'getPet',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
        responses: { 200: { description: 'The pet.' } },
      },
    },
  },
};

const route = object(gatewayApi, 'HTTPRoute', 'desk', {
  spec: {
    parentRefs: [{ name: 'gw' }],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: '/mcp' } }],
        backendRefs: [{ group: 'portcullis.dev', kind: 'McpBackend', name: 'desk' }],
      },
    ],
  },
});

const mcpBackend = (spec: object): string => object(ours, 'McpBackend', 'desk', { spec });
