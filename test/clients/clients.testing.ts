import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startGateway, type GatewayProcess } from '../e2e/gateway.testing.ts';
import { authentication, everything, node, startIdp } from '../e2e/stage.testing.ts';
import type { ClientRow, Seen, Wanted } from './client.ts';
import { expectedFailures } from './expectedFailures.ts';

type Items = Omit<Wanted, 'url' | 'token' | 'message'>;

interface Endpoint {
  readonly name: string;
  readonly path: string;
  readonly targets: readonly object[];
  readonly items: Items;
  /** Some of the tools that are listed. */
  readonly tools: readonly string[];
}

const one = { name: 'one', stdio: { cmd: node, args: [everything, 'stdio'] } };
const two = {
  name: 'two',
  stdio: {
    cmd: node,
    args: [fileURLToPath(new URL('../e2e/fixtures/sdk2Items.ts', import.meta.url))],
  },
};

const endpoints: readonly Endpoint[] = [
  {
    name: 'one target',
    path: '/alone',
    targets: [one],
    items: {
      tool: 'echo',
      resource: 'demo://resource/static/document/features.md',
      prompt: 'simple-prompt',
    },
    tools: ['echo', 'get-sum', 'get-tiny-image'],
  },
  {
    name: 'a federation',
    path: '/federated',
    targets: [one, two],
    items: {
      tool: 'one_echo',
      resource: 'one+demo://resource/static/document/features.md',
      prompt: 'one_simple-prompt',
    },
    tools: ['one_echo', 'one_get-sum', 'two_open'],
  },
];

/** Tries each client at each endpoint, with a bearer token. */
export function testClients(clients: readonly ClientRow[]): void {
  let idp: Awaited<ReturnType<typeof startIdp>>;
  let gateway: GatewayProcess;
  before(async () => {
    idp = await startIdp();
    const routes = endpoints.map(({ path, targets }) => ({
      matches: [{ path: { exact: path } }],
      policies: { mcpAuthentication: authentication(idp) },
      backends: [{ mcp: { targets } }],
    }));
    gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }));
    await gateway.keysReady();
  });
  after(async () => {
    await gateway?.stop();
    await idp?.close();
  });

  for (const client of clients)
    describe(client.name, { skip: client.missing ?? false }, () => {
      for (const endpoint of endpoints) {
        const visit = async (): Promise<void> => {
          const message = `Grüße from ${client.name}`;
          const token = await idp.issueToken({ user: 'alice' });
          const url = gateway.url + endpoint.path;
          check(await client.visit({ url, token, message, ...endpoint.items }), client, endpoint, message);
        };
        const expected = expectedFailures.find(
          (each) => client.name.endsWith(each.client) && (each.endpoint ?? endpoint.name) === endpoint.name,
        );
        if (expected === undefined) test(`takes every step with ${endpoint.name}`, visit);
        else
          test(`still fails with ${endpoint.name}: ${expected.reason}`, () =>
            assert.rejects(visit(), expected.error));
      }
    });
}

function check(seen: Seen, { cannot = [] }: ClientRow, { tools }: Endpoint, message: string): void {
  for (const tool of tools) assert.ok(seen.tools.includes(tool), `${tool} is not in ${String(seen.tools)}`);
  assert.equal(seen.call, `Echo: ${message}`);
  if (!cannot.includes('resource')) assert.match(seen.resource ?? '', /# Everything Server - Features/);
  if (!cannot.includes('prompt')) assert.equal(seen.prompt, 'This is a simple prompt without arguments.');
}
