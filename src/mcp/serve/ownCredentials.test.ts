/** Two callers of one principal at the same time: each call reaches its server with the credential of its own caller. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { HttpRequest } from '../../http/index.ts';
import type { StdioTarget } from '../../model/index.ts';
import { until } from '../../until.testing.ts';
import type { Caller } from '../contract.ts';
import { mcpBackend, remoteTarget, startHarness, stdioTarget } from '../harness.testing.ts';
import { RawClient, type Answered } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';
import { RemoteServer, startRemote } from '../remoteServer.testing.ts';

const users = ['ada', 'bob', 'ada', 'cleo'] as const;

type Tell = (user: string) => Promise<string>;

interface Stage {
  /** A client of revision 2026-07-28 calls: the credential that its server got. */
  readonly modern: Tell;
  /** The same through the one session of a client of the legacy era. */
  readonly legacy: Tell;
  /** Another call through that session. @returns its message */
  use(user: string, message: (client: RawClient) => object): Promise<Answered>;
  /** Calls that their servers have not answered. */
  readonly pending: () => number;
  /** Checks from now on wait for this. */
  hold(gate: Promise<void>): void;
  /** Checks that have begun. */
  readonly checked: () => number;
  /** Requests of clients that have arrived. */
  readonly arrived: () => number;
}

const userOf = (request: HttpRequest): string => request.header('x-user') ?? '';

const textOf = ({ json, events, text }: Answered): string => {
  const { result } = events.at(-1) ?? json;
  assert.ok(result, text);
  return (result['content'] as { text: string }[])[0]!.text;
};

/** @param target a server over HTTP that waits with its first answer; or a child */
async function start(t: TestContext, target: RemoteServer | StdioTarget): Promise<Stage> {
  const isRemote = target instanceof RemoteServer;
  let checked = 0;
  let arrived = 0;
  let gate: Promise<void> | undefined;
  const harness = await startHarness({
    backend: mcpBackend({ targets: [isRemote ? remoteTarget(target.url) : target] }),
    headers: (request) => [['x-credential', userOf(request)]],
    caller: (request): Caller => {
      arrived++;
      const user = userOf(request);
      return {
        principal: 'team',
        credentialsDigest: isRemote ? () => user : undefined,
        environment: isRemote ? undefined : () => ({ values: { TOKEN: user }, digest: user }),
        checksOf: () => ({
          request:
            gate === undefined
              ? []
              : [
                  async () => {
                    checked++;
                    await gate;
                    return {};
                  },
                ],
          result: [],
        }),
      };
    },
  });
  t.after(() => harness.close());
  const params = isRemote
    ? { name: 'credential', arguments: {} }
    : { name: 'environment', arguments: { name: 'TOKEN' } };
  let session: Promise<RawClient> | undefined;
  const opened = async (user: string): Promise<RawClient> => {
    const client = new RawClient(harness.url, { 'x-user': user });
    await client.initialize();
    return client;
  };
  return {
    modern: async (user) =>
      textOf(await new RawModernClient(harness.url, {}, { 'x-user': user }).post('tools/call', params)),
    legacy: async (user) => {
      const client = await (session ??= opened(user));
      return textOf(await client.post(client.request('tools/call', params), { 'x-user': user }));
    },
    use: async (user, message) => {
      const client = await (session ??= opened(user));
      return await client.post(message(client), { 'x-user': user });
    },
    pending: () =>
      harness.runtime.view().sessions.reduce((sum, { targets: all }) => sum + all[0]!.pending, 0),
    hold: (next) => void (gate = next),
    checked: () => checked,
    arrived: () => arrived,
  };
}

async function remote(t: TestContext): Promise<RemoteServer> {
  const server = await startRemote(t);
  server.tools['credential'] = (x) => x.json(x.result(String(x.seen.headers['x-credential'])));
  return server;
}

const child = (scope: 'session' | 'user'): StdioTarget =>
  stdioTarget({
    injected: { TOKEN: { kind: 'header', header: 'x-user' } },
    ...(scope === 'user' && { scope }),
  });

const targets = {
  'a server over HTTP': remote,
  'a child of a session': () => child('session'),
  'a child of a user': () => child('user'),
};

async function allAtOnce(tell: Tell): Promise<void> {
  assert.deepEqual(await Promise.all(users.map(tell)), users);
}

/** The call of the first caller waits until the second caller has come. */
async function behindChecks(stage: Stage, tell: Tell): Promise<void> {
  const gate = Promise.withResolvers<void>();
  const told: Promise<string>[] = [];
  stage.hold(gate.promise);
  for (const [index, user] of users.entries()) {
    told.push(tell(user));
    await until('the check has begun', () => stage.checked() > index);
  }
  gate.resolve();
  assert.deepEqual(await Promise.all(told), users);
}

for (const [name, make] of Object.entries(targets))
  describe(`${name} gets the credential of the caller of each call`, () => {
    test('while it starts for the first calls', async (t) => {
      const server = await make(t);
      const stage = await start(t, server);
      if (server instanceof RemoteServer)
        server.beforeInitialize = () =>
          until('all calls have arrived', () => stage.arrived() === users.length);
      await allAtOnce(stage.modern);
    });

    test('in calls at the same time', async (t) => {
      const stage = await start(t, await make(t));
      await stage.modern('ada');
      await allAtOnce(stage.modern);
    });

    test('in calls that wait for checks', async (t) => {
      const stage = await start(t, await make(t));
      await stage.modern('ada');
      await behindChecks(stage, stage.modern);
    });

    test('in calls of one session at the same time', async (t) => {
      const stage = await start(t, await make(t));
      await stage.legacy('ada');
      await allAtOnce(stage.legacy);
    });

    test('in calls of one session that wait for checks', async (t) => {
      const stage = await start(t, await make(t));
      await stage.legacy('ada');
      await behindChecks(stage, stage.legacy);
    });
  });

test('a server over HTTP that has lost its session gets the credential of each call in its next session', async (t) => {
  const server = await remote(t);
  const stage = await start(t, server);
  await stage.legacy('ada');
  server.sessions.clear();
  await allAtOnce(stage.legacy);
  assert.equal(server.of('initialize').length, 2);
});

test('a call that waits for another child is given up, and the next call goes to the child that is there', async (t) => {
  const stage = await start(t, child('session'));
  await stage.legacy('ada');
  const held = stage.use('ada', (client) => client.tool('hold'));
  await until('the call is under way', () => stage.pending() === 1);
  const bob = stage.use('bob', (client) => client.request('tools/call', { name: 'pid' }, 'of bob'));
  await until('the call of the other caller waits', () => stage.pending() === 2);
  const ada = stage.legacy('ada');
  await until('the next call waits behind it', () => stage.pending() === 3);
  const params = { requestId: 'of bob' };
  await stage.use('bob', () => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
  assert.equal(await ada, 'ada');
  await bob;
  await stage.use('ada', (client) => client.tool('release'));
  await held;
});
