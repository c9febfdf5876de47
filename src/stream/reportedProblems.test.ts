import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modelWith, routeNamed } from './model.testing.ts';
import { Folder, Proxy, startController } from './stage.testing.ts';
import { until } from '../until.testing.ts';
import { ReportedProblems } from './reportedProblems.ts';

const published = (name: string) =>
  new Map([['ns/gw', { model: modelWith([routeNamed(name)]), endpoints: new Set<string>() }]]);

const told = { refused: ['port 80 cannot be bound'], broken: [], closed: [] };

test('problems that a proxy reports are known until it reports success', async (t) => {
  const folder = new Folder(t);
  let changes = 0;
  const { server, url } = await startController(t, folder, { onTroubles: () => changes++ });
  server.publish(published('a'), new Map());
  const tokenFile = folder.write('token', 'ns.gw.pod');
  const proxy = new Proxy(t, { controllers: [url], caFile: folder.caFile, tokenFile });
  proxy.refusal = 'port 80 cannot be bound';
  await proxy.source.start();
  await until('the refusal is known', () => changes === 1);
  assert.deepEqual(server.troubles.get('ns/gw'), [{ proxy: 'pod', ...told }]);

  proxy.refusal = undefined;
  proxy.broken = [{ route: 'b', problem: 'unknown name jwtt' }];
  server.publish(published('b'), new Map());
  await until('it is taken', () => changes === 2);
  assert.deepEqual(server.troubles.get('ns/gw'), [
    { proxy: 'pod', refused: [], broken: proxy.broken, closed: [] },
  ]);
  assert.deepEqual(server.proxies[0]?.broken, proxy.broken);

  // The same again is nothing new.
  server.publish(published('c'), new Map());
  await until('it is taken', () => proxy.models.length === 2);
  await until('it is known', () => server.proxies[0]?.current === true);
  assert.equal(changes, 2);

  proxy.broken = [];
  server.publish(published('d'), new Map());
  await until('all is well', () => changes === 3);
  assert.equal(server.troubles.size, 0);
});

test('a proxy in trouble is sent on by a controller that does not write statuses, and stays at one that does', async (t) => {
  const folder = new Folder(t);
  let leads = false;
  const first = await startController(t, folder, {
    wantsTroublesElsewhere: () => !leads,
    pace: { sendOnMs: 10 },
  });
  const second = await startController(t, folder, { pace: { sendOnMs: 10 } });
  for (const { server } of [first, second]) server.publish(published('a'), new Map());
  const proxy = new Proxy(t, {
    controllers: [first.url, second.url],
    caFile: folder.caFile,
    tokenFile: folder.write('token', 'ns.gw.pod'),
  });
  proxy.refusal = 'port 80 cannot be bound';
  await proxy.source.start();
  await until('the second one knows', () => second.server.troubles.size === 1);
  await until('the first one is left', () => first.server.proxies.length === 0);

  // A proxy without problems stays wherever it is.
  leads = true;
  proxy.refusal = undefined;
  second.server.publish(published('b'), new Map());
  await proxy.synchronized();
  // The proxy has it before its controller has been told so.
  await until('the second one knows', () => second.server.troubles.size === 0);
  assert.equal(second.server.proxies.length, 1);
});

test('a proxy that left in trouble is remembered for a while, so that one that comes again changes nothing', async () => {
  let changes = 0;
  const troubles = new ReportedProblems({ onChange: () => changes++, keepMs: 20 });
  const answer = { version: 'v', result: 'refused', problems: told.refused } as const;
  assert.equal(troubles.note('ns/gw', 'pod', answer), true);
  troubles.left('ns/gw', 'pod');
  assert.equal(troubles.note('ns/gw', 'pod', answer), true);
  assert.equal(changes, 1);
  assert.deepEqual(troubles.ofGateways.get('ns/gw'), [{ proxy: 'pod', ...told }]);
  troubles.left('ns/gw', 'pod');
  await until('it is forgotten', () => changes === 2);
  assert.equal(troubles.ofGateways.size, 0);
  // A proxy that never had problems is ignored.
  troubles.left('ns/gw', 'other');
  assert.equal(
    troubles.note('ns/gw', 'other', { version: 'v', result: 'taken', broken: [], closed: [] }),
    false,
  );
  assert.equal(changes, 2);
});

test('a port that a proxy could not bind is known, and the model is tried again until the port is free', async (t) => {
  const folder = new Folder(t);
  let changes = 0;
  const { server, url } = await startController(t, folder, { onTroubles: () => changes++ });
  server.publish(published('a'), new Map());
  const proxy = new Proxy(t, {
    controllers: [url],
    caFile: folder.caFile,
    tokenFile: folder.write('token', 'ns.gw.pod'),
    pace: { retryMs: 5 },
  });
  proxy.closed = [{ port: 15020, protocol: 'TCP', problem: 'port 15020 cannot be bound: EADDRINUSE' }];
  await proxy.source.start();
  await until('the closed port is known', () => changes === 1);
  assert.deepEqual(server.troubles.get('ns/gw'), [
    { proxy: 'pod', refused: [], broken: [], closed: proxy.closed },
  ]);
  // The model itself is in use. The source may be between two streams, as each try is a stream of its own.
  assert.ok(proxy.models.length > 0);

  proxy.closed = [];
  await until('all is well', () => changes === 2);
  assert.equal(server.troubles.size, 0);
  assert.ok(proxy.models.length > 1);
});
