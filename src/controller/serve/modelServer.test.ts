/** The controller's end, with an API server that is a small one of our own. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { modelWith, routeNamed } from '../../stream/model.testing.ts';
import { Folder, Proxy } from '../../stream/stage.testing.ts';
import { until } from '../../until.testing.ts';
import { mcpAccountName } from '../translate/index.ts';
import { startKubeServer, tokenFor, type KubeServer } from './kubeServer.testing.ts';
import { ModelServer, type ModelServerOptions } from './modelServer.ts';
import { ServiceAddress } from './serviceAddress.ts';

const audience = 'portcullis.dev/controller';
const serverName = 'portcullis-controller.ns.svc';

interface Stage {
  readonly server: ModelServer;
  readonly trusts: (string | undefined)[];
  readonly lines: ReturnType<typeof memoryLog>['lines'];
}

async function start(
  t: TestContext,
  kube: KubeServer,
  more: Partial<ModelServerOptions> = {},
): Promise<Stage> {
  const { log, lines } = memoryLog();
  const trusts: (string | undefined)[] = [];
  const server: ModelServer = await ModelServer.start({
    api: kube.api,
    host: '127.0.0.1',
    port: 0,
    controller: 'test',
    controllerName: 'portcullis.dev/gateway',
    namespace: 'ns',
    secretName: 'portcullis-controller',
    sessionsSecretName: 'portcullis-sessions',
    onSessionKeys: () => undefined,
    names: [serverName],
    mayWrite: () => true,
    onTroubles: () => undefined,
    onTrust: () => void trusts.push(server.trust),
    log,
    metrics: kube.metrics,
    intervalMs: 5,
    retryMs: 2,
    ...more,
  });
  t.after(async () => await server.close(0));
  return { server, trusts, lines };
}

/** A proxy with the token of an account. */
async function proxyOf(
  t: TestContext,
  folder: Folder,
  { server }: Stage,
  kube: KubeServer,
  account: string,
  gateway: string,
): Promise<Proxy> {
  const token = tokenFor(audience, 3_600, `${account} ${gateway}`);
  kube.tokens.set(token, { account: `system:serviceaccount:${account}`, audience, pod: account });
  const proxy = new Proxy(t, {
    controllers: [new URL(`https://127.0.0.1:${String(server.port)}`)],
    gateway,
    serverName,
    caFile: folder.write(`ca-${account.replace(':', '-')}`, server.trust ?? ''),
    tokenFile: folder.write(`token-${account.replace(':', '-')}`, token),
  });
  await proxy.source.start();
  return proxy;
}

const model = { model: modelWith([routeNamed('a')]), endpoints: new Set<string>() };

test('the account that is made for the proxies of a Gateway reads its model, and no other account does', async (t) => {
  const kube = await startKubeServer(t);
  const stage = await start(t, kube);
  await stage.server.ready;
  const long = `a.gateway.with.dots.${'x'.repeat(50)}`;
  stage.server.publish({
    models: new Map([
      ['ns/gw', model],
      [`ns/${long}`, model],
    ]),
    pods: new Map(),
    endpoints: new Map(),
  });
  const folder = new Folder(t);
  const own = await proxyOf(t, folder, stage, kube, 'ns:gw', 'ns/gw');
  await own.synchronized();
  const others: readonly (readonly [string, string])[] = [
    ['ns:default', 'ns/gw'],
    ['other:gw', 'ns/gw'],
    ['ns:gw2', 'ns/gw'],
    // Names that no ServiceAccount can have go by another one, which is not the Gateway's own.
    [`ns:${long}`, `ns/${long}`],
  ];
  for (const [account, gateway] of others) {
    const proxy = await proxyOf(t, folder, stage, kube, account, gateway);
    await until(`${account} was refused`, () => /refused with 403/.test(proxy.source.problems[0] ?? ''));
    assert.deepEqual(proxy.models, []);
    await proxy.source.close();
  }
  assert.deepEqual(
    stage.server.proxies.map(({ proxy }) => proxy),
    ['ns:gw/uid-ns:gw'],
  );
});

test('the pod of a target reads its own model, and no Gateway has an account of its name', async (t) => {
  const kube = await startKubeServer(t);
  const stage = await start(t, kube);
  await stage.server.ready;
  const own = mcpAccountName('portcullis.dev/gateway', 'tools', 'a');
  const object = { metadata: { name: 'tools', namespace: 'ns' } };
  stage.server.publish({
    // The account is named as the pod is, the dot aside.
    models: new Map([
      ['ns/gw', model],
      [`ns/${own}`, model],
    ]),
    pods: new Map([
      ['ns/tools/a', { object, target: 'a', gateways: [], model }],
      ['ns/tools/b', { object, target: 'b', gateways: [], model }],
      ['ns/other/a', { object, target: 'a', gateways: [], model }],
      ['ns/lacking/a', { object, target: 'a', gateways: [], model: undefined }],
    ]),
    endpoints: new Map(),
  });
  const folder = new Folder(t);
  const pod = await proxyOf(t, folder, stage, kube, `ns:${own}`, 'ns/mcp_tools_a');
  await pod.synchronized();
  const foreign: readonly (readonly [string, string])[] = [
    [own, 'ns/mcp_other_a'],
    [own, 'ns/mcp_tools_b'],
    [own, 'ns/mcp_tools'],
    [own, 'ns/gw'],
    [own, `ns/${own}`],
    ['gw', 'ns/mcp_tools_a'],
    ['tools', 'ns/mcp_tools_a'],
    // The account of a controller with another name.
    [mcpAccountName('example.com/gateway', 'tools', 'a'), 'ns/mcp_tools_a'],
  ];
  for (const [account, what] of foreign) {
    const proxy = await proxyOf(t, folder, stage, kube, `ns:${account}`, what);
    await until(`${account} was refused`, () => /refused with 403/.test(proxy.source.problems[0] ?? ''));
    assert.deepEqual(proxy.models, []);
    await proxy.source.close();
  }
  await pod.source.close();
});

test('each pod has its own credential, derived from the seed', async (t) => {
  const kube = await startKubeServer(t);
  let told = false;
  const stage = await start(t, kube, { onSessionKeys: () => (told = true) });
  await until('the keys are known', () => told);
  const key = stage.server.podKeyOf('ns/tools/a');
  assert.match(key ?? '', /^[0-9a-f]{64}$/);
  assert.equal(stage.server.podKeyOf('ns/tools/a'), key);
  for (const other of ['ns/tools/b', 'ns/other/a']) assert.notEqual(stage.server.podKeyOf(other), key);
});

test('the proxies of a Gateway have a session key in common, whichever controller they ask, and no other has it', async (t) => {
  const kube = await startKubeServer(t);
  const folder = new Folder(t);
  const keyOf = async (gateway: string): Promise<string | undefined> => {
    let told = false;
    const stage = await start(t, kube, { onSessionKeys: () => (told = true) });
    await stage.server.ready;
    await until('the keys are known', () => told);
    stage.server.publish({
      models: new Map([
        ['ns/gw', model],
        ['ns/other', model],
      ]),
      pods: new Map(),
      endpoints: new Map(),
    });
    const proxy = await proxyOf(t, folder, stage, kube, gateway.replace('/', ':'), gateway);
    await proxy.synchronized();
    return proxy.models.at(-1)?.process.fixed.sessionKey;
  };
  const key = await keyOf('ns/gw');
  assert.match(key ?? '', /^[0-9a-f]{64}$/);
  assert.equal(await keyOf('ns/gw'), key);
  assert.notEqual(await keyOf('ns/other'), key);
});

test('while the seed cannot be read, the server is not ready and sends no model', async (t) => {
  const kube = await startKubeServer(t);
  const folder = new Folder(t);
  const ca = folder.write('ca.pem', folder.ca.cert);
  const { cert, key } = folder.ca.issue({ names: [serverName] });
  const files = { cert: folder.write('tls.crt', cert), key: folder.write('tls.key', key), ca };
  const everything = { models: new Map([['ns/gw', model]]), pods: new Map(), endpoints: new Map() };
  kube.away = true;
  const stage: Stage = await start(t, kube, { files, onSessionKeys: () => stage.server.publish(everything) });
  await until('the certificate is there', () => stage.server.trust !== undefined);
  stage.server.publish(everything);
  assert.deepEqual(stage.server.missing, [
    'the seed of session keys is not known yet (Secret ns/portcullis-sessions)',
  ]);
  const proxy = await proxyOf(t, folder, stage, kube, 'ns:gw', 'ns/gw');
  await until('the proxy was sent away', () => /503/.test(proxy.source.problems[0] ?? ''));
  kube.away = false;
  await stage.server.ready;
  assert.equal(stage.server.isReady, true);
  await proxy.synchronized();
  const keys = proxy.models.map(({ process }) => typeof process.fixed.sessionKey);
  assert.deepEqual(keys, ['string']);
});

test('proxies wait until the leader has made a certificate', async (t) => {
  const kube = await startKubeServer(t);
  let leads = false;
  const stage = await start(t, kube, { mayWrite: () => leads });
  await until('it has looked', () => kube.requests.length > 2);
  assert.equal(stage.server.isReady, false);
  assert.equal(stage.server.trust, undefined);
  leads = true;
  await stage.server.ready;
  assert.deepEqual(stage.trusts, [stage.server.trust]);
});

test('a configured certificate is shown instead, and reloaded after changes', async (t) => {
  const kube = await startKubeServer(t);
  const folder = new Folder(t);
  const write = (of: Folder): { cert: string; key: string; ca: string } => {
    const { cert, key } = of.ca.issue({ names: [serverName] });
    return {
      cert: folder.write('tls.crt', cert),
      key: folder.write('tls.key', key),
      ca: folder.write('ca.pem', of.ca.cert),
    };
  };
  const stage = await start(t, kube, { files: write(folder) });
  await stage.server.ready;
  stage.server.publish({ models: new Map([['ns/gw', model]]), pods: new Map(), endpoints: new Map() });
  const first = await proxyOf(t, folder, stage, kube, 'ns:gw', 'ns/gw');
  await first.synchronized();
  assert.deepEqual(
    kube.requests.filter((one) => one.endsWith('/secrets/portcullis-controller')),
    [],
  );
  // A file that is half written, or does not fit, changes nothing.
  folder.write('tls.key', 'nonsense');
  await until('it is complained of', () => stage.lines.some(({ level }) => level === 'error'));
  assert.equal(stage.trusts.length, 1);
  const other = new Folder(t);
  write(other);
  await until('the new one is trusted', () => stage.server.trust === other.ca.cert);
  const second = await proxyOf(t, folder, stage, kube, 'ns:gw', 'ns/gw');
  await second.synchronized();
});

test('a port that is taken is an error at once', async (t) => {
  const kube = await startKubeServer(t);
  const { server } = await start(t, kube);
  await assert.rejects(start(t, kube, { port: server.port }), /EADDRINUSE/);
});

test('the address of a Service is found, missed where there is none, and asked for again after a failure', async (t) => {
  const answers: unknown[] = [
    new Error('away'),
    { spec: { clusterIP: 'None' } },
    { spec: { clusterIP: '198.18.128.7' } },
    {},
  ];
  const seen: (string | undefined)[] = [];
  const { log, lines } = memoryLog();
  const paths = new Set<string>();
  const service: ServiceAddress = new ServiceAddress({
    api: {
      request: async ({ path }) => {
        paths.add(path);
        await Promise.resolve();
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    namespace: 'ns',
    name: 'controller',
    onAddress: () => void seen.push(service.address),
    log,
    intervalMs: 2,
    retryMs: 2,
  });
  t.after(async () => await service.close());
  assert.equal(service.isKnown, false);
  await until('all were given', () => seen.length === 3);
  assert.deepEqual(seen, [undefined, '198.18.128.7', undefined]);
  assert.deepEqual([...paths], ['/api/v1/namespaces/ns/services/controller']);
  assert.equal(lines.length, 1);
});
