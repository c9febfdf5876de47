/** Sessions of one user, whose server is a child with scope: user. */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { until } from '../../../until.testing.ts';
import { mcpBackend, startHarness, stdioTarget } from '../../harness.testing.ts';
import { modernTarget } from '../../modernServer.testing.ts';
import { RawClient, type Events } from '../../rawClient.testing.ts';
import { RawModernClient } from '../../rawModernClient.testing.ts';

const own = stdioTarget({ name: 'own', scope: 'user' });

test('a value of the caller that a cut line of stderr begins with is not in the log', async (t) => {
  const token = `S3CR3T-${'abcdefghij'.repeat(19)}`;
  const harness = await startHarness({
    backend: mcpBackend({
      targets: [{ ...own, injected: { TOKEN: { kind: 'header', header: 'x-token' } } }],
    }),
    caller: () => ({ principal: 'ada', environment: () => ({ values: { TOKEN: token }, digest: 'one' }) }),
  });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  await client.call('stderr', { line: `${'x'.repeat(400)}${token}${'y'.repeat(5_000)}` });
  const line = await until('the line is logged', () =>
    harness.log.find(({ message }) => message === 'stderr'),
  );
  assert.deepEqual(line.fields?.['line'], `${'x'.repeat(400)}[TOKEN]… (5597 bytes)`);
});

test('after a reload, all sessions of a user go on with the child of the newest session', async (t) => {
  const harness = await startHarness({ caller: () => ({ principal: 'ada' }) });
  t.after(() => harness.close());
  const open = async (args: readonly string[]): Promise<RawClient> => {
    harness.use(mcpBackend({ key: 'reloaded', targets: [{ ...own, args: [...own.args, ...args] }] }));
    const client = new RawClient(harness.url);
    await client.initialize();
    return client;
  };
  const older = await open([]);
  const idle = await open([]);
  const former = await older.call('pid');
  assert.equal(await idle.call('pid'), former);
  const newer = await open(['normal', 'changed']);
  const pid = await newer.call('pid');
  assert.notEqual(pid, former);
  await until('the former child has ended', () => harness.runtime.view().children === 1);
  const pids = [
    await older.call('pid'),
    await newer.call('pid'),
    await older.call('pid'),
    await idle.call('pid'),
  ];
  assert.deepEqual(pids, [pid, pid, pid, pid]);
  assert.equal(harness.runtime.view().children, 1);
});

test('a call in progress ends with the child that was replaced by a reload', async (t) => {
  const harness = await startHarness({ caller: () => ({ principal: 'ada' }) });
  t.after(() => harness.close());
  const open = async (target = own): Promise<RawClient> => {
    harness.use(mcpBackend({ key: 'reloaded', targets: [target] }));
    const client = new RawClient(harness.url);
    await client.initialize();
    return client;
  };
  const older = await open();
  const beside = await open();
  const former = Number(await older.call('pid'));
  const held = older.call('hold');
  await until('the call is in flight', () =>
    harness.runtime.view().sessions.some(({ targets }) => targets[0]?.pending === 1),
  );
  const newer = await open({ ...own, env: { CHANGED: 'yes' } });
  assert.equal(await beside.call('environment', { name: 'CHANGED' }), 'yes');
  assert.equal(await older.call('pid'), await newer.call('pid'));
  assert.equal(harness.runtime.view().children, 2);
  process.kill(former, 'SIGKILL');
  await assert.rejects(held);
  harness.runtime.tick();
  await until('the former child has ended', () => harness.runtime.view().children === 1);
});

test('a client gets its own revision, and no offer of subscriptions, from the program of its user', async (t) => {
  const harness = await startHarness({
    backend: mcpBackend({ targets: [own] }),
    caller: () => ({ principal: 'ada' }),
  });
  t.after(() => harness.close());
  for (const version of ['2025-11-25', '2025-06-18', '2024-11-05']) {
    const { json } = await new RawClient(harness.url).initialize(version);
    const { protocolVersion, capabilities } = json.result as {
      protocolVersion: string;
      capabilities: { resources: { subscribe?: boolean } };
    };
    assert.deepEqual([protocolVersion, capabilities.resources.subscribe], [version, false]);
  }
});

for (const scope of ['user', 'shared'] as const)
  test(`a call in progress ends with its session, although the child goes on (scope: ${scope})`, async (t) => {
    const harness = await startHarness({
      backend: mcpBackend({ targets: [{ ...own, scope }] }),
      caller: () => ({ principal: 'ada' }),
    });
    t.after(() => harness.close());
    const [ending, other] = [new RawClient(harness.url), new RawClient(harness.url)];
    for (const client of [ending, other]) await client.initialize();
    const pid = await other.call('pid');
    const held = ending.post(ending.tool('hold'));
    await until('the call is in flight', () =>
      harness.runtime.view().sessions.some(({ targets }) => targets[0]?.pending === 1),
    );
    assert.equal(await ending.delete(), 204);
    const { json } = await held;
    assert.match(json.error?.message ?? '', /target "own" has been stopped/);
    assert.equal(await other.call('pid'), pid);
  });

/** A POST on a connection that is not read until it resumes. */
function unreadPost(t: TestContext, client: RawClient, url: URL, body: object): Socket {
  const text = JSON.stringify(body);
  const headers = { ...client.headers({ host: url.host, 'content-length': String(text.length) }) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(Number(url.port), url.hostname);
  t.after(() => socket.destroy());
  socket.pause();
  socket.write(`POST ${url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
  return socket;
}

test('a client that does not read misses progress of a shared child, and gets the response and the news', async (t) => {
  const harness = await startHarness({
    backend: mcpBackend({ targets: [own] }),
    caller: () => ({ principal: 'ada' }),
  });
  t.after(() => harness.close());
  const [slow, other] = [new RawClient(harness.url), new RawClient(harness.url)];
  for (const client of [slow, other]) await client.initialize();
  const news = await slow.get();
  t.after(() => news.cancel());
  const flood = slow.tool('flood', { messages: 60, bytes: 1_000_000 }, { _meta: { progressToken: 1 } });
  const socket = unreadPost(t, slow, harness.url, flood);
  await until('the client is too slow', () => harness.runtime.view().sessions.some(({ pressed }) => pressed));
  await other.call('changed');
  await until('the child has said all', () =>
    harness.runtime.view().sessions.every(({ targets }) => targets[0]?.pending === 0),
  );
  let text = '';
  socket.on('data', (bytes) => (text += bytes.toString('latin1')));
  socket.resume();
  await until('the response is there', () => text.includes('flooded'));
  const progress = text.split('notifications/progress').length - 1;
  assert.ok(progress > 0 && progress < 45, `${progress} messages about progress`);
  assert.equal((await news.next())?.method, 'notifications/tools/list_changed');
});

test('each session of a user hears its own streams of a child of 2026-07-28, also after the child has died', async (t) => {
  const harness = await startHarness({
    backend: mcpBackend({ targets: [modernTarget('modern', { scope: 'user' })] }),
    caller: () => ({ principal: 'ada' }),
  });
  t.after(() => harness.close());
  const modern = new RawModernClient(harness.url);
  const filter = { toolsListChanged: true, resourceSubscriptions: ['test://a'] };
  const { events, honoured } = await modern.listen(filter);
  t.after(() => events.cancel());
  assert.deepEqual(honoured, filter);
  const legacy = new RawClient(harness.url);
  await legacy.initialize();
  const news = await legacy.get();
  t.after(() => news.cancel());
  for (const uri of ['test://a', 'test://item/1'])
    assert.deepEqual((await legacy.post(legacy.request('resources/subscribe', { uri }))).json.result, {});
  const heard = async (stream: Events): Promise<string> => {
    const { method, params } = (await stream.next())!;
    return String(params?.['uri'] ?? method);
  };
  await legacy.call('touch', { uri: 'test://item/1' });
  await legacy.call('touch', { uri: 'test://a' });
  assert.deepEqual([await heard(news), await heard(news)], ['test://item/1', 'test://a']);
  assert.equal(await heard(events), 'test://a');
  await legacy.post(legacy.tool('crash'));
  await legacy.call('pid');
  // The news is for the time in which nobody listened.
  for (const stream of [news, events]) for (let uri = ''; uri !== 'test://a';) uri = await heard(stream);
});
