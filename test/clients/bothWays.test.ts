/** Whatever a client can do directly with a server, it can do through the gateway, in both eras. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startEverything } from '../../src/mcp/everythingServer.testing.ts';
import { startModern } from '../../src/mcp/modernServer.testing.ts';
import { startGateway, type GatewayProcess } from '../e2e/gateway.testing.ts';
import { authentication, startIdp } from '../e2e/stage.testing.ts';
import { takeCourse, type CourseItems, type CourseSeen, type Prefixes } from './course.ts';
import { courseClients, type CourseRow, type Era } from './courseClients.ts';

interface ServerRow {
  readonly name: string;
  readonly era: Era;
  start(): Promise<{ readonly url: string; close(): Promise<void> }>;
  readonly items: CourseItems;
}

const running = 'trigger-long-running-operation';
const servers: readonly ServerRow[] = [
  {
    name: 'everything',
    era: 'legacy',
    start: startEverything,
    items: {
      echo: { name: 'echo', arguments: { message: 'Grüße' } },
      resource: 'demo://resource/static/document/features.md',
      prompt: { name: 'simple-prompt' },
      elicit: { name: 'trigger-elicitation-request' },
      sample: { name: 'trigger-sampling-request', arguments: { prompt: 'say something' } },
      progress: { name: running, arguments: { duration: 0.1, steps: 2 } },
      endless: { name: running, arguments: { duration: 4, steps: 40 } },
      subscription: {
        uri: 'demo://resource/dynamic/text/1',
        change: { name: 'toggle-subscriber-updates' },
        undo: { name: 'toggle-subscriber-updates' },
      },
    },
  },
  {
    name: 'modern',
    era: 'modern',
    start: startModern,
    items: {
      echo: { name: 'echo', arguments: { text: 'Grüße' } },
      resource: 'test://a',
      prompt: { name: 'greet', arguments: { name: 'Ada' } },
      elicit: { name: 'ask-name' },
      sample: { name: 'ask-model' },
      progress: { name: 'progress' },
      endless: { name: 'hang' },
      subscription: { uri: 'test://a', change: { name: 'touch', arguments: { uri: 'test://a' } } },
    },
  },
];

const urls = new Map<string, string>();
const closers: (() => Promise<unknown>)[] = [];
let gateway: GatewayProcess;
// Anonymous callers of 2026-07-28 share no session at a server, so news of one call would not reach the other.
let token: string;
before(async () => {
  const idp = await startIdp();
  closers.push(() => idp.close());
  token = await idp.issueToken({ user: 'alice' });
  for (const { name, start } of servers) {
    const server = await start();
    closers.push(() => server.close());
    urls.set(name, server.url);
  }
  const targets = servers.map(({ name }) => ({ name, mcp: { host: urls.get(name) } }));
  const route = (path: string, some: readonly object[]): object => ({
    matches: [{ path: { exact: path } }],
    policies: { mcpAuthentication: authentication(idp) },
    backends: [{ mcp: { targets: some } }],
  });
  const routes = [...targets.map((one) => route(`/${one.name}`, [one])), route('/all', targets)];
  gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }));
  closers.unshift(() => gateway.stop());
  await gateway.keysReady();
});
after(async () => {
  for (const close of closers) await close();
});

const none: Prefixes = { names: '', uris: '' };

async function visit(
  client: CourseRow,
  url: string,
  items: CourseItems,
  prefixes = none,
): Promise<CourseSeen> {
  const connected = await client.connect(url, token);
  try {
    return await takeCourse(connected, items, prefixes);
  } finally {
    await connected.close();
  }
}

for (const { name, era, items } of servers)
  describe(`a ${era} server`, () => {
    // A client that cannot talk to the server itself sees through the gateway what the others see.
    let reference: CourseSeen | undefined;
    const able = courseClients.filter(({ eras }) => eras.includes(era));
    for (const client of [...able, ...courseClients.filter((one) => !able.includes(one))])
      test(`gives ${client.name} the same through the gateway as directly`, async () => {
        const direct = able.includes(client) ? await visit(client, urls.get(name)!, items) : reference;
        reference ??= direct;
        assert.ok(direct?.cancelled === true && direct.sampled);
        assert.deepEqual(await visit(client, `${gateway.url}/${name}`, items), direct);
        const prefixes = { names: `${name}_`, uris: `${name}+` };
        assert.deepEqual(await visit(client, `${gateway.url}/all`, items, prefixes), direct);
      });
  });
