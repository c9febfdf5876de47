/** Models on their way from `portcullis controller` to `portcullis proxy`, with tokens and Secrets of a real cluster. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { ask } from '../e2e/http.testing.ts';
import { startGateway, type GatewayProcess } from '../e2e/gateway.testing.ts';
import { Program } from '../../src/cli/program.testing.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';
import { startControllerProcess, type ControllerProcess } from './controllerProcess.testing.ts';
import { accountToken, proxyFlags } from './proxyFlags.testing.ts';
import { until } from '../../src/until.testing.ts';

describe('the stream of models', needsCluster, () => {
  const stage = clusterForSuite();
  let port = 0;

  before(async () => {
    [port = 0] = await freePorts(1);
    await stage.cluster.installGatewayApi();
    await stage.cluster.apply(
      [gatewayClass, gateway(port), account('gw'), account('other'), service].join('\n---\n'),
    );
  });

  const start = async (t: TestContext): Promise<ControllerProcess> =>
    await startControllerProcess(t, stage.cluster.kubeconfig);

  const token = async (name: string, of?: string): Promise<string> =>
    await accountToken(stage.cluster, name, of);

  const flags = async (
    t: TestContext,
    controllers: readonly ControllerProcess[],
    credentials?: string,
  ): Promise<string[]> => await proxyFlags(t, stage.cluster, controllers, credentials);

  const redirected = async (): Promise<string | undefined> =>
    (await ask(`http://127.0.0.1:${String(port)}/`)).headers.location;

  const addresses = async (proxy: GatewayProcess): Promise<string> =>
    JSON.stringify((await proxy.configDump()).model).match(/"addresses":\[[^\]]*\]/)?.[0] ?? '';

  const problems = async (proxy: GatewayProcess): Promise<readonly string[]> =>
    (await proxy.configDump()).config.problems;

  /** A proxy serves a model before it has said so. */
  const isToldOfOne = async (controller: ControllerProcess): Promise<true> =>
    await until('the controller knows', async () =>
      /portcullis_stream_proxies\{state="current"\} 1/.test(await controller.metrics()),
    );

  test('a change of a route, and of addresses, reaches the proxy', async (t) => {
    const controller = await start(t);
    await controller.ready();
    await stage.cluster.apply([route('first'), slice('198.18.0.7')].join('\n---\n'));
    await using proxy = await startGateway('', { args: await flags(t, [controller]) });
    await until('the route is served', async () => /first/.test((await redirected()) ?? ''));
    await stage.cluster.apply(route('second'));
    await until('its change is served', async () => /second/.test((await redirected()) ?? ''));
    await until('the address is known', async () => /198\.18\.0\.7/.test(await addresses(proxy)));
    await stage.cluster.apply(slice('198.18.0.8'));
    await until('the other address is known', async () => /198\.18\.0\.8/.test(await addresses(proxy)));
    assert.deepEqual(await problems(proxy), []);
    await isToldOfOne(controller);
    assert.equal(await controller.probe(), 200);
    await controller.end('SIGTERM');
  });

  test('a proxy of another account, and a token for somebody else, get nothing', async (t) => {
    const controller = await start(t);
    await controller.ready();
    const cases: readonly (readonly [string, RegExp])[] = [
      [await token('other'), /refused with 403/],
      [await token('gw', 'https://kubernetes.default.svc'), /refused with 401/],
      [`${(await token('gw')).trim().slice(0, -4)}AAAA`, /refused with 401/],
    ];
    for (const [credentials, why] of cases) {
      const args = await flags(t, [controller], credentials);
      const proxy = new Program([...args, '--admin=off', '--stats=off', '--readiness=off']);
      t.after(() => proxy.child.kill('SIGKILL'));
      await proxy.saw(why);
      proxy.child.kill('SIGTERM');
      assert.equal((await proxy.ended).code, 0);
    }
    await until('it is in the log', () =>
      /denied the model.*subject=system:serviceaccount:default:other/.test(controller.log()),
    );
    assert.doesNotMatch(controller.log(), /Proxy connected/);
    await controller.end('SIGTERM');
  });

  test('a replica that does not lead serves models too, and takes over the proxies of one that ends', async (t) => {
    const first = await start(t);
    await first.ready();
    const second = await start(t);
    await second.ready();
    await stage.cluster.apply(route('before'));
    await using proxy = await startGateway('', { args: await flags(t, [first, second]) });
    await until('the route is served', async () => /before/.test((await redirected()) ?? ''));
    assert.equal(await first.end('SIGTERM'), 0);
    await stage.cluster.apply(route('after'));
    await until('its change is served', async () => /after/.test((await redirected()) ?? ''));
    await until('all is well', async () => (await problems(proxy)).length === 0);
    await isToldOfOne(second);
    await second.end('SIGTERM');
  });

  test('proxies serve while the API server and all controllers are away, also those that start then', async (t) => {
    const controller = await start(t);
    await controller.ready();
    await stage.cluster.apply(route('kept'));
    const args = await flags(t, [controller]);
    const proxy = await startGateway('', { args });
    await until('the route is served', async () => /kept/.test((await redirected()) ?? ''));
    await stage.cluster.killApiServer();
    assert.match((await redirected()) ?? '', /kept/);
    assert.equal(await proxy.metric('portcullis_stream_connected'), 1);
    await controller.end('SIGKILL');
    await until('it is missed', async () => (await proxy.metric('portcullis_stream_connected')) === 0);
    assert.match((await redirected()) ?? '', /kept/);
    await proxy.stop();

    await using again = await startGateway('', { args });
    assert.match((await redirected()) ?? '', /kept/);
    assert.equal(await again.metric('portcullis_ready'), 1);
    assert.equal(await again.metric('portcullis_config_synchronized'), 0);
    await stage.cluster.startApiServer();
  });

  test('the objects of a Gateway contain all that its proxies need: account, trust and arguments', async (t) => {
    const controller = await startControllerProcess(t, stage.cluster.kubeconfig, [
      '--proxy-image=portcullis:test',
    ]);
    await controller.ready();
    const [own = 0] = await freePorts(1);
    await stage.cluster.apply([gateway(own, 'made'), route('made', 'made')].join('\n---\n'));
    const made = async <T>(kind: string): Promise<T | undefined> => {
      const text = await stage.cluster.kubectl(['get', kind, 'made', '--ignore-not-found', '-o', 'json']);
      return text === '' ? undefined : (JSON.parse(text) as T);
    };
    await until('its Deployment is there', async () => (await made('deployment')) !== undefined);
    const deployment = await made<{
      readonly spec: { template: { spec: { serviceAccountName: string; containers: { args: string[] }[] } } };
    }>('deployment');
    const { serviceAccountName = '', containers = [] } = deployment?.spec.template.spec ?? {};
    const trust = await made<{ readonly data: { readonly 'ca.crt': string } }>('configmap');
    // The same arguments, but where they say something about the pod.
    const local = await flags(t, [controller], await token(serviceAccountName));
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-trust-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'ca.crt'), trust?.data['ca.crt'] ?? '');
    const here = local.filter((flag) => /^--(?:controller|token-file|cache|server-name)/.test(flag));
    const there = (containers[0]?.args ?? []).filter(
      (flag) => !/^--(?:controller|token-file|ca-file|cache|admin|stats|readiness)=/.test(flag),
    );
    await using proxy = await startGateway('', {
      args: [...there, ...here, `--ca-file=${join(folder, 'ca.crt')}`],
    });
    await until('its route is served', async () =>
      /made/.test((await ask(`http://127.0.0.1:${String(own)}/`)).headers.location ?? ''),
    );
    // It serves before all of the model is in use.
    await until('all is well', async () => (await problems(proxy)).length === 0);
    await controller.end('SIGTERM');
    await stage.cluster.kubectl(['delete', 'gateway', 'made']);
  });

  test('a port that its proxy cannot bind keeps that listener alone from being programmed, and later models come', async (t) => {
    const controller = await start(t);
    await controller.ready();
    await stage.cluster.apply(route('well'));
    await using proxy = await startGateway('', { args: await flags(t, [controller]) });
    await until('the route is served', async () => /well/.test((await redirected()) ?? ''));
    const programmed = async (listener: string): Promise<string> =>
      await stage.cluster.kubectl([
        ...['get', 'gateway', 'gw', '-o'],
        `jsonpath={range .status.listeners[?(@.name=="${listener}")].conditions[?(@.type=="Programmed")]}{.status} {.reason} {.message}{end}`,
      ]);
    const taken = createServer().listen(0);
    await once(taken, 'listening');
    t.after(() => void taken.close());
    const { port: other } = taken.address() as AddressInfo;
    await stage.cluster.apply(gateway([port, other]));
    await until('the status says so', async () =>
      new RegExp(`^False PortUnavailable a proxy says: .*${String(other)}`).test(await programmed('http-1')),
    );
    assert.match(await programmed('http'), /^True/);
    await stage.cluster.apply(route('better'));
    await until('the next model is in use', async () => /better/.test((await redirected()) ?? ''));
    await stage.cluster.apply(gateway([port, 15020]));
    await until('a port of the operator is refused', async () =>
      /15020 is the stats port/.test(await programmed('http-1')),
    );
    assert.deepEqual(await problems(proxy), []);
    await controller.end('SIGTERM');
  });

  test('regular expressions of a route that cost too much are refused, and stall no neighbour', async (t) => {
    const controller = await start(t);
    await controller.ready();
    await stage.cluster.apply([route('calm'), costly].join('\n---\n'));
    await using proxy = await startGateway('', { args: await flags(t, [controller]) });
    await until('the route is served', async () => /calm/.test((await redirected()) ?? ''));
    const accepted = async (): Promise<string> =>
      await stage.cluster.kubectl([
        ...['get', 'httproute', 'costly', '-o'],
        'jsonpath={range .status.parents[0].conditions[?(@.type=="Accepted")]}{.status} {.reason} {.message}{end}',
      ]);
    await until('the status says so', async () =>
      /^False UnsupportedValue .*instructions/.test(await accepted()),
    );
    // The path that took more than a minute for each of 128 expressions.
    const attack = Array.from({ length: 4 }, () =>
      ask(`http://127.0.0.1:${String(port)}/${'a'.repeat(6_000)}`, {
        headers: { host: 'costly.example.com' },
      }),
    );
    assert.match((await redirected()) ?? '', /calm/);
    for (const { status } of await Promise.all(attack)) assert.ok(status >= 400, String(status));
    assert.deepEqual(await problems(proxy), []);
    await stage.cluster.kubectl(['delete', 'httproute', 'costly']);
    await controller.end('SIGTERM');
  });

  test('a Secret that is broken takes no certificate away, and one that is mended is shown at once', async (t) => {
    const controller = await start(t);
    await controller.ready();
    const ca = authority();
    const [first, second] = [1, 2].map((turn) =>
      ca.issue({ name: `turn ${turn}`, names: ['a.example.test'] }),
    );
    const [secure = 0] = await freePorts(1);
    const hold = async (cert = 'rubbish', key = 'rubbish'): Promise<void> =>
      await stage.cluster.apply(
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'web', namespace: 'default' },
          type: 'kubernetes.io/tls',
          stringData: { 'tls.crt': cert, 'tls.key': key },
        }),
      );
    await hold(first?.cert, first?.key);
    await stage.cluster.apply([secureGateway(port, secure), route('sealed')].join('\n---\n'));
    await using proxy = await startGateway('', { args: await flags(t, [controller]) });
    await until('the route is served', async () => /sealed/.test((await redirected()) ?? ''));
    /** The certificate that a client is shown now; undefined where there is none. */
    const shown = async (): Promise<string | undefined> => {
      const socket = connect({ port: secure, host: '127.0.0.1', ca: ca.cert, servername: 'a.example.test' });
      try {
        await once(socket, 'secureConnect');
        return socket.getPeerX509Certificate()?.subject ?? '';
      } catch {
        return undefined;
      } finally {
        socket.destroy();
      }
    };
    const resolved = async (): Promise<string> =>
      await stage.cluster.kubectl([
        ...['get', 'gateway', 'gw', '-o'],
        'jsonpath={range .status.listeners[?(@.name=="https")].conditions[?(@.type=="ResolvedRefs")]}{.status} {.reason} {.message}{end}',
      ]);
    await until('the status is well', async () => /^True/.test(await resolved()));
    await until('it is shown', async () => (await shown()) === 'CN=turn 1');
    await hold();
    await until('the status says so', async () =>
      /^False InvalidCertificateRef .*the certificate that it held before stays in use/.test(
        await resolved(),
      ),
    );
    assert.equal(await shown(), 'CN=turn 1');
    assert.deepEqual(await problems(proxy), []);
    await hold(second?.cert, second?.key);
    await until('the new one is shown', async () => (await shown()) === 'CN=turn 2');
    await until('the status is well', async () => /^True/.test(await resolved()));

    // A deleted key goes out of use: its owner wants that.
    await stage.cluster.kubectl(['delete', 'secret', 'web']);
    await until('it is not shown any more', async () => (await shown()) === undefined);
    await stage.cluster.apply(gateway(port));
    await controller.end('SIGTERM');
  });

  test('the certificate of controllers outlives them, and is made anew when it is lost', async (t) => {
    const authorityOf = async (): Promise<string> =>
      await stage.cluster.kubectl([
        'get',
        'secret',
        'portcullis-controller',
        '-o',
        'jsonpath={.data.ca\\.crt}',
      ]);
    const earlier = await authorityOf();
    const controller = await start(t);
    await controller.ready();
    while (!(await controller.isLeader())) await pause(50);
    await until('it is shown', async () => (await controller.probe()) === 200);
    assert.equal(await authorityOf(), earlier);
    await controller.end('SIGTERM');
    await stage.cluster.kubectl(['delete', 'secret', 'portcullis-controller']);
    const next = await start(t);
    await until('it is shown', async () => (await next.probe()) === 200);
    assert.notEqual(await authorityOf(), earlier);
    await next.end('SIGTERM');
  });
});

const gatewayClass = JSON.stringify({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'ours' },
  spec: { controllerName: 'portcullis.dev/gateway' },
});

const gateway = (ports: number | readonly number[], name = 'gw'): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace: 'default' },
    spec: {
      gatewayClassName: 'ours',
      listeners: [ports]
        .flat()
        .map((port, index) => ({ name: index === 0 ? 'http' : `http-${index}`, port, protocol: 'HTTP' })),
    },
  });

const secureGateway = (port: number, secure: number): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'gw', namespace: 'default' },
    spec: {
      gatewayClassName: 'ours',
      listeners: [
        { name: 'http', port, protocol: 'HTTP' },
        { name: 'https', port: secure, protocol: 'HTTPS', tls: { certificateRefs: [{ name: 'web' }] } },
      ],
    },
  });

const account = (name: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } });

const service = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'app', namespace: 'default' },
  spec: { ports: [{ port: 8000 }] },
});

/** The root is sent elsewhere, by a name that a test looks for; the rest goes to an app. */
const route = (name: string, parent = 'gw'): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: `to-${parent}`, namespace: 'default' },
    spec: {
      parentRefs: [{ name: parent }],
      rules: [
        {
          matches: [{ path: { type: 'Exact', value: '/' } }],
          filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: `${name}.example.com` } }],
        },
        { backendRefs: [{ name: 'app', port: 8000 }] },
      ],
    },
  });

/** The most expressions that a route can have, each of the most work that its length allows. */
const costly = JSON.stringify({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'costly', namespace: 'default' },
  spec: {
    parentRefs: [{ name: 'gw' }],
    hostnames: ['costly.example.com'],
    rules: Array.from({ length: 2 }, (_, rule) => ({
      matches: Array.from({ length: 64 }, (_, match) => ({
        path: {
          type: 'RegularExpression',
          value: `/(?:(?:a|aa|aaa|aaaa|.){0,30}){0,30}b${rule}x${match}`,
        },
      })),
      backendRefs: [{ name: 'app', port: 8000 }],
    })),
  },
});

const slice = (address: string): string =>
  JSON.stringify({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'app-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'app' } },
    addressType: 'IPv4',
    ports: [{ port: 8000, protocol: 'TCP' }],
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  });
