import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger, createMetrics } from '../telemetry/index.ts';
import { MemoryDestination } from '../telemetry/memory.testing.ts';
import { ProcessTree } from './processTree.ts';
import { saying, start } from './processTree.testing.ts';
import { until } from '../until.testing.ts';

test('a worker that hangs is killed and replaced; the other one is left alone', async (t) => {
  const { tree, ask, signal, log } = await start(t, 8_000);
  const other = (await tree.view()).workers[1]?.pid;
  const stopped = await signal(1, 'SIGSTOP');
  await until('the replacement', async () => {
    const [first] = (await tree.view()).workers;
    return first?.state === 'serving' && first.pid !== stopped;
  });
  assert.match(log(), /Worker unresponsive; killed worker=1 /);
  assert.equal((await tree.view()).workers[1]?.pid, other);
  for (let i = 0; i < 8; i++) assert.equal(await ask(), 'old');
});

test('the counts of a hanging worker stay in the sum', async (t) => {
  const { tree, ask, signal } = await start(t, 60_000);
  for (let i = 0; i < 16; i++) await ask();
  const served = /^portcullis_requests_total\{.*route="route".*\} 16$/m;
  assert.match(await tree.expose(), served);
  await signal(1, 'SIGSTOP');
  assert.match(await tree.expose(), served);
  await signal(1, 'SIGKILL');
  await until('the end of it', async () => (await tree.view()).workers[0]?.restarts === 1);
  assert.match(await tree.expose(), served);
});

test('the counts of an ended worker for a route go with the route', async (t) => {
  const { tree, ask, signal } = await start(t, 60_000);
  for (let i = 0; i < 16; i++) await ask();
  assert.match(await tree.expose(), /route="route"/);
  await signal(1, 'SIGKILL');
  await until('the replacement', async () => (await tree.view()).workers[0]?.restarts === 1);
  const { binds, ...rest } = saying('new');
  const renamed = binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) =>
      'routes' in listener
        ? { ...listener, routes: listener.routes.map((route) => ({ ...route, name: 'renamed' })) }
        : listener,
    ),
  }));
  await tree.apply({ ...rest, binds: renamed });
  assert.equal(await ask(), 'new');
  const metrics = await tree.expose();
  assert.match(metrics, /route="renamed"/);
  assert.doesNotMatch(metrics, /route="route"/);
  assert.match(metrics, /^portcullis_downstream_connections_total [1-9]/m);
});

test('a tree that is closed leaves no process behind, also none that hangs', async (t) => {
  const { tree, ask, signal } = await start(t, 60_000);
  const pids = (await tree.view()).workers.map(({ pid }) => pid ?? Number.NaN);
  await signal(1, 'SIGSTOP');
  await tree.close(0);
  for (const pid of pids) assert.throws(() => process.kill(pid, 0), /ESRCH/);
  await assert.rejects(ask());
});

test('a first model that cannot be served is an error that says why, and leaves nothing', async (t) => {
  const { tree } = await start(t, 60_000);
  const taken = tree.ports[0]?.port ?? 0;
  const log = createLogger({ level: 'error', format: 'text', destination: new MemoryDestination() });
  const second = new ProcessTree({
    workers: 2,
    log,
    metrics: createMetrics({ process: false }),
    secrets: { variables: [], values: [] },
  });
  const model = saying('second');
  const binds = model.binds.map((bind) => ({ ...bind, port: taken }));
  await assert.rejects(
    second.apply({ ...model, binds }),
    /port \d+ on 127\.0\.0\.1 cannot be bound: EADDRINUSE/,
  );
  assert.deepEqual(second.ports, []);
  await second.close(0);
  log.close();
});

test('an optional port that is taken stays closed for every worker, and every later model still comes into use', async (t) => {
  const { tree } = await start(t, 60_000);
  const taken = tree.ports[0]?.port ?? 0;
  const log = createLogger({ level: 'error', format: 'text', destination: new MemoryDestination() });
  const second = new ProcessTree({
    workers: 2,
    log,
    metrics: createMetrics({ process: false }),
    secrets: { variables: [], values: [] },
  });
  t.after(async () => {
    await second.close(0);
    log.close();
  });
  const withTaken = (body: string) => {
    const model = saying(body);
    const [bind] = model.binds;
    assert.ok(bind !== undefined);
    return { ...model, binds: [bind, { ...bind, port: taken, optional: true as const }] };
  };
  for (const body of ['first', 'next']) {
    await second.apply(withTaken(body));
    const [open, ...others] = second.ports;
    assert.deepEqual(others, []);
    assert.equal(await (await fetch(`http://127.0.0.1:${open?.port ?? 0}`)).text(), body);
    const { closedPorts } = await second.view();
    assert.deepEqual(
      closedPorts.map(({ port, protocol }) => [port, protocol]),
      [[taken, 'TCP']],
    );
    assert.match(closedPorts[0]?.problem ?? '', /EADDRINUSE/);
  }
});

test('a model that comes while the tree ends opens no port', async (t) => {
  const { tree } = await start(t, 10_000);
  const [bind] = saying('new').binds;
  assert.ok(bind !== undefined);
  const applied = tree.apply({ ...saying('new'), binds: [bind, bind] });
  const closed = tree.close(0);
  await assert.rejects(applied);
  await closed;
  await assert.rejects(tree.apply(saying('last')), /the gateway is shutting down/);
  assert.deepEqual(tree.ports, []);
});
