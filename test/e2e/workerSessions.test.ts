/** MCP sessions where several workers share the port: clients know nothing of it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import {
  answerOf,
  apart,
  callsUnderWay,
  openSession,
  resultText,
  type RawSession,
} from './session.testing.ts';
import { mcpRoute, node, rogue, rogueAlone, startIdp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const workers = 3;

interface Held {
  readonly session: RawSession;
  /** The pid of its server. */
  readonly pid: string;
  readonly worker: number;
}

describe('three workers', () => {
  let idp: Awaited<ReturnType<typeof startIdp>>;
  let gateway: GatewayProcess;
  let folder: string;
  let url: string;
  let alice: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'portcullis-sockets-'));
    idp = await startIdp();
    alice = await idp.issueToken({ user: 'alice' });
    gateway = await startGateway(
      `
config: { workers: ${workers}, logging: { accessLog: json } }
binds:
- port: 0
  listeners:
  - routes:
${mcpRoute({ idp, path: '/mcp', target: { cmd: node, args: [rogue] } })}
`,
      { env: { TMPDIR: folder } },
    );
    url = `${gateway.url}/mcp`;
    await gateway.keysReady();
  });
  after(async () => {
    await gateway?.stop();
    await idp?.close();
    // The folder for the secret of the admin port belongs to the user: the next gateway uses it again.
    const left = readdirSync(folder).filter((name) => !/^portcullis\.\d+$/.test(name));
    assert.deepEqual(left, [], 'no socket is left behind');
    rmSync(folder, { recursive: true });
  });

  const workerOf = async (pid: string): Promise<number> => {
    const { sessions } = (await gateway.configDump()).mcp as {
      sessions: { worker: number; targets: { pid?: number }[] }[];
    };
    return sessions.find(({ targets }) => String(targets[0]?.pid) === pid)?.worker ?? 0;
  };

  const pidOf = async (session: RawSession): Promise<string> => resultText(await session.call('pid'));

  const hold = async (token = alice): Promise<Held> => {
    const session = await openSession(url, token, { fetch: apart });
    const pid = await pidOf(session);
    return { session, pid, worker: await workerOf(pid) };
  };

  /** Sessions of at least two workers: where one comes to be is left to the system. */
  const holdSeveral = async (): Promise<readonly Held[]> => {
    const held: Held[] = [];
    await until('sessions of two workers', async () => {
      held.push(await hold());
      return held.length >= 4 && new Set(held.map(({ worker }) => worker)).size > 1;
    });
    return held;
  };

  const endAll = async (held: readonly Held[]): Promise<void> => {
    await Promise.all(held.map(({ session }) => session.close()));
  };

  test('all requests of a client of the modern era reach the worker that holds its session', async () => {
    const mode = { pin: '2026-07-28' };
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${alice}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: apart, requestInit }));
    const pids = new Set<string>();
    for (let i = 0; i < 2 * workers; i++) {
      const { content } = await client.callTool({ name: 'pid', arguments: {} });
      pids.add(JSON.stringify(content));
    }
    assert.equal(pids.size, 1);
    await client.close();
  });

  test('every call of a session reaches its server, whatever connection it comes by', async () => {
    const held = await holdSeveral();
    await Promise.all(
      held.flatMap(({ session, pid }) =>
        Array.from({ length: 15 }, async () => assert.equal(await pidOf(session), pid)),
      ),
    );
    assert.ok(
      ((await gateway.metric('portcullis_mcp_forwarded_requests_total', { result: 'answered' })) ?? 0) > 10,
    );
    assert.equal(
      await gateway.metric('portcullis_mcp_forwarded_requests_total', { result: 'lost' }),
      undefined,
    );
    await endAll(held);
  });

  test('each request is in the log and the metrics once', async () => {
    const held = await holdSeveral();
    const count = async (): Promise<number> =>
      (await gateway.metric('portcullis_requests_total', { status: '200' })) ?? 0;
    const inFlight = () => gateway.metric('portcullis_requests_in_flight');
    // A client may have its answer before the worker counts it.
    await until('all to be counted', async () => (await inFlight()) === 0);
    const before = await count();
    const lines = (): number => gateway.accessLog().split('"mcp.tool":"echo"').length - 1;
    const written = lines();
    await Promise.all(
      held.flatMap(({ session }) => Array.from({ length: 10 }, () => session.call('echo', { text: 'hi' }))),
    );
    const asked = 10 * held.length;
    await until('all is logged', () => lines() >= written + asked);
    assert.equal(lines(), written + asked);
    await until('all to be counted', async () => (await inFlight()) === 0);
    assert.equal(await count(), before + asked);
    await endAll(held);
  });

  test('messages of the server arrive on a stream of any worker', async () => {
    const held = await holdSeveral();
    await Promise.all(
      held.map(async ({ session }) => {
        const streams = await Promise.all([session.send('GET'), session.send('GET')]);
        assert.deepEqual(
          streams.map(({ status }) => status),
          [200, 200],
        );
        await session.call('changed');
        let heard = '';
        await Promise.race(
          streams.map(async ({ body }) => {
            for await (const bytes of body as unknown as AsyncIterable<Uint8Array>) {
              heard += Buffer.from(bytes).toString();
              if (heard.includes('list_changed')) return;
            }
          }),
        );
        assert.match(heard, /notifications\/\w+\/list_changed/);
        await session.close();
        // The session has ended, and its streams with it.
        for (const { body } of streams)
          if (body?.locked === false) await body.cancel().catch(() => undefined);
      }),
    );
  });

  test('DELETE ends the session wherever it comes in', async () => {
    const held = await holdSeveral();
    for (const { session, pid } of held) {
      await session.close();
      const gone = await session.send('POST', { id: 1, method: 'ping' });
      assert.equal(gone.status, 404);
      assert.equal(answerOf(await gone.text()).error?.message, 'session not found');
      await until(
        'the end of its server',
        () => !gateway.children().some((child) => String(child.pid) === pid),
      );
    }
  });

  test('the token is checked and the caller compared where the session is', async () => {
    const carol = await idp.issueToken({ user: 'carol' });
    const bob = await idp.issueToken({ user: 'bob' });
    const held = await holdSeveral();
    for (const { session, pid } of held) {
      const statuses = async (token: string): Promise<ReadonlySet<number>> => {
        const answers = await Promise.all(
          Array.from({ length: 6 }, () => session.send('POST', { id: 1, method: 'ping' }, token)),
        );
        await Promise.all(answers.map((answer) => answer.text()));
        return new Set(answers.map(({ status }) => status));
      };
      assert.deepEqual(await statuses(carol), new Set([404]), 'another user');
      assert.deepEqual(await statuses(bob), new Set([403]), 'a user who may not come in at all');
      assert.deepEqual(await statuses(`${alice}x`), new Set([401]), 'no sound token');
      assert.deepEqual(await statuses(alice), new Set([200]));
      assert.equal(await pidOf(session), pid);
    }
    // A made-up session is unknown, and only to who may ask.
    const [first] = held;
    const made = await apart(url, {
      method: 'POST',
      headers: { 'mcp-session-id': `${first?.session.id ?? ''}A`, 'content-type': 'application/json' },
      body: '{}',
    });
    assert.equal(made.status, 401);
    await endAll(held);
  });

  test('a worker that dies takes its sessions along: 404 for them, nothing for the others', async () => {
    const held = await holdSeveral();
    const victim = held[0]?.worker ?? 0;
    const { workers: before } = (await (await fetch(`${gateway.readiness}/readyz`)).json()) as {
      workers: { worker: number; pid: number; restarts: number }[];
    };
    const restarts = before[victim - 1]?.restarts ?? 0;
    // A call under way has no answer to hope for, and is told so one way or another.
    const cut = held[0]?.session.call('hang').then(
      ({ error }) => error?.message,
      () => 'the connection ended',
    );
    await callsUnderWay(gateway, 1);
    process.kill(before[victim - 1]?.pid ?? 0, 'SIGKILL');
    assert.match((await cut) ?? '', /^(session lost|the connection ended)$/);
    await until('the successor', async () => {
      const { workers: now } = (await (await fetch(`${gateway.readiness}/readyz`)).json()) as {
        workers: { state: string; restarts: number }[];
      };
      return now[victim - 1]?.restarts === restarts + 1 && now.every(({ state }) => state === 'serving');
    });
    for (const { session, pid, worker } of held) {
      if (worker !== victim) {
        assert.equal(await pidOf(session), pid);
        continue;
      }
      for (let i = 0; i < 6; i++) {
        const gone = await session.send('POST', { id: 1, method: 'ping' });
        assert.equal(gone.status, 404);
        assert.equal(answerOf(await gone.text()).error?.code, -32001);
      }
    }
    await endAll(held.filter(({ worker }) => worker !== victim));
    // The successor is found by the others as well.
    const again = await until('a session of the successor', async () => {
      const one = await hold();
      if (one.worker === victim) return one;
      await one.session.close();
      return undefined;
    });
    await Promise.all(
      Array.from({ length: 15 }, async () => assert.equal(await pidOf(again.session), again.pid)),
    );
    await again.session.close();
  });

  test('a client of the SDK learns that its session is gone, and begins another one', async () => {
    const begin = async (): Promise<Client> => {
      const client = new Client({ name: 'e2e', version: '1' });
      await client.connect(
        new StreamableHTTPClientTransport(new URL(url), {
          fetch: apart,
          requestInit: { headers: { authorization: `Bearer ${alice}` } },
        }),
      );
      return client;
    };
    const pid = async (client: Client): Promise<string> => {
      const { content } = (await client.callTool({ name: 'pid', arguments: {} })) as {
        content: { text: string }[];
      };
      return content[0]?.text ?? '';
    };
    const client = await begin();
    const first = await pid(client);
    const worker = await workerOf(first);
    const { workers: all } = (await (await fetch(`${gateway.readiness}/readyz`)).json()) as {
      workers: { pid: number }[];
    };
    process.kill(all[worker - 1]?.pid ?? 0, 'SIGKILL');
    await until(
      'its server to be gone',
      () => !gateway.children().some((child) => String(child.pid) === first),
    );
    // While the worker is on its way out connections to it may still break.
    await until('the refusal', () =>
      pid(client).then(
        () => false,
        (error: unknown) => String(error).includes('session not found'),
      ),
    );
    await client.close();
    const other = await until('a session of another worker', () => begin().catch(() => undefined));
    const second = await pid(other);
    assert.notEqual(second, first);
    for (let i = 0; i < 5; i++) assert.equal(await pid(other), second);
    await other.close();
  });

  test('the end does not wait for streams of news, wherever they came in', async () => {
    await using other = await startGateway(rogueAlone({ workers, connectionTerminationDeadline: '1h' }));
    const opened = await Promise.all(
      Array.from({ length: 6 }, () => openSession(other.url, undefined, { fetch: apart })),
    );
    const streams = await Promise.all(opened.map((session) => session.send('GET')));
    assert.ok(streams.every(({ status }) => status === 200));
    other.signal('SIGTERM');
    for (const stream of streams) await stream.text();
    assert.deepEqual(await other.ended, { code: 0, signal: null });
    await other.stop();
  });

  test('the sockets between the workers are for this user alone', async () => {
    const [own = '', ...others] = readdirSync(folder).filter((name) => name.startsWith('portcullis-'));
    assert.deepEqual(others, []);
    assert.equal(statSync(join(folder, own)).mode & 0o777, 0o700);
    await until('a socket for each worker', () => {
      const sockets = readdirSync(join(folder, own));
      return sockets.length === workers && sockets.every((name) => /^[0-9a-f]{16}\.sock$/.test(name));
    });
  });
});
