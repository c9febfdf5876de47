import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { StdioTarget } from '../../model/index.ts';
import {
  mcpBackend,
  startHarness,
  stdioTarget,
  type Harness,
  type HarnessOptions,
} from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { stage } from '../remote.testing.ts';
import { until } from '../../until.testing.ts';

const open: Harness[] = [];
afterEach(async () => {
  for (const harness of open.splice(0)) await harness.close();
});

async function connect(
  target: Partial<StdioTarget>,
  options: HarnessOptions = {},
): Promise<{ harness: Harness; client: RawClient }> {
  const harness = await startHarness({ backend: mcpBackend({ targets: [stdioTarget(target)] }), ...options });
  open.push(harness);
  const client = new RawClient(harness.url);
  await client.initialize();
  return { harness, client };
}

interface State {
  readonly notifications: readonly { readonly method: string; readonly params?: Record<string, unknown> }[];
}

test('a call that a stdio server does not answer in time fails, and the server is told', async () => {
  const { client } = await connect({ callTimeoutMs: 300 });
  const { json } = await client.post(client.tool('hang'));
  assert.equal(json.error?.code, -32603);
  assert.equal(json.error.message, 'target "fixture" did not answer within 300 ms');
  const { notifications } = JSON.parse(await client.call('state')) as State;
  const cancelled = notifications.find(({ method }) => method === 'notifications/cancelled');
  assert.equal(cancelled?.params?.['reason'], 'timeout');
  assert.equal(typeof cancelled.params['requestId'], 'number');
});

for (const [what, target, caller, limits] of [
  ['the tool', { callTimeoutMs: 60_000, toolTimeoutsMs: { hang: 301 } }, 60_000, 60_000],
  ['the target', { callTimeoutMs: 301, toolTimeoutsMs: { echo: 1 } }, 60_000, 60_000],
  ['config.limits', {}, undefined, 301],
] as const)
  test(`the timeout of ${what} overrides less specific ones`, async () => {
    const { client } = await connect(target, {
      caller: () => ({
        principal: undefined,
        ...(caller === undefined ? {} : { callTimeoutMs: caller }),
      }),
      limits: { mcpCallTimeoutMs: limits },
    });
    const { json } = await client.post(client.tool('hang'));
    assert.equal(json.error?.message, 'target "fixture" did not answer within 301 ms');
  });

test('the timeout policy of the route promises 504, and the session goes on', async () => {
  const { client } = await connect({}, { caller: () => ({ principal: undefined, callTimeoutMs: 301 }) });
  const answer = await client.post(client.tool('hang'));
  assert.equal(answer.status, 504);
  assert.equal(answer.json.error?.message, 'request timeout: target "fixture" did not answer within 301 ms');
  assert.equal(await client.call('echo', { text: 'alive' }), 'alive');
  const events = await client.stream(client.tool('progressAndHold', {}, { _meta: { progressToken: 1 } }));
  assert.match(JSON.stringify((await events.rest()).at(-1)), /request timeout/, 'on a stream that has begun');
});

test('a tool named like a member of every object has the time-out of its target', async () => {
  const { client } = await connect({ callTimeoutMs: 30_000, toolTimeoutsMs: { echo: 1 } });
  const { json } = await client.post(client.tool('constructor'));
  assert.match(json.error!.message, /Unknown tool/);
});

test('with a prefix the tool goes by its own name', async () => {
  const harness = await startHarness({
    backend: mcpBackend({
      prefixMode: 'always',
      targets: [stdioTarget({ toolTimeoutsMs: { hang: 301 } })],
    }),
  });
  open.push(harness);
  const client = new RawClient(harness.url);
  await client.initialize();
  const { json } = await client.post(client.tool('fixture_hang'));
  assert.match(json.error!.message, /within 301 ms/);
});

/** Runs out after the time that is given to calls: no sleep, and surely later. */
async function timeOut(client: RawClient): Promise<void> {
  const { json } = await client.post(client.tool('hang'));
  assert.match(json.error!.message, /did not answer within/);
}

test('the clock of a call stands still while its server waits for the client', async () => {
  const { harness, client } = await connect({ callTimeoutMs: 300 });
  // A second session has the clock that runs.
  const other = new RawClient(harness.url);
  await other.initialize();
  const events = await client.stream(client.tool('elicit'));
  const question = await events.next();
  assert.equal(question?.method, 'elicitation/create');
  await timeOut(other);
  await timeOut(other);
  await client.post({ jsonrpc: '2.0', id: question.id, result: { action: 'accept' } });
  assert.match(JSON.stringify(await events.next()), /accept/);
});

test('when the client has answered, the clock goes on', async () => {
  const { client } = await connect({ callTimeoutMs: 300 });
  const hanging = client.post(client.tool('hang'));
  const events = await client.stream(client.tool('elicit'));
  const question = await events.next();
  await client.post({ jsonrpc: '2.0', id: question!.id, result: { action: 'accept' } });
  await events.next();
  assert.match(JSON.stringify(await hanging), /did not answer within 300 ms/);
});

test('a call that waits for a restart has its time-out too', async () => {
  const { client } = await connect(
    { callTimeoutMs: 300 },
    {
      runtime: {
        restart: {
          firstDelayMs: 60_000,
          maxDelayMs: 60_000,
          maxFailures: 5,
          windowMs: 60_000,
          coolDownMs: 60_000,
        },
      },
    },
  );
  assert.match((await client.post(client.tool('crash'))).json.error!.message, /ended with exit code 3/);
  const { json } = await client.post(client.tool('echo', { text: 'x' }));
  assert.match(json.error!.message, /did not answer within 300 ms/);
});

test('the same holds for a server over the network: time-out of a tool, progress, questions', async (t) => {
  const { server, open: connectTo } = await stage(t, {
    callTimeoutMs: 60_000,
    toolTimeoutsMs: { hold: 300 },
  });
  server.tools['hold'] = () => undefined;
  const client = await connectTo();
  const { json } = await client.post(client.tool('hold'));
  assert.equal(json.error?.message, 'target "remote" did not answer within 300 ms');
  await until('the server was told', () => server.of('notifications/cancelled').length === 1);

  // A question of the server: the clock stands still until the client has answered.
  server.tools['hold'] = (x) => {
    x.stream().event({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
    void until('it is answered', () =>
      server.seen.some(({ message }) => message.id === 'q' && message.result !== undefined),
    ).then(() => {
      x.event(x.result('answered'));
      x.end();
    });
  };
  const other = await connectTo();
  const events = await client.stream(client.tool('hold'));
  const question = await events.next();
  server.tools['hold'] = () => undefined;
  await timeOutOf(other, 'hold');
  await timeOutOf(other, 'hold');
  await client.post({ jsonrpc: '2.0', id: question!.id, result: { roots: [] } });
  assert.match(JSON.stringify(await events.next()), /answered/);
});

async function timeOutOf(client: RawClient, tool: string): Promise<void> {
  const { json } = await client.post(client.tool(tool));
  assert.match(json.error!.message, /did not answer within/);
}

test('progress gives a call its whole time again', async (t) => {
  const { server, open: connectTo } = await stage(t, {
    callTimeoutMs: 700,
    toolTimeoutsMs: { slow: 2_000 },
  });
  let step = (): void => undefined;
  let end = (): void => undefined;
  server.tools['slow'] = (x) => {
    const progressToken = (x.seen.message.params?.['_meta'] as { progressToken: number }).progressToken;
    let progress = 0;
    x.stream();
    step = () =>
      x.event({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress: ++progress },
      });
    end = () => {
      x.event(x.result('done'));
      x.end();
    };
    step();
  };
  server.tools['hold'] = () => step();
  const client = await connectTo();
  const events = await client.stream(client.tool('slow', {}, { _meta: { progressToken: 'p' } }));
  const other = await connectTo();
  // Three times 700 ms, with progress at the beginning of each: more than the call has, with time left for a busy machine.
  for (let i = 0; i < 3; i++) await timeOutOf(other, 'hold');
  end();
  assert.match(JSON.stringify(await events.rest()), /done/);
});
