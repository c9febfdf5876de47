/** Requests of the gateway itself, on behalf of a caller, reach each target with the credential of that caller. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { catalog, mcpBackend, remoteTarget, startHarness, type Harness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { startRemote, type RemoteServer } from '../remoteServer.testing.ts';
import { until } from '../../until.testing.ts';

interface Stage {
  readonly server: RemoteServer;
  readonly harness: Harness;
  readonly client: RawClient;
  /** The targets whose tools the client sees. */
  readonly listed: () => Promise<readonly string[]>;
  /** The credentials that came with lists of the server. */
  readonly credentials: () => readonly unknown[];
  /** The credential of the next requests; undefined: it is refused. */
  use(credential: string | undefined): void;
}

async function start(t: TestContext, methods: RemoteServer['methods'] = {}): Promise<Stage> {
  const server = await startRemote(t);
  Object.assign(server.methods, methods);
  let credential: string | undefined = 'first';
  const harness = await startHarness({
    backend: mcpBackend({
      targets: [remoteTarget(server.url, { name: 'far' }), catalog({ name: 'near', tools: ['read'] })],
      failOpen: true,
    }),
    caller: () => ({ principal: 'ada' }),
    headers: () => {
      if (credential === undefined) throw new GatewayError('backend_login_required');
      return [['x-credential', credential]];
    },
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  return {
    server,
    harness,
    client,
    listed: async () => {
      const { json, events } = await client.post(client.request('tools/list'));
      const { tools } = (events.at(-1) ?? json).result as { tools: { name: string }[] };
      return [...new Set(tools.map(({ name }) => name.split('_')[0]!))];
    },
    credentials: () => server.of('tools/list').map(({ headers }) => headers['x-credential']),
    use: (next) => void (credential = next),
  };
}

test('a list goes to each target with the credential of its caller, and not where that one is refused', async (t) => {
  const { listed, credentials, use } = await start(t);
  assert.deepEqual(await listed(), ['far', 'near']);
  use(undefined);
  assert.deepEqual(await listed(), ['near']);
  use('second');
  assert.deepEqual(await listed(), ['far', 'near']);
  assert.deepEqual(credentials(), ['first', 'second']);
});

test('a target that refuses the caller is not asked for its list again until the caller has a credential', async (t) => {
  const { harness, client, listed, credentials, use } = await start(t);
  const events = await client.get();
  await listed();
  use(undefined);
  assert.deepEqual(await listed(), ['near']);
  harness.runtime.tick();
  harness.runtime.tick();
  use('second');
  await client.post(client.request('ping'));
  await until('the target is asked again', () => {
    harness.runtime.tick();
    return credentials().length > 1;
  });
  let method: string | undefined;
  do method = (await events.next())?.method;
  while (method !== 'notifications/tools/list_changed');
  assert.deepEqual(credentials(), ['first', 'second']);
  await events.cancel();
});

test('a log level goes to a target with the credential of its caller', async (t) => {
  const { server, client, use } = await start(t, {
    initialize: (x) => {
      const { protocolVersion } = x.seen.message.params as { protocolVersion: string };
      const result = {
        protocolVersion,
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name: 'far', version: '1' },
      };
      x.json({ jsonrpc: '2.0', id: x.id, result });
    },
    'logging/setLevel': (x) => x.json({ jsonrpc: '2.0', id: x.id, result: {} }),
  });
  const set = async (): Promise<void> =>
    void (await client.post(client.request('logging/setLevel', { level: 'error' })));
  use(undefined);
  await set();
  use('second');
  await set();
  assert.deepEqual(
    server.of('logging/setLevel').map(({ headers }) => headers['x-credential']),
    ['second'],
  );
});
