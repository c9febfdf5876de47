/** Addresses of backends that change without the model: nothing else of the data plane may notice. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import type { BackendAddress } from '../../model/index.ts';
import type { Target } from '../../upstream/index.ts';
import { startApps, type App } from '../apps.testing.ts';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { place } from '../rawServer.testing.ts';
import { until } from '../../until.testing.ts';
import { get, status } from '../wire.testing.ts';

const addressesOf = (apps: readonly App[]): BackendAddress[] =>
  apps.map(({ host, port }) => ({ host, port }));

const modelOf = (apps: readonly App[], more: Partial<Target> = {}): ModelInShort => ({
  routes: [
    {
      name: 'app',
      targets: [{ host: 'app', port: 80, endpoints: 'ns/app:80/TCP', addresses: addressesOf(apps), ...more }],
    },
  ],
});

async function start(t: TestContext, model: ModelInShort): Promise<TestPlane> {
  const plane = await TestPlane.start(model);
  t.after(() => plane.close());
  return plane;
}

const endpoints = (plane: TestPlane) => [...plane.plane.endpoints.all()];

test('an address that comes is used, one that goes is left, and connections to those that stay are kept', async (t) => {
  const [first, second] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  let accepted = 0;
  first.server.on('connection', () => accepted++);
  const plane = await start(t, modelOf([first]));
  const client = await plane.client();
  assert.equal((await client.ask(get())).body.toString(), '127.0.0.1');
  const [kept] = endpoints(plane);

  plane.plane.useAddresses(new Map([['ns/app:80/TCP', addressesOf([first, second])]]));
  assert.equal(endpoints(plane).length, 2);
  assert.equal(endpoints(plane)[0], kept);
  for (let i = 0; i < 20 && second.requests === 0; i++) await client.ask(get());
  assert.ok(second.requests > 0);
  assert.equal(accepted, 1);

  plane.plane.useAddresses(new Map([['ns/app:80/TCP', addressesOf([second])]]));
  const before = first.requests;
  for (let i = 0; i < 5; i++) assert.equal((await client.ask(get())).body.toString(), '127.0.0.2');
  assert.equal(first.requests, before);

  plane.plane.useAddresses(new Map([['ns/app:80/TCP', []]]));
  assert.equal(status(await client.ask(get())), 503);
  plane.plane.useAddresses(new Map([['ns/app:80/TCP', addressesOf([first])]]));
  assert.equal((await client.ask(get())).body.toString(), '127.0.0.1');
});

test('a request on an address that goes ends there in peace', async (t) => {
  const [first, second] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  let finish = (): void => {};
  first.behave = (_request, response) => (finish = () => void response.end('late'));
  const plane = await start(t, modelOf([first]));
  const client = await plane.client();
  const answer = client.ask(get());
  await until('the app has it', () => first.busy === 1);
  plane.plane.useAddresses(new Map([['ns/app:80/TCP', addressesOf([second])]]));
  finish();
  assert.equal((await answer).body.toString(), 'late');
  assert.equal((await client.ask(get())).body.toString(), '127.0.0.2');
});

test('the health of an address survives changes of other addresses', async (t) => {
  const [bad, good] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  bad.behave = (_request, response) => void response.writeHead(503).end();
  const eviction = { consecutiveFailures: 1, durationMs: 60_000, maxEjectedPercent: 100 };
  const plane = await start(t, modelOf([bad, good], { eviction }));
  const client = await plane.client();
  while (bad.requests === 0) await client.ask(get());
  plane.plane.useAddresses(
    new Map([['ns/app:80/TCP', [...addressesOf([bad, good]), { host: '127.0.0.2', port: good.port }]]]),
  );
  for (let i = 0; i < 20; i++) assert.equal(status(await client.ask(get())), 200);
  assert.equal(bad.requests, 1);
});

test('the next model with the same addresses finds everything as it is', async (t) => {
  const [first, second] = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const plane = await start(t, modelOf([first]));
  plane.plane.useAddresses(new Map([['ns/app:80/TCP', addressesOf([second])]]));
  const before = endpoints(plane);
  await plane.apply(modelOf([second]));
  assert.deepEqual(endpoints(plane), before);
  assert.equal([...plane.plane.endpoints.destinations()].length, 1);
  // A model that does not come into use changes no addresses either.
  const prepared = await plane.prepare(modelOf([first]));
  prepared.abort();
  assert.equal((await plane.ask(get())).body.toString(), '127.0.0.2');
});

test('lists that no backend names change nothing', async (t) => {
  const [first] = (await startApps(t, '127.0.0.1')) as [App];
  const plane = await start(t, modelOf([first]));
  plane.plane.useAddresses(new Map([['ns/other:80/TCP', []]]));
  assert.equal(status(await plane.ask(get())), 200);
});

test('datagrams go to the new address, those of known clients, too, when theirs is gone', async (t) => {
  const servers = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const socket = createSocket('udp4');
      socket.on('message', (_bytes, from) => socket.send(name, from.port, from.address));
      socket.bind(0, '127.0.0.1');
      await once(socket, 'listening');
      t.after(() => socket.close());
      return { host: '127.0.0.1', port: socket.address().port };
    }),
  );
  const [one, two] = servers as [BackendAddress, BackendAddress];
  const key = 'ns/dns:53/UDP';
  const backend = {
    kind: 'udp' as const,
    weight: 1,
    key: 'dns',
    place,
    host: 'dns',
    port: 53,
    endpoints: key,
    addresses: [one],
  };
  const plane = await start(t, {
    binds: [
      {
        port: 0,
        listeners: [{ name: 'dns', protocol: 'UDP', udpRoutes: [{ name: 'r', backends: [backend], place }] }],
      },
    ],
  });
  const client = createSocket('udp4');
  t.after(() => client.close());
  client.connect(plane.port, '127.0.0.1');
  await once(client, 'connect');
  const ask = async (): Promise<string> => {
    const answer = once(client, 'message') as Promise<[Buffer]>;
    client.send('?');
    return (await answer)[0].toString();
  };
  assert.equal(await ask(), 'one');
  plane.plane.useAddresses(new Map([[key, [two]]]));
  assert.equal(await ask(), 'two');
});
