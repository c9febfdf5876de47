import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startGateway } from './gateway.testing.ts';
import { startHolder } from './holder.testing.ts';
import { startLoad } from './load.testing.ts';
import { answerOf, openSession } from './session.testing.ts';
import { inline, rogueBeside } from './stage.testing.ts';
import { portClosed } from './conditions.testing.ts';
import { until } from '../../src/until.testing.ts';

const configuration = (port: number, deadline: string): string =>
  rogueBeside(port, { connectionTerminationDeadline: deadline });

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`${signal} under load finishes running requests, accepts no new ones, and exits with 0`, async () => {
    await using holder = await startHolder();
    await using gateway = await startGateway(configuration(holder.port, '60s'));
    const load = startLoad(`${gateway.url}/`, 4, (status, body) => status === 200 && body === 'at once');
    const waiting = fetch(`${gateway.url}/held`);
    await until('the held request', () => holder.held.length === 1);
    await until('the load', () => load.served > 50);
    // Also a connection that is open and idle.
    const idle = connect(gateway.ports[0] ?? 0, '127.0.0.1').on('error', () => undefined);

    gateway.signal(signal);
    await portClosed(gateway.ports[0]);
    const probe = await fetch(`${gateway.readiness}/healthz/ready`);
    assert.equal(probe.status, 503, 'who drains is not ready');
    assert.match(await probe.text(), /draining/);
    await load.stop();
    // The load learns of the end between two requests: by a refused or reset connection, never by a broken answer.
    for (const failure of load.failures) assert.match(failure, /ECONNREFUSED|ECONNRESET|socket hang up/);

    holder.release();
    const answer = await waiting;
    assert.equal(await answer.text(), 'at last');
    assert.equal(answer.headers.get('connection'), 'close');
    assert.deepEqual(await gateway.ended, { code: 0, signal: null }, gateway.log());
    idle.destroy();
  });

test('requests beyond the deadline are cut, and the exit code is still 0', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(configuration(holder.port, '200ms'));
  const waiting = assert.rejects(fetch(`${gateway.url}/held`));
  await until('the held request', () => holder.held.length === 1);
  gateway.signal('SIGTERM');
  assert.deepEqual(await gateway.ended, { code: 0, signal: null });
  await waiting;
});

test('a second signal ends at once, children too', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(configuration(holder.port, '1h'));
  const session = await openSession(`${gateway.url}/mcp`);
  await session.call('grandchild');
  const waiting = assert.rejects(fetch(`${gateway.url}/held`));
  await until('the held request', () => holder.held.length === 1);
  // Two signals in quick succession are one order: a terminal and a launcher both send it.
  gateway.signal('SIGTERM');
  gateway.signal('SIGTERM');
  await portClosed(gateway.ports[0]);
  const drainingSince = Date.now();
  await until('the time in which signals are one order to be over', () => Date.now() - drainingSince > 400);
  gateway.signal('SIGTERM');
  assert.equal((await gateway.ended).code, 0);
  assert.deepEqual(gateway.children(), []);
  await waiting;
});

test('sessions with living children, and theirs, leave no process behind', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(configuration(holder.port, '1s'));
  const sessions = await Promise.all(Array.from({ length: 3 }, () => openSession(`${gateway.url}/mcp`)));
  await Promise.all(sessions.map((session) => session.call('grandchild')));
  await until('all of them', () => gateway.children().length === 6);
  const hanging = Promise.allSettled(sessions.map((session) => session.call('hang')));
  await gateway.stop();
  await hanging;
});

test('npx and the server below it do not outlive the gateway', async () => {
  await using gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - backends: [{ mcp: { targets: [{ name: everything, stdio: { cmd: npx, args: ['@modelcontextprotocol/server-everything'] } }] } }]
`);
  await openSession(gateway.url);
  assert.ok(gateway.children().length >= 2, inline(gateway.children()));
  await gateway.stop();
});

test('a gateway that is killed takes its children along: their input ends', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(configuration(holder.port, '1s'));
  const session = await openSession(`${gateway.url}/mcp`);
  await session.call('echo', { text: 'alive' });
  assert.equal(gateway.children().length, 1);
  gateway.signal('SIGKILL');
  await gateway.ended;
  await until('the end of the child', () => gateway.children().length === 0);
});

test('POST /quitquitquit drains like a signal', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(configuration(holder.port, '60s'));
  const waiting = fetch(`${gateway.url}/held`);
  await until('the held request', () => holder.held.length === 1);
  const asked = await gateway.change('/quitquitquit');
  assert.equal(asked.status, 202);
  await portClosed(gateway.ports[0]);
  holder.release();
  assert.equal(await (await waiting).text(), 'at last');
  assert.deepEqual(await gateway.ended, { code: 0, signal: null });
});

test('an open event stream of a session does not hold the end up', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(configuration(holder.port, '1h'));
  const session = await openSession(`${gateway.url}/mcp`);
  const stream = await session.send('GET');
  assert.equal(stream.status, 200);
  gateway.signal('SIGTERM');
  assert.deepEqual(await gateway.ended, { code: 0, signal: null });
  await stream.text().catch(() => undefined);
});

test('a call that runs when the order comes is still answered', async () => {
  await using holder = await startHolder();
  await using gateway = await startGateway(configuration(holder.port, '1h'));
  const session = await openSession(`${gateway.url}/mcp`);
  const response = await session.send('POST', {
    id: 7,
    method: 'tools/call',
    params: { name: 'progress', arguments: { steps: 20_000 }, _meta: { progressToken: 1 } },
  });
  // An answer that is not read holds the call up, so it has not ended.
  const told = response.body?.getReader() ?? assert.fail('no body');
  const decoder = new TextDecoder();
  let heard = '';
  const hear = async (): Promise<boolean> => {
    const { done, value } = await told.read();
    heard += decoder.decode(value, { stream: !done });
    return !done;
  };
  while (!heard.includes('notifications/progress')) assert.ok(await hear(), heard);
  gateway.signal('SIGTERM');
  while (await hear());
  const answer = answerOf(heard);
  assert.deepEqual(answer.result?.['content'], [{ type: 'text', text: 'done' }]);
  assert.deepEqual(await gateway.ended, { code: 0, signal: null });
});
