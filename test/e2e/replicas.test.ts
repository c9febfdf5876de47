/** Several gateways with one session key, in front of one MCP server: a client need not know which of them it meets. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Client, StreamableHTTPClientTransport, type Notification } from '@modelcontextprotocol/client';
import { startEverything, type EverythingServer } from '../../src/mcp/everythingServer.testing.ts';
import { answers } from './features.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { answerOf, apart, openSession, resultText, type RawSession } from './session.testing.ts';
import { authentication, inline, startIdp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

type Idp = Awaited<ReturnType<typeof startIdp>>;

const key = '5e'.repeat(32);

const config = (idp: Idp, url: string, process: object = { session: { key } }): string =>
  inline({
    config: process,
    binds: [
      {
        port: 0,
        listeners: [
          {
            routes: [
              {
                matches: [{ path: { pathPrefix: '/mcp' } }],
                policies: { mcpAuthentication: authentication(idp) },
                backends: [{ mcp: { targets: [{ name: 'far', mcp: { host: url } }] } }],
              },
            ],
          },
        ],
      },
    ],
  });

/** Each request goes to the next of those that there are now, by a connection of its own. */
function inTurn(gateways: () => readonly GatewayProcess[]): typeof fetch {
  let turn = 0;
  return (url, init) => {
    const all = gateways();
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    return apart(all[turn++ % all.length]!.url + pathname, init);
  };
}

interface Connected {
  readonly client: Client;
  readonly notifications: Notification[];
  readonly transport: StreamableHTTPClientTransport;
}

async function connect(fetchBy: typeof fetch, token: string): Promise<Connected> {
  const client = new Client(
    { name: 'replicas', version: '1.0.0' },
    {
      capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } },
      versionNegotiation: { mode: 'legacy' },
    },
  );
  const notifications: Notification[] = [];
  client.fallbackNotificationHandler = (notification) => {
    notifications.push(notification);
    return Promise.resolve();
  };
  client.setRequestHandler('sampling/createMessage', () => ({ ...answers.sampling }));
  client.setRequestHandler('elicitation/create', () => structuredClone(answers.elicitation));
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///srv/first', name: 'first' }] }));
  const transport = new StreamableHTTPClientTransport(new URL('http://gateway.test/mcp'), {
    fetch: fetchBy,
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    reconnectionOptions: {
      initialReconnectionDelay: 50,
      maxReconnectionDelay: 200,
      reconnectionDelayGrowFactor: 1.5,
      maxRetries: 100,
    },
  });
  await client.connect(transport);
  return { client, notifications, transport };
}

const echo = async (client: Client, message: string): Promise<void> => {
  const { content } = await client.callTool({ name: 'echo', arguments: { message } });
  assert.deepEqual(content, [{ type: 'text', text: `Echo: ${message}` }]);
};

const held = async (gateway: GatewayProcess): Promise<readonly { resumed: boolean; streams: number }[]> =>
  ((await gateway.configDump()).mcp as { sessions: { resumed: boolean; streams: number }[] }).sessions;

describe('two gateways with one key', () => {
  let idp: Idp;
  let server: EverythingServer;
  let gateways: readonly GatewayProcess[];
  let alice: string;
  let session: Connected;

  before(async () => {
    idp = await startIdp();
    server = await startEverything();
    alice = await idp.issueToken({ user: 'alice' });
    gateways = await Promise.all([0, 1].map(() => startGateway(config(idp, server.url))));
    for (const gateway of gateways) await gateway.keysReady();
    session = await connect(
      inTurn(() => gateways),
      alice,
    );
  });
  after(async () => {
    await session?.client.close();
    for (const gateway of gateways ?? []) await gateway.stop();
    await server?.close();
    await idp?.close();
  });

  test('calls go on in one session of the server, by either gateway', async () => {
    for (const message of ['a', 'b', 'c', 'd']) await echo(session.client, message);
    await Promise.all(Array.from({ length: 20 }, (_, i) => echo(session.client, `side by side ${i}`)));
    assert.equal(server.sessions(), 1);
    const copies = await Promise.all(gateways.map(held));
    assert.deepEqual(
      copies.flat().map(({ resumed }) => resumed),
      [false, true],
    );
    const [first, second] = await Promise.all(
      gateways.map((gateway) =>
        gateway.metric('portcullis_mcp_session_resumptions_total', { outcome: 'resumed' }),
      ),
    );
    assert.deepEqual([first, second], [undefined, 1]);
  });

  test('progress comes with its call', async () => {
    for (let turn = 0; turn < 2; turn++) {
      const seen: number[] = [];
      await session.client.callTool(
        { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } },
        { onprogress: ({ progress }) => void seen.push(progress) },
      );
      assert.deepEqual(seen, [1, 2, 3, 4]);
      await session.client.ping();
    }
  });

  test('a request of the server is answered through the other gateway', async () => {
    for (let turn = 0; turn < 2; turn++) {
      const sample = await session.client.callTool({
        name: 'trigger-sampling-request',
        arguments: { prompt: 'say something', maxTokens: 10 },
      });
      assert.match(JSON.stringify(sample.content), /a sampled answer/);
      const asked = await session.client.callTool({ name: 'trigger-elicitation-request' });
      assert.match(JSON.stringify(asked.content), /Ada Lovelace/);
      await session.client.ping();
    }
  });

  test('messages of the server arrive at the gateway that has the stream', async () => {
    await until('one of them has the stream', async () =>
      (await Promise.all(gateways.map(held))).flat().some(({ streams }) => streams === 1),
    );
    const of = (method: string): Notification[] =>
      session.notifications.filter((one) => one.method === method);
    await session.client.setLoggingLevel('debug');
    await session.client.callTool({ name: 'toggle-simulated-logging' });
    await until('a log message', () => of('notifications/message').length > 0);
    await session.client.callTool({ name: 'toggle-simulated-logging' });
    const uri = 'demo://resource/dynamic/text/1';
    await session.client.subscribeResource({ uri });
    await session.client.callTool({ name: 'toggle-subscriber-updates' });
    const update = await until('an update', () => of('notifications/resources/updated').at(0));
    assert.deepEqual(update.params, { uri });
    await session.client.callTool({ name: 'toggle-subscriber-updates' });
  });

  /** As `at` sees it, whatever has become of it before. */
  const askAt = async (at: GatewayProcess, { id }: RawSession, token: string): Promise<number> => {
    const answer = await apart(`${at.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'mcp-session-id': id,
        accept: 'application/json, text/event-stream',
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
    const text = await answer.text();
    if (answer.status === 404) assert.equal(answerOf(text).error?.code, -32001);
    return answer.status;
  };

  test('the token is checked and the caller compared before anything goes on', async () => {
    const [here, there] = gateways as [GatewayProcess, GatewayProcess];
    const own = await openSession(`${here.url}/mcp`, alice);
    assert.ok(own.id.length < 400, `${own.id.length} characters`);
    const carol = await idp.issueToken({ user: 'carol' });
    assert.equal(await askAt(there, own, carol), 404);
    assert.equal(await askAt(there, own, await idp.issueToken({ user: 'bob' })), 403);
    assert.equal(await askAt(there, own, `${alice}x`), 401);
    assert.equal(await askAt(there, own, await idp.issueToken({ user: 'alice' })), 200);
    assert.equal(await askAt(there, own, carol), 404);
    await own.close();
  });

  test('a session that has ended is unknown to both', async () => {
    const [here, there] = gateways as [GatewayProcess, GatewayProcess];
    for (const by of [here, there]) {
      const own = await openSession(`${here.url}/mcp`, alice);
      const sessions = server.sessions();
      assert.equal(await askAt(there, own, alice), 200);
      const ended = await fetch(`${by.url}/mcp`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${alice}`, 'mcp-session-id': own.id },
      });
      assert.equal(ended.status, 204);
      assert.equal(server.sessions(), sessions - 1);
      for (const at of [there, here, there]) assert.equal(await askAt(at, own, alice), 404);
    }
  });
});

test('a client does not notice that its only gateway was started anew', async () => {
  await using idp = await startIdp();
  const server = await startEverything();
  const alice = await idp.issueToken({ user: 'alice' });
  let gateway = await startGateway(config(idp, server.url));
  const { client, notifications, transport } = await connect(
    inTurn(() => [gateway]),
    alice,
  );
  try {
    await echo(client, 'before');
    const uri = 'demo://resource/dynamic/text/1';
    await client.subscribeResource({ uri });
    for (const end of ['in order', 'at once'] as const) {
      const old = gateway;
      if (end === 'at once') old.signal('SIGKILL');
      const stopped = end === 'in order' ? old.stop() : old.ended;
      gateway = await startGateway(config(idp, server.url));
      await stopped;
      await echo(client, end);
      assert.equal(server.sessions(), 1);
      await until('the client listens again', async () => (await held(gateway))[0]?.streams === 1);
      if (end === 'at once') await old[Symbol.asyncDispose]();
    }
    await client.callTool({ name: 'toggle-subscriber-updates' });
    await until('an update', () => notifications.some(({ params }) => params?.['uri'] === uri));
    await transport.terminateSession();
    assert.equal(server.sessions(), 0);
  } finally {
    await client.close();
    await gateway.stop();
    await server.close();
  }
});

test('without a key in common a session is unknown elsewhere, and ends with its gateway', async () => {
  await using idp = await startIdp();
  const server = await startEverything();
  const alice = await idp.issueToken({ user: 'alice' });
  const first = await startGateway(config(idp, server.url, {}));
  await using second = await startGateway(config(idp, server.url, { session: { key } }));
  const session = await openSession(`${first.url}/mcp`, alice);
  const elsewhere = await openSession(`${second.url}/mcp`, alice);
  const ask = (at: GatewayProcess, id: string): Promise<Response> =>
    fetch(`${at.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${alice}`,
        'content-type': 'application/json',
        'mcp-session-id': id,
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    });
  assert.equal((await ask(second, session.id)).status, 404);
  assert.equal((await ask(first, elsewhere.id)).status, 404);
  assert.equal(server.sessions(), 2);
  await first.stop();
  await until('the server knows', () => server.sessions() === 1);
  await elsewhere.close();
  await server.close();
});

test('a session goes on at another worker when its own dies', async () => {
  await using idp = await startIdp();
  const server = await startEverything();
  const alice = await idp.issueToken({ user: 'alice' });
  await using gateway = await startGateway(config(idp, server.url, { workers: 3 }));
  const session = await openSession(`${gateway.url}/mcp`, alice, { fetch: apart });
  for (let i = 0; i < 6; i++)
    assert.match(resultText(await session.call('echo', { message: `${i}` })), /Echo/);
  const holders = async (): Promise<readonly { worker: number; resumed: boolean }[]> =>
    ((await gateway.configDump()).mcp as { sessions: { worker: number; resumed: boolean }[] }).sessions;
  const [owner, ...others] = await holders();
  assert.deepEqual(others, []);
  const { workers } = (await (await fetch(`${gateway.readiness}/readyz`)).json()) as {
    workers: { pid: number }[];
  };
  process.kill(workers[owner!.worker - 1]!.pid, 'SIGKILL');
  await until('the worker is gone', async () => (await holders()).every(({ resumed }) => resumed));
  await until('the session goes on', async () => {
    const answer = await session.send('POST', { id: 7, method: 'ping' });
    await answer.text();
    return answer.status === 200;
  });
  for (let i = 0; i < 12; i++)
    assert.match(resultText(await session.call('echo', { message: `${i}` })), /Echo/);
  assert.equal(server.sessions(), 1);
  await session.close();
  assert.equal(server.sessions(), 0);
  await server.close();
});

test('a session goes on at the program that takes over in an upgrade', async () => {
  await using idp = await startIdp();
  const server = await startEverything();
  const alice = await idp.issueToken({ user: 'alice' });
  await using gateway = await startGateway(config(idp, server.url, {}));
  const session = await openSession(`${gateway.url}/mcp`, alice, { fetch: apart });
  assert.match(resultText(await session.call('echo', { message: 'before' })), /Echo/);
  gateway.signal('SIGUSR2');
  const next = await until(
    'the new program',
    () => /the new process serves pid=(\d+)/.exec(gateway.log())?.[1],
  );
  await until('the end of the old one', () =>
    gateway.log().includes('Upgrade completed: the previous process has exited'),
  );
  assert.match(resultText(await session.call('echo', { message: 'after' })), /Echo: after/);
  assert.equal(server.sessions(), 1);
  await session.close();
  await server.close();
  process.kill(Number(next), 'SIGTERM');
  await gateway.ended;
});
