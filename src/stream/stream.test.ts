/** A controller and its proxies, both ends real, over TLS on loopback. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AddressLists, BackendAddress, HttpListener, Model, Route } from '../model/index.ts';
import { endpointsOf, modelWith, names, routeNamed } from './model.testing.ts';
import { Folder, Proxy, startController, type Controller, type ControllerOptions } from './stage.testing.ts';
import { until } from '../until.testing.ts';
import type { GatewayModels } from './server.ts';
import type { StreamSourceOptions } from './streamSource.ts';

const at = (...hosts: string[]): readonly BackendAddress[] => hosts.map((host) => ({ host, port: 80 }));

const published = (model: Model, gateway = 'ns/gw'): ReadonlyMap<string, GatewayModels> => {
  const routes = model.binds
    .flatMap(({ listeners }) => listeners)
    .flatMap((one) => (one as HttpListener).routes);
  return new Map([[gateway, { model, endpoints: new Set(routes.map(({ name }) => endpointsOf(name))) }]]);
};

const tableOf = (routes: readonly Route[], host = '10.0.0.1'): AddressLists =>
  new Map(routes.map(({ name }) => [endpointsOf(name), at(host)]));

const routesOf = (model: Model | undefined): readonly Route[] =>
  (model?.binds[0]?.listeners[0] as HttpListener | undefined)?.routes ?? [];

const hostOf = (model: Model | undefined, route: string): string | undefined => {
  const [backend] = routesOf(model).find(({ name }) => name === route)?.backends ?? [];
  return backend?.kind === 'http' ? backend.addresses?.map(({ host }) => host).join(',') : undefined;
};

interface Stage {
  readonly folder: Folder;
  readonly controller: Controller;
  proxy(options?: Partial<StreamSourceOptions>, token?: string): Promise<Proxy>;
}

async function stage(t: TestContext, options?: ControllerOptions): Promise<Stage> {
  const folder = new Folder(t);
  const controller = await startController(t, folder, options);
  return {
    folder,
    controller,
    proxy: async (more = {}, token = 'ns.gw.pod') => {
      const tokenFile = folder.write(`token-${token}`, `${token}\n`);
      const proxy = new Proxy(t, {
        controllers: [controller.url],
        caFile: folder.caFile,
        tokenFile,
        ...more,
      });
      await proxy.source.start();
      return proxy;
    },
  };
}

const sentLines = async (controller: Controller): Promise<number> =>
  Number(/stream_lines_sent_total (\d+)/.exec(await controller.exposed())?.[1] ?? 0);

const requests = async (controller: Controller, result: string): Promise<number> =>
  Number(
    new RegExp(`stream_requests_total\\{result="${result}"\\} (\\d+)`).exec(
      await controller.exposed(),
    )?.[1] ?? 0,
  );

test('a proxy gets the model of its Gateway with its addresses, and says that it has taken it', async (t) => {
  const { controller, proxy } = await stage(t);
  const routes = [routeNamed('a'), routeNamed('b')];
  controller.server.publish(published(modelWith(routes)), tableOf(routes));
  const one = await proxy();
  await one.synchronized();
  assert.deepEqual(
    routesOf(one.model).map(({ name }) => name),
    ['a', 'b'],
  );
  assert.equal(hostOf(one.model, 'a'), '10.0.0.1');
  await until('the controller knows', () => controller.server.proxies[0]?.current === true);
  const [view] = controller.server.proxies;
  assert.deepEqual(view, {
    gateway: 'ns/gw',
    proxy: 'pod',
    version: one.source.state.version,
    current: true,
    problems: [],
    broken: [],
    closed: [],
  });
  assert.deepEqual(one.source.state, {
    gateway: 'ns/gw',
    connected: true,
    controller: 'test',
    version: view.version,
    cached: false,
  });
  assert.match(await one.exposed(), /^portcullis_stream_connected 1$/m);
  assert.match(await controller.exposed(), /stream_proxies\{state="current"\} 1/);
});

test('a change of addresses sends that list and nothing else, and no model is taken for it', async (t) => {
  const { controller, proxy } = await stage(t);
  const routes = names(300).map((name) => routeNamed(name));
  controller.server.publish(published(modelWith(routes)), tableOf(routes));
  const one = await proxy();
  await one.synchronized();
  const before = await sentLines(controller);
  controller.server.publishAddresses(
    new Map([...tableOf(routes), [endpointsOf('r7'), at('10.0.0.7', '10.0.0.8')]]),
  );
  await until('the new addresses are there', () => one.lists.length === 1);
  assert.deepEqual(one.lists[0], new Map([[endpointsOf('r7'), at('10.0.0.7', '10.0.0.8')]]));
  assert.equal(hostOf(one.model, 'r7'), '10.0.0.7,10.0.0.8');
  assert.equal(hostOf(one.model, 'r8'), '10.0.0.1');
  assert.equal(await sentLines(controller), before + 1);
  // Addresses that are equal cause no message.
  controller.server.publishAddresses(
    new Map([...tableOf(routes), [endpointsOf('r7'), at('10.0.0.7', '10.0.0.8')]]),
  );
  controller.server.publish(
    published(modelWith(routes)),
    new Map([...tableOf(routes), [endpointsOf('r7'), at('10.0.0.9')]]),
  );
  await until('the last addresses are there', () => one.lists.length === 2);
  assert.equal(await sentLines(controller), before + 2);
});

test('a change of one route sends that route and its parents', async (t) => {
  const { controller, proxy } = await stage(t);
  const routes = names(2_000).map((name) => routeNamed(name));
  controller.server.publish(published(modelWith(routes)), tableOf(routes));
  const one = await proxy();
  await one.synchronized();
  const before = await sentLines(controller);
  const changed = routes.with(1_000, routeNamed('r1000', '/new'));
  controller.server.publish(published(modelWith(changed)), tableOf(routes));
  await until('the change is there', () => routesOf(one.model)[1_000]?.matches[0]?.path.value === '/new');
  assert.ok((await sentLines(controller)) - before <= 4);
  assert.equal(one.lists.length, 0);
});

test('a backend that goes takes its addresses along, one that comes brings them', async (t) => {
  const { controller, proxy } = await stage(t);
  const [a, b] = [routeNamed('a'), routeNamed('b')];
  controller.server.publish(published(modelWith([a])), tableOf([a]));
  const one = await proxy();
  await one.synchronized();
  controller.server.publish(published(modelWith([b])), tableOf([b], '10.0.0.2'));
  await until('b is there', () => hostOf(one.model, 'b') === '10.0.0.2');
  controller.server.publish(published(modelWith([a, b])), tableOf([a, b], '10.0.0.3'));
  await until('both are there', () => hostOf(one.model, 'a') === '10.0.0.3');
  assert.equal(hostOf(one.model, 'b'), '10.0.0.3');
});

test('another controller, which has never heard of the proxy, sends only what differs', async (t) => {
  const { folder, controller, proxy } = await stage(t);
  const other = await startController(t, folder, { controller: 'other' });
  const routes = names(1_000).map((name) => routeNamed(name));
  controller.server.publish(published(modelWith(routes)), tableOf(routes));
  const changed = routes.with(5, routeNamed('r5', '/new'));
  other.server.publish(
    published(modelWith(changed)),
    new Map([...tableOf(routes), [endpointsOf('r6'), at('10.0.0.6')]]),
  );
  const one = await proxy({ controllers: [controller.url, other.url] });
  await one.synchronized();
  const { version } = one.source.state;
  await controller.server.close();
  await until('the other one is asked', () => one.source.state.controller === 'other');
  await one.synchronized();
  assert.notEqual(one.source.state.version, version);
  assert.equal(hostOf(one.model, 'r6'), '10.0.0.6');
  assert.ok((await sentLines(other)) <= 6);
  // It has gone at once, not because it was missed.
  assert.ok(one.lines.some(({ message }) => message === 'Redirected to another controller'));
});

test('a later stream of a pod takes the place of an earlier one', async (t) => {
  const { controller, proxy } = await stage(t);
  controller.server.publish(published(modelWith([])), new Map());
  const patient = { pace: { backoff: { firstMs: 60_000, maxMs: 60_000 } } };
  const first = await proxy(patient);
  await first.synchronized();
  const second = await proxy(patient);
  await second.synchronized();
  await until('the first one is gone', () => !first.source.state.connected);
  await until('the controller knows', () => controller.server.proxies.length === 1);
});

test('a model that is refused is told, the one before stays, and the next one is taken', async (t) => {
  const { controller, proxy } = await stage(t);
  const [a, b, c] = [routeNamed('a'), routeNamed('b'), routeNamed('c')];
  controller.server.publish(published(modelWith([a])), tableOf([a]));
  const one = await proxy();
  await one.synchronized();
  const { version } = one.source.state;
  one.refusal = 'port 80 cannot be bound';
  controller.server.publish(published(modelWith([b])), tableOf([b]));
  await until('the refusal is known', () => controller.server.proxies[0]?.problems.length === 1);
  const [view] = controller.server.proxies;
  assert.deepEqual(view?.problems, ['port 80 cannot be bound']);
  assert.equal(view.current, false);
  assert.equal(view.version, version);
  assert.equal(one.source.state.version, version);
  assert.deepEqual(one.source.problems, ['port 80 cannot be bound']);
  assert.match(await controller.exposed(), /stream_proxies\{state="refused"\} 1/);
  assert.match(await one.exposed(), /stream_updates_total\{what="model",result="refused"\} 1/);
  one.refusal = undefined;
  // Only addresses differ from the refused one: it must be taken whole all the same.
  controller.server.publishAddresses(tableOf([b], '10.0.0.2'));
  await until('the next one is taken', () => hostOf(one.model, 'b') === '10.0.0.2');
  assert.equal(one.lists.length, 0);
  controller.server.publish(published(modelWith([c])), tableOf([c]));
  await until('the next one is taken', () => hostOf(one.model, 'c') === '10.0.0.1');
  assert.deepEqual(one.source.problems, []);
});

test('a rejected model is retried after a while without a change', async (t) => {
  const { controller, proxy } = await stage(t);
  controller.server.publish(published(modelWith([routeNamed('a')])), new Map());
  const one = await proxy({ pace: { retryMs: 20 } });
  one.refusal = 'port 80 cannot be bound';
  await until('it was refused again', async () => /"refused"\} [2-9]/.test(await one.exposed()));
  one.refusal = undefined;
  await until('it is taken', () => one.models.length === 1);
  await one.synchronized();
});

test('changes during a busy proxy arrive as one, the newest', async (t) => {
  const { controller, proxy } = await stage(t);
  const one = await proxy();
  const release = Promise.withResolvers<void>();
  one.hold = release.promise;
  const all = names(50);
  controller.server.publish(published(modelWith([routeNamed('first')])), new Map());
  await until('it is busy', async () => (await sentLines(controller)) > 0);
  for (const name of all) controller.server.publish(published(modelWith([routeNamed(name)])), new Map());
  release.resolve();
  await until('the newest is there', () => routesOf(one.model)[0]?.name === 'r49');
  assert.equal(one.models.length, 2);
});

test('a proxy waits for its Gateway, and keeps the model when the Gateway is deleted', async (t) => {
  const { controller, proxy } = await stage(t);
  controller.server.publish(new Map(), new Map());
  const one = await proxy();
  await until('it knows', () => one.source.problems[0] === 'this Gateway is not there, or is not accepted');
  assert.equal(one.models.length, 0);
  const routes = [routeNamed('a')];
  controller.server.publish(published(modelWith(routes)), tableOf(routes));
  await one.synchronized();
  controller.server.publish(new Map(), new Map());
  await until('it knows', () => one.source.problems.length > 0);
  assert.equal(one.models.length, 1);
  controller.server.publish(published(modelWith(routes)), tableOf(routes));
  await one.synchronized();
  assert.equal(one.models.length, 1);
});

test('a proxy gets nothing of another Gateway, and nothing without a token that is good', async (t) => {
  const { controller, proxy } = await stage(t);
  const routes = [routeNamed('a')];
  controller.server.publish(published(modelWith(routes)), tableOf(routes));
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['ns.other.pod', 'forbidden', /refused with 403: this Gateway is not yours/],
    ['elsewhere.gw.pod', 'unauthenticated', /refused with 401: the token is not good/],
  ];
  for (const [token, result, why] of cases) {
    const one = await proxy({}, token);
    await until('it was refused', () => one.lines.some(({ fields }) => why.test(String(fields['reason']))));
    assert.ok((await requests(controller, result)) > 0);
    assert.equal(one.models.length, 0);
    assert.match(one.source.problems[0] ?? '', why);
    await one.source.close();
  }
  assert.deepEqual(controller.server.proxies, []);
  // The log says who tried, and not with what.
  assert.ok(controller.lines.some(({ message }) => /denied the model/.test(message)));
});

test('a check of a token that the caller abandoned can be repeated later', async (t) => {
  let away = true;
  const { controller, proxy } = await stage(t, { away: () => away });
  const routes = [routeNamed('a')];
  controller.server.publish(published(modelWith(routes)), tableOf(routes));
  const one = await proxy();
  await until('it was put off', async () => (await requests(controller, 'unavailable')) > 1);
  away = false;
  await one.synchronized();
});

test('before everything is known a proxy is asked to come again', async (t) => {
  const { controller, proxy } = await stage(t);
  const one = await proxy();
  await until('it was put off', async () => (await requests(controller, 'unavailable')) > 1);
  controller.server.publish(published(modelWith([])), new Map());
  await one.synchronized();
});

test('a stream ends with its token, and the next one begins with the token that is in the file then', async (t) => {
  const { folder, controller, proxy } = await stage(t, {
    expiresAt: (token) => (token.endsWith('old') ? Date.now() + 50 : undefined),
  });
  controller.server.publish(published(modelWith([])), new Map());
  const tokenFile = folder.write('rotating', 'ns.gw.old');
  const one = await proxy({ tokenFile });
  await one.synchronized();
  folder.write('rotating', 'ns.gw.new');
  await until('the new one is used', () => controller.server.proxies[0]?.proxy === 'new');
  await one.synchronized();
  assert.equal(one.models.length, 1);
});

test('a proxy rejects a controller with an untrusted certificate, or one for another name', async (t) => {
  const { folder, controller, proxy } = await stage(t);
  controller.server.publish(published(modelWith([])), new Map());
  const stranger = new Folder(t);
  const one = await proxy({ caFile: stranger.caFile });
  await until('it was not believed', () => /certificate|self-signed/.test(one.source.problems[0] ?? ''));
  // The right authority comes later: the file is read for each connection.
  stranger.write('ca.crt', folder.ca.cert);
  await one.synchronized();
  const other = await proxy({ serverName: 'controller.ns.svc' }, 'ns.gw.second');
  await until('it was not believed', () => /altnames|does not match/.test(other.source.problems[0] ?? ''));
  controller.server.useCertificate(folder.ca.issue({ names: ['controller.ns.svc'] }));
  await other.synchronized();
  assert.equal(controller.server.proxies.length, 2);
});

test('a part that no line can carry is not sent, and everybody is told why', async (t) => {
  const { controller, proxy } = await stage(t);
  const small = modelWith([routeNamed('a')]);
  controller.server.publish(published(small), new Map());
  const one = await proxy();
  await one.synchronized();
  const huge = modelWith([{ ...routeNamed('a'), hostnames: ['x'.repeat(9 << 20)] }]);
  controller.server.publish(published(huge), new Map());
  await until('it is known', () => /larger than/.test(one.source.problems[0] ?? ''));
  assert.ok(controller.lines.some(({ message }) => message === 'Model could not be sent'));
  assert.equal(one.models.length, 1);
  controller.server.publish(published(small), new Map());
  await one.synchronized();
});

test('several proxies of several Gateways each get their own', async (t) => {
  const { controller, proxy } = await stage(t);
  const models = new Map([
    ...published(modelWith([routeNamed('a')])),
    ...published(modelWith([routeNamed('b')]), 'ns/other'),
  ]);
  controller.server.publish(models, new Map());
  const all = await Promise.all([
    proxy({}, 'ns.gw.1'),
    proxy({}, 'ns.gw.2'),
    proxy({ gateway: 'ns/other' }, 'ns.other.3'),
  ]);
  for (const one of all) await one.synchronized();
  assert.deepEqual(
    all.map(({ model }) => routesOf(model)[0]?.name),
    ['a', 'a', 'b'],
  );
  assert.equal(controller.server.proxies.length, 3);
});
