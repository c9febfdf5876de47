/** Rules about items in front of real servers, each of which normalises names in a way of its own. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RawClient } from '../../src/mcp/rawClient.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { installPython } from './python.testing.ts';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const fastmcp = installPython('fastmcp==4.1.2');

interface Program {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Server {
  readonly name: string;
  readonly program: Program;
  readonly skip: string | false;
  /** Spellings of the hidden resource that the server is known to serve as it. */
  readonly known: readonly string[];
}

const dotted = ['demo://resource/static/../dynamic/secret', 'demo://resource/./dynamic/secret'];
const cased = ['DEMO://resource/dynamic/secret', ' demo://resource/dynamic/secret\n'];
const climbing = ['files:///public/x?/../../private/key', 'files:///public/x#/../../private/key'];
const escaped = ['files:///%40hr/salaries', 'files:///@hr/salaries%202026'];
const servers: readonly Server[] = [
  {
    name: 'the TypeScript SDK 1.x',
    program: { cmd: process.execPath, args: [here('fixtures/sdk1Items.ts')] },
    skip: false,
    known: [...dotted, ...cased, ...climbing, ...escaped, 'demo://resource/static/%2e%2e/dynamic/secret'],
  },
  {
    name: 'the TypeScript SDK 2.x',
    program: { cmd: process.execPath, args: [here('fixtures/sdk2Items.ts')] },
    skip: false,
    known: [...dotted, ...cased, 'demo://resource/static/%2e%2e/dynamic/secret'],
  },
  {
    name: 'fastmcp',
    program: {
      cmd: 'python3',
      args: ['-s', here('python/items.py')],
      env: { PYTHONPATH: 'folder' in fastmcp ? fastmcp.folder : '', FASTMCP_CHECK_FOR_UPDATES: 'off' },
    },
    skip: 'missing' in fastmcp && fastmcp.missing,
    known: escaped,
  },
];

const spellings: readonly string[] = [
  ...dotted,
  ...cased,
  ...climbing,
  ...escaped,
  'demo://resource/dynamic/secret',
  'demo://RESOURCE/dynamic/secret',
  'demo://resource/static/%2e%2e/dynamic/secret',
  'demo://resource/static/%2E./dynamic/secret',
  'demo://resource/static%2f..%2fdynamic/secret',
  'demo://resource/static\\..\\dynamic/secret',
  'demo://resource//dynamic/secret',
  'demo://resource/dynamic/%73ecret',
  'demo://resource/dynamic/other',
  'demo://resource/dynamic/secret#open',
  'demo://resource/dynamic/secret?open',
  'demo://resource:/dynamic/secret',
  'demo://resource/dy\tnamic/secret',
  'demo:\n//resource/dynamic/secret',
  '\u00a0demo://resource/dynamic/secret',
  'demo://resource/ｄynamic/secret',
  'demo:/resource/dynamic/secret',
];
const names: readonly string[] = [
  'secret',
  ' secret',
  'secret\t',
  'SECRET',
  'ｓecret',
  'se\u200bcret',
  'secre\u0074',
];

const rules = {
  free: [],
  allowing: [
    'mcp.resource.name.startsWith("demo://resource/static")',
    'mcp.resource.name.startsWith("files:///public/")',
    'mcp.tool.name == "open"',
    'mcp.prompt.name == "open"',
  ],
  denying: [
    { deny: 'mcp.resource.name.startsWith("demo://resource/dynamic")' },
    { deny: 'mcp.resource.name.startsWith("files:///private/")' },
    { deny: 'mcp.resource.name.startsWith("files:///@hr/")' },
    { deny: 'mcp.tool.name == "secret"' },
    { deny: 'mcp.prompt.name == "secret"' },
  ],
} as const;

for (const { name, program, skip, known } of servers)
  describe(`rules about items in front of ${name}`, { skip }, () => {
    let gateway: GatewayProcess;
    const clients = new Map<keyof typeof rules, RawClient>();
    before(async () => {
      const routes = Object.entries(rules).map(([route, list]) => ({
        name: route,
        matches: [{ path: { pathPrefix: `/${route}` } }],
        policies: { mcpAuthorization: { rules: list } },
        backends: [{ mcp: { targets: [{ name: 'items', stdio: program }] } }],
      }));
      gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }));
      for (const route of ['free', 'allowing', 'denying'] as const) {
        const client = new RawClient(new URL(`/${route}`, gateway.url));
        clients.set(route, client);
        assert.equal((await client.initialize()).status, 200);
      }
    });
    after(() => gateway?.stop());

    const ask = async (route: keyof typeof rules, method: string, params: object) => {
      const client = clients.get(route)!;
      const { text, events, json } = await client.post(client.request(method, params));
      return { text, message: events.at(-1) ?? json };
    };

    test('no spelling of a hidden resource brings its contents', async () => {
      const served: string[] = [];
      for (const uri of spellings) {
        const free = await ask('free', 'resources/read', { uri });
        if (free.text.includes('SECRET')) served.push(uri);
        for (const route of ['allowing', 'denying'] as const) {
          const { text, message } = await ask(route, 'resources/read', { uri });
          assert.ok(!text.includes('SECRET'), `${route} lets ${JSON.stringify(uri)} pass: ${text}`);
          if (free.text.includes('SECRET'))
            assert.equal(message.error?.message, `Unknown resource: ${uri}`, route);
        }
      }
      for (const uri of ['demo://resource/dynamic/secret', ...known])
        assert.ok(
          served.includes(uri),
          `the server does not serve ${JSON.stringify(uri)}: was it normalised?`,
        );
    });

    test('items that the rules allow are served unchanged', async () => {
      const uri = 'demo://resource/static/open';
      for (const route of ['free', 'allowing', 'denying'] as const) {
        assert.match((await ask(route, 'resources/read', { uri })).text, /OPEN/);
        assert.match((await ask(route, 'tools/call', { name: 'open', arguments: {} })).text, /OPEN/);
        assert.match((await ask(route, 'prompts/get', { name: 'open' })).text, /OPEN/);
      }
    });

    test('no spelling of the name of a hidden tool or prompt reaches it', async () => {
      for (const route of ['allowing', 'denying'] as const)
        for (const one of names)
          for (const [method, label] of [
            ['tools/call', 'tool'],
            ['prompts/get', 'prompt'],
          ] as const) {
            const { text, message } = await ask(route, method, { name: one, arguments: {} });
            assert.ok(!/"SECRET"/.test(text), `${route}, ${label} ${JSON.stringify(one)}: ${text}`);
            if (/^\s*(?:secret|ｓecret)\s*$/.test(one))
              assert.equal(message.error?.message, `Unknown ${label}: ${one}`);
          }
    });

    test('lists contain exactly the items that the rules allow', async () => {
      for (const route of ['allowing', 'denying'] as const)
        for (const method of ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list']) {
          const { text, message } = await ask(route, method, {});
          assert.ok(message.result !== undefined, text);
          assert.doesNotMatch(text, /secret|dynamic/, `${route}, ${method}`);
        }
    });

    test('completion neither knows a hidden template nor an unknown kind of reference', async () => {
      const argument = { name: 'id', value: '' };
      for (const route of ['allowing', 'denying'] as const)
        for (const uri of ['demo://resource/dynamic/{id}', 'DEMO://resource/static/../dynamic/{id}'])
          for (const type of ['ref/resource', 'ref/resource ', 'resource']) {
            const { text, message } = await ask(route, 'completion/complete', {
              ref: { type, uri },
              argument,
            });
            assert.ok(message.error !== undefined && !text.includes('SECRET'), text);
          }
    });

    test('a call without an id is not carried out', async () => {
      for (const route of ['free', 'allowing', 'denying'] as const) {
        const params = { name: 'secret', arguments: {} };
        const answer = await clients.get(route)!.post({ jsonrpc: '2.0', method: 'tools/call', params });
        assert.equal(answer.status, 400);
      }
    });
  });
