/** Servers behind the gateway that die, hang, flood, and lie. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { residentBytes } from './processes.testing.ts';
import { answerOf, callsUnderWay, openSession, resultText, type RawSession } from './session.testing.ts';
import { inline, node, rogue, rogueAlone } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const MiB = 1_048_576;
const closing = fileURLToPath(new URL('./fixtures/closing.ts', import.meta.url));

interface Target {
  readonly args?: readonly string[];
  readonly stdio?: object;
  readonly policies?: object;
}

const targets: Readonly<Record<string, Target>> = {
  rogue: {},
  hurried: { policies: { timeout: { requestTimeout: '6s' } } },
  mute: { args: ['mute'], stdio: { startTimeout: '500ms' } },
  failing: { args: ['failing'] },
  stubborn: { args: ['stubborn'] },
  deaf: { args: ['deaf'] },
  absent: { stdio: { cmd: '/no/such/program' } },
  own: { stdio: { env: { TOLD: 'yes' }, cwd: '/' } },
  closing: { stdio: { args: [closing] } },
  bare: { stdio: { clear_env: true, env: { TOLD: 'yes' } } },
};

const routes = Object.entries(targets).map(
  ([name, { args = [], stdio, policies = {} }]) => `
    - name: ${name}
      matches: [{ path: { pathPrefix: /${name} } }]
      policies: ${inline(policies)}
      backends: [{ mcp: { targets: [{ name: ${name}-target, stdio: ${inline({ cmd: node, args: [rogue, ...args], ...stdio })} }] } }]`,
);

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGateway(
    `
config: { limits: { maxMcpMessageBytes: 1MiB } }
binds:
- port: 0
  listeners:
  - routes:
${routes.join('')}
`,
    { env: { SESSION_KEY: 'ab'.repeat(32), PORTCULLIS_CLIENT_SECRET: 'a-secret', INHERITED: 'by children' } },
  );
});
after(() => gateway?.stop());

const open = (name: string): Promise<RawSession> => openSession(`${gateway.url}/${name}`);
const text = async (session: RawSession, name: string, args?: object): Promise<string> =>
  resultText(await session.call(name, args));

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
};
const isSupervisor = (pid: number): boolean => commandOf(pid).includes('portcullis-reaper');
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number);

/** The answer to initialize if the target cannot be had. */
async function refusal(
  name: string,
  of = gateway,
): Promise<{ status: number; code: number; message: string }> {
  const response = await fetch(`${of.url}/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'e2e', version: '1' },
      },
    }),
  });
  const { error } = answerOf(await response.text());
  assert.ok(error !== undefined);
  return { status: response.status, ...error };
}

describe('a child that dies', () => {
  test('by a signal in the middle of a call gives an error at once, and the session goes on', async () => {
    const session = await open('rogue');
    const pid = Number(await text(session, 'pid'));
    await session.send('POST', { id: 50, method: 'resources/subscribe', params: { uri: 'file:///a' } });
    await session.send('POST', { id: 51, method: 'logging/setLevel', params: { level: 'warning' } });
    const pending = Promise.all([session.call('hang'), session.call('hang')]);
    await callsUnderWay(gateway, 2);
    process.kill(pid, 'SIGKILL');
    for (const { error } of await pending) {
      assert.equal(error?.code, -32603);
      assert.match(error.message, /rogue-target/);
    }
    assert.equal(await text(session, 'echo', { text: 'alive' }), 'alive');
    assert.notEqual(Number(await text(session, 'pid')), pid);
    // The second child knows the state that the session had told the first.
    const state = JSON.parse(await text(session, 'state')) as { level: string; subscriptions: string[] };
    assert.deepEqual([state.level, state.subscriptions], ['warning', ['file:///a']]);
    await session.close();
  });

  test('by itself again and again is restarted each time', async () => {
    const session = await open('rogue');
    for (let i = 0; i < 3; i++) {
      const { error } = await session.call('crash');
      assert.equal(error?.code, -32603);
      assert.equal(await text(session, 'echo', { text: `after crash ${i}` }), `after crash ${i}`);
    }
    await session.close();
    assert.ok(((await gateway.metric('portcullis_mcp_child_restarts_total')) ?? 0) >= 3);
  });

  for (const [pipe, descriptor] of [
    ['closeOutput', 1],
    ['closeInput', 0],
  ] as const)
    test(`to the world, by ${pipe}, counts as dead and is replaced`, async () => {
      const session = await open('closing');
      const pid = await text(session, 'pid');
      const closing = session.call(pipe);
      // The child never answers messages that it has read with the order to close, so the test sends none before.
      await until('the pipe to be closed', () => !existsSync(`/proc/${pid}/fd/${descriptor}`));
      // A closed input shows with the next message: then whatever the child was asked fails.
      await until('a successor', async () => {
        const answer = await session.call('pid');
        return answer.error === undefined && resultText(answer) !== pid;
      });
      const { error } = await closing;
      assert.equal(error?.code, -32603);
      assert.match(error.message, /closing-target/);
      await until('its end', () => !gateway.children().some((child) => String(child.pid) === pid));
      await session.close();
    });

  test('takes no other session with it', async () => {
    const [dying, living] = await Promise.all([open('rogue'), open('rogue')]);
    const held = living.call('hold');
    await callsUnderWay(gateway, 1);
    await dying.call('crash');
    assert.equal(await text(living, 'release'), 'done');
    assert.equal(resultText(await held), 'released');
    await Promise.all([dying.close(), living.close()]);
  });

  test('before it says a word is reported with its name, and its last words are in the log', async () => {
    const { code, message } = await refusal('failing');
    assert.equal(code, -32603);
    assert.match(message, /failing-target/);
    assert.doesNotMatch(message, /database/, 'what a target writes is not for clients');
    await until('its words', () => /failing-target.*cannot find my database/.test(gateway.log()));
  });

  test('because there is no such program is reported the same way', async () => {
    const { code, message } = await refusal('absent');
    assert.equal(code, -32603);
    assert.match(message, /absent-target/);
    await until('the line', () =>
      /target=absent-target|\/no\/such\/program.*was not found/.test(gateway.log()),
    );
  });
});

describe('a child that does not answer', () => {
  test('is given up by a client that cancels, and the session goes on', async () => {
    const client = new Client({ name: 'e2e', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL('/rogue', gateway.url));
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    const cancelling = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, undefined, { signal: cancelling.signal });
    const refused = assert.rejects(hanging, /no patience/);
    await callsUnderWay(gateway, 1);
    cancelling.abort(new Error('no patience'));
    await refused;
    await until('the child to hear of it', async () => {
      const { content } = (await client.callTool({ name: 'state' })) as { content: { text: string }[] };
      return /notifications\/cancelled/.test(content[0]?.text ?? '');
    });
    await transport.terminateSession();
    await client.close();
  });

  test('ends in an error where the route has a time limit, and the session goes on', async () => {
    const session = await open('hurried');
    const response = await session.send('POST', {
      id: 7,
      method: 'tools/call',
      params: { name: 'hang', arguments: {} },
    });
    assert.equal(response.status, 504);
    assert.match(answerOf(await response.text()).error?.message ?? '', /request timeout: target ".*"/);
    assert.equal(await text(session, 'echo', { text: 'alive' }), 'alive');
    await session.close();
  });

  test('not even to initialize is given up after its start timeout and does not stay', async () => {
    const { code, message } = await refusal('mute');
    assert.equal(code, -32603);
    assert.match(message, /mute-target/);
    await until('its end', () => gateway.children().every(({ command }) => !command.endsWith(' mute')));
  });

  test('and does not read either is refused more when its pipe is full', async () => {
    const session = await open('deaf');
    const filler = 'x'.repeat(MiB / 2);
    const calls: Promise<void>[] = [];
    let refused = 0;
    await until('a refusal', () => {
      calls.push(session.call('echo', { text: filler }).then(({ error }) => void (refused += error ? 1 : 0)));
      return refused > 0;
    });
    // Some of the calls are still on their way to the gateway.
    await until('the calls that wait for the child are bounded', () => calls.length - refused < 40);
    await session.close();
    await Promise.allSettled(calls);
  });
});

describe('a child that says too much', () => {
  test('floods a client that does not read without filling the memory of the gateway', async () => {
    const [flooded, other] = await Promise.all([open('rogue'), open('rogue')]);
    const before = residentBytes(gateway.pid);
    const response = await flooded.send('POST', {
      id: 7,
      method: 'tools/call',
      params: {
        name: 'flood',
        arguments: { messages: 6_000, bytes: 20_000 },
        _meta: { progressToken: 'p' },
      },
    });
    // The client does not read the answer while these calls go through another session.
    for (let i = 0; i < 50; i++) assert.equal(await text(other, 'echo', { text: 'meanwhile' }), 'meanwhile');
    const grown = residentBytes(gateway.pid) - before;
    assert.ok(grown < 100 * MiB, `grew by ${Math.round(grown / MiB)} MiB`);

    const method = '"notifications/progress"';
    let messages = 0;
    let tail = '';
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      const read = tail + Buffer.from(chunk).toString('latin1');
      messages += read.split(method).length - 1;
      // A name may come in two pieces; a whole one is longer.
      tail = read.slice(1 - method.length);
    }
    assert.ok(messages >= 6_000, `${messages} of 6000 arrived`);
    await Promise.all([flooded.close(), other.close()]);
  });

  test('floods a client that has left without harm to the session', async () => {
    const session = await open('rogue');
    const leaving = new AbortController();
    const response = await fetch(`${gateway.url}/rogue`, {
      method: 'POST',
      signal: leaving.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': session.id,
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 7,
        method: 'tools/call',
        params: {
          name: 'flood',
          arguments: { messages: 2_000, bytes: 20_000 },
          _meta: { progressToken: 'p' },
        },
      }),
    });
    await response.body?.getReader().read();
    leaving.abort();
    assert.equal(await text(session, 'echo', { text: 'alive' }), 'alive');
    await session.close();
  });

  test('in one line ends that call only', async () => {
    const session = await open('rogue');
    const held = session.call('hold');
    await callsUnderWay(gateway, 1);
    const { error } = await session.call('huge', { bytes: 3 * MiB });
    assert.equal(error?.code, -32603);
    assert.match(error.message, /too large/);
    assert.equal((await text(session, 'huge', { bytes: MiB / 2 })).length, MiB / 2);
    await text(session, 'release');
    assert.equal(resultText(await held), 'released');
    await session.close();
  });

  test('that is no message is skipped and logged', async () => {
    const session = await open('rogue');
    assert.equal(await text(session, 'garbage'), 'after garbage');
    await until('the line', () => gateway.log().includes('Listening on port 3000'));
    await session.close();
  });

  test('in many pieces is understood', async () => {
    const session = await open('rogue');
    const answer = await text(session, 'slow', { text: 'Stück für Stück 🌍' });
    assert.equal(answer, 'Stück für Stück 🌍');
    await session.close();
  });

  test('on stderr is in the log, a line each, with its name', async () => {
    const session = await open('rogue');
    await session.call('stderr', { line: 'something is odd' });
    await until('the line', () => /rogue-target.*something is odd/.test(gateway.log()));
    await session.close();
  });
});

describe('a child and what it is given', () => {
  test('inherits the environment of the gateway, but none of its secrets', async () => {
    const session = await open('own');
    const read = (name: string): Promise<string> => text(session, 'environment', { name });
    assert.equal(await read('INHERITED'), 'by children');
    assert.equal(await read('TOLD'), 'yes');
    assert.equal(await read('SESSION_KEY'), '(unset)');
    assert.equal(await read('PORTCULLIS_CLIENT_SECRET'), '(unset)');
    assert.equal(await text(session, 'directory'), '/');
    await session.close();
  });

  test('with clear_env has what the configuration says and nothing else', async () => {
    const session = await open('bare');
    const read = (name: string): Promise<string> => text(session, 'environment', { name });
    assert.deepEqual(await Promise.all(['TOLD', 'INHERITED', 'PATH', 'HOME'].map(read)), [
      'yes',
      '(unset)',
      '(unset)',
      '(unset)',
    ]);
    await session.close();
  });

  for (const workers of [1, 2])
    test(`has no descriptor that the parent of the gateway left open (workers: ${workers})`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'left-open-'));
      t.after(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'secret');
      const descriptor = openSync(file, 'w');
      t.after(() => closeSync(descriptor));
      const own = await startGateway(
        `
config: { workers: ${workers} }
mcp:
  port: 0
  targets: [{ name: own, stdio: ${inline({ cmd: node, args: [rogue] })} }]
`,
        { leftOpen: { 30: descriptor } },
      );
      t.after(() => own.stop());
      const session = await openSession(`${own.url}/mcp`);
      const pid = Number(await text(session, 'pid'));
      assert.equal(readlinkSync(`/proc/${own.pid}/fd/30`), file);
      assert.equal(readlinkSync(`/proc/${pid}/fd/30`), '/dev/null');
      await session.close();
    });
});

describe('the end of a session', () => {
  test('ends what its child has started, however deaf it is to signals', async () => {
    await until('the end of earlier children', () => gateway.children().length === 0);
    const session = await open('rogue');
    await session.call('grandchild');
    await until('both', () => gateway.children().length === 2);
    await session.close();
    await until('their end', () => gateway.children().length === 0);
  });

  test('ends a child that does not want to', async () => {
    const session = await open('stubborn');
    await session.close();
    await until('its end', () => gateway.children().every(({ command }) => !command.endsWith(' stubborn')));
  });

  for (const workers of [1, 2])
    test(`comes for a child that ignores everything when the gateway is killed (workers: ${workers})`, async () => {
      const stubborn = rogueAlone({ workers }).replace(inline([rogue]), inline([rogue, 'stubborn']));
      await using killed = await startGateway(stubborn);
      const session = await openSession(killed.url);
      const pid = killed.children().find(({ command }) => command.endsWith(' stubborn'))?.pid;
      assert.ok(pid !== undefined && session.id !== '');
      const others = killed.children().filter((one) => one.pid !== pid);
      // All of the gateway at once: a worker that is left would end its children by itself.
      for (const one of [killed.pid, ...others.map((other) => other.pid)]) process.kill(one, 'SIGKILL');
      await killed.ended;
      await until('the end of the child', () => killed.children().length === 0);
    });

  test('leaves no supervisor behind when the gateway ends in order', async () => {
    const supervisors = (gatewayPid: number): number[] => childrenOf(gatewayPid).filter(isSupervisor);
    const own = await startGateway(rogueAlone());
    const session = await openSession(own.url);
    const found = supervisors(own.pid);
    assert.equal(found.length, 1);
    const another = await openSession(own.url);
    assert.deepEqual(supervisors(own.pid), found, 'one for all children');
    await Promise.all([session.close(), another.close()]);
    await own.stop();
    assert.deepEqual(found.filter(isSupervisor), []);
  });

  test('comes with a bounded number of children, and room is free afterwards', async () => {
    await using small = await startGateway(rogueAlone({ limits: { maxChildren: 2 } }));
    const [first, second] = await Promise.all([openSession(small.url), openSession(small.url)]);
    const full = await fetch(small.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e', version: '1' } },
      }),
    });
    assert.equal(full.status, 503);
    assert.match(full.headers.get('retry-after') ?? '', /^[1-9]/);
    assert.equal(answerOf(await full.text()).error?.code, -32000);
    await first.close();
    const third = await until('room', () => openSession(small.url).catch(() => undefined));
    assert.equal(resultText(await third.call('echo', { text: 'in' })), 'in');
    await Promise.all([second.close(), third.close()]);
  });

  test('comes by itself when nobody uses it', async () => {
    await using brief = await startGateway(rogueAlone({ mcp: { sessionTtl: '3s', resumableFor: '0s' } }));
    const session = await openSession(brief.url);
    await until('the end of its child', () => brief.children().length === 0);
    const response = await session.send('POST', { id: 9, method: 'tools/list' });
    assert.equal(response.status, 404);
  });
});

describe('a child that fails to start', () => {
  test('leads the client to the log entry that has the reason', async () => {
    const { message } = await refusal('failing');
    const [, entry = ''] =
      /^target "failing-target" ended with exit code 7 while it started, at \d{4}-\d\d-\d\dT[\d:.]+Z; see the log entry of the gateway with failure=([0-9a-f]{8})$/.exec(
        message,
      ) ?? assert.fail(message);
    const line = await until('the entry', () =>
      gateway
        .log()
        .split('\n')
        .find((one) => one.includes(`failure=${entry}`)),
    );
    assert.match(line, /cannot find my database/);
    assert.match(line, /pid=\d+/);
  });

  test('leads there also where it was never started, or does not answer', async () => {
    for (const [name, reason] of [
      ['absent', 'could not be started'],
      ['mute', 'did not answer initialize within 500 ms while it started'],
    ] as const) {
      const { message } = await refusal(name);
      const [, told, entry] = /^target "\w+-target" (.*), at .* failure=(\w+)$/.exec(message) ?? [];
      assert.equal(told, reason);
      await until('the entry', () => gateway.log().includes(`failure=${entry}`));
    }
  });

  test('because npx asks before it installs is told to use -y', async () => {
    // A registry on this machine has the package; npx would install it, if anybody could answer.
    const registry = createServer((request, response) => {
      const versions = {
        '1.0.0': {
          name: 'some-server',
          version: '1.0.0',
          bin: { 'some-server': 'a.js' },
          dist: { tarball: 'http://127.0.0.1:1/a' },
        },
      };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ name: 'some-server', 'dist-tags': { latest: '1.0.0' }, versions }));
      request.resume();
    });
    registry.listen(0, '127.0.0.1');
    await once(registry, 'listening');
    const { port } = registry.address() as AddressInfo;
    const folder = mkdtempSync(join(tmpdir(), 'npx-'));
    const env = {
      npm_config_registry: `http://127.0.0.1:${port}`,
      npm_config_cache: folder,
      npm_config_yes: 'false',
      npm_config_fetch_retries: '0',
    };
    const target = (name: string, args: readonly string[]): object => ({
      matches: [{ path: { pathPrefix: `/${name}` } }],
      backends: [{ mcp: { targets: [{ name, stdio: { cmd: 'npx', args, env, cwd: folder } }] } }],
    });
    const routes = [target('asks', ['some-server']), target('told', ['-y', 'some-server'])];
    try {
      await using asking = await startGateway(inline({ binds: [{ port: 0, listeners: [{ routes }] }] }));
      const { message } = await refusal('asks', asking);
      assert.match(message, /^target "asks" ended with exit code 1 while it started, at /);
      assert.match(message, /; npx asked whether it may install the package: put -y first in args$/);
      // It fails for another reason: the package has no content.
      assert.doesNotMatch((await refusal('told', asking)).message, /npx asked/);
    } finally {
      registry.close();
      registry.closeAllConnections();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
