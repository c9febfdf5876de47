/** The faults around the objects of a cluster; docs/faults.md describes them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import type { Line } from '../../src/auth/log.testing.ts';
import { joinEndpoints } from '../../src/model/index.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { TestPlane } from '../../src/proxy/dataPlane.testing.ts';
import type { Controller } from '../../src/controller/controller.ts';
import type { Installation } from '../../src/controller/provision/request.ts';
import { until } from '../../src/until.testing.ts';
import { findBed } from '../support/kubeCluster.ts';
import { clusterForSuite, needsCluster, type Stage } from './cluster.testing.ts';
import { startLeader } from './leader.testing.ts';

const ours = 'portcullis.dev/gateway';

const installationOf = (name: string): Installation => ({
  controllerName: ours,
  image: `portcullis:${name}`,
  controller: `portcullis-controller.${name}.svc:15010`,
  trust: `(certificates of ${name})`,
});

interface Running {
  readonly controller: Controller;
  readonly lines: readonly Line[];
  /** Everything it has written to the API server: statuses, and objects of proxies. */
  writes(): Promise<number>;
}

/** A controller that leads in a namespace of its own. */
async function start(t: TestContext, stage: Stage, name = 'default', makesProxies = true): Promise<Running> {
  const connection = await stage.connect();
  const { controller, lines } = await startLeader(t, connection, {
    namespace: name,
    identity: `${t.name} ${name}`,
    ...(makesProxies ? { installation: () => installationOf(name) } : {}),
  });
  return {
    controller,
    lines,
    writes: async () => {
      let sum = 0;
      const pattern = /kube_(?:status|provision)_writes_total\{[^}]*\} (\d+)/g;
      for (const [, count] of (await connection.metrics.expose()).matchAll(pattern)) sum += Number(count);
      return sum;
    },
  };
}

/** Resolves to the writes of all when nobody has written for two seconds. @throws Error where that does not end */
async function settled(all: readonly Running[]): Promise<number> {
  const end = performance.now() + 90_000;
  const sum = async (): Promise<number> => {
    let writes = 0;
    for (const one of all) writes += await one.writes();
    return writes;
  };
  for (let [known, since] = [await sum(), performance.now()]; ;) {
    await pause(50);
    const now = await sum();
    if (now !== known) [known, since] = [now, performance.now()];
    else if (performance.now() - since > 2_000) return known;
    if (performance.now() > end) throw new Error(`they do not stop writing: ${String(known)} writes`);
  }
}

interface Read {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly resourceVersion: string;
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly parents?: readonly Parent[];
  };
}
interface Condition {
  readonly type: string;
  readonly status: string;
}
interface Parent {
  readonly controllerName: string;
  readonly conditions?: readonly Condition[];
}

const read = async (
  { cluster }: Stage,
  kind: string,
  name: string,
  namespace = 'default',
): Promise<Read | undefined> => {
  const text = await cluster.kubectl([
    'get',
    kind,
    name,
    '-n',
    namespace,
    '--ignore-not-found',
    '-o',
    'json',
  ]);
  return text === '' ? undefined : (JSON.parse(text) as Read);
};

/** The faults of this file take the controller longer than other changes do. */
const eventually = (what: string, ask: () => Promise<boolean>): Promise<true> => until(what, ask, 90_000);

const holds = (conditions: readonly Condition[] | undefined, type: string, status = 'True'): boolean =>
  conditions?.some((one) => one.type === type && one.status === status) === true;

const defectsIn = (lines: readonly Line[]): readonly Line[] =>
  lines.filter(
    ({ level, message, fields }) =>
      (level === 'error' || /defect|failed/.test(message)) &&
      // An API server answers so for a moment after a CRD was made, whoever asks.
      fields?.['reason'] !== 'storage is (re)initializing',
  );

describe('faults of objects', needsCluster, () => {
  const stage = clusterForSuite({ controllers: true });

  before(async () => {
    await stage.cluster.installGatewayApi();
    for (const name of ['one', 'two']) await stage.cluster.kubectl(['create', 'namespace', name]);
    await stage.cluster.apply(
      [gatewayClass('ours'), gatewayClass('also-ours'), service('app')].join('\n---\n'),
    );
  });

  test('two installations of one controller name do not fight: statuses and proxies come to rest', async (t) => {
    const both = [await start(t, stage, 'one'), await start(t, stage, 'two')];
    await stage.cluster.apply(
      [gateway('shared'), gateway('second', { of: 'also-ours' }), route('shared', 'shared')].join('\n---\n'),
    );
    await eventually('the route is accepted', async () =>
      holds((await read(stage, 'httproute', 'shared'))?.status?.parents?.[0]?.conditions, 'Accepted'),
    );
    const first = await settled(both);
    const { parents } = (await read(stage, 'httproute', 'shared'))?.status ?? {};
    assert.deepEqual(
      parents?.map(({ controllerName }) => controllerName),
      [ours],
    );
    const maker = async (): Promise<string | undefined> =>
      (await read(stage, 'deployment', 'shared'))?.metadata.annotations?.['portcullis.dev/installation'];
    assert.match((await maker()) ?? '', /^portcullis-controller\.(?:one|two)\.svc:15010$/);
    // Each says what it wants once; nobody takes it back.
    await stage.cluster.apply(gateway('shared', { port: 81 }));
    await eventually('the change is seen', async () => (await settled(both)) > first);
    // Two Gateways of four objects, four statuses; each of the two may write each of them twice per change.
    assert.ok((await settled(both)) <= 100, `${String(await settled(both))} writes`);
    for (const { lines } of both) assert.deepEqual(defectsIn(lines), []);
    await stage.cluster.kubectl(['delete', 'httproute/shared', 'gateway/shared', 'gateway/second']);
  });

  test('status entries of another controller stay, and cause no write', async (t) => {
    const controller = await start(t, stage, 'default', false);
    await stage.cluster.apply([gateway('mixed'), route('mixed', 'mixed')].join('\n---\n'));
    const names = async (): Promise<readonly string[]> =>
      ((await read(stage, 'httproute', 'mixed'))?.status?.parents ?? []).map((one) => one.controllerName);
    await eventually('ours is there', async () => (await names()).includes(ours));
    const before = await settled([controller]);
    const { parents = [] } = (await read(stage, 'httproute', 'mixed'))?.status ?? {};
    for (const reason of ['First', 'Second', 'Third']) {
      const theirs = {
        controllerName: 'example.test/other',
        parentRef: { name: 'elsewhere' },
        conditions: [condition('Accepted', reason)],
      };
      await stage.cluster.kubectl([
        ...['patch', 'httproute', 'mixed', '--subresource=status', '--type=merge'],
        ...['-p', JSON.stringify({ status: { parents: [...parents, theirs] } })],
      ]);
    }
    assert.equal(await settled([controller]), before);
    assert.deepEqual((await names()).toSorted(), ['example.test/other', ours]);
    // Ours changes, theirs is kept.
    await stage.cluster.apply(route('mixed', 'mixed', 'nowhere'));
    await eventually('ours says what is wrong', async () =>
      ((await read(stage, 'httproute', 'mixed'))?.status?.parents ?? []).some(
        ({ controllerName, conditions }) =>
          controllerName === ours && holds(conditions, 'ResolvedRefs', 'False'),
      ),
    );
    assert.deepEqual((await names()).toSorted(), ['example.test/other', ours]);
    await stage.cluster.kubectl(['delete', 'httproute/mixed', 'gateway/mixed']);
  });

  test('a Gateway whose class is deleted keeps its proxies, and is taken up again with the class', async (t) => {
    await start(t, stage);
    await stage.cluster.apply([gatewayClass('brief'), gateway('orphan', { of: 'brief' })].join('\n---\n'));
    await eventually('it has proxies', async () => (await read(stage, 'deployment', 'orphan')) !== undefined);
    const uid = async (): Promise<unknown> =>
      ((await read(stage, 'deployment', 'orphan'))?.metadata as { uid?: string } | undefined)?.uid;
    const before = await uid();
    await stage.cluster.kubectl(['delete', 'gatewayclass', 'brief']);
    await stage.cluster.apply(
      [gateway('orphan', { of: 'brief', port: 81 }), gateway('witness')].join('\n---\n'),
    );
    await eventually('it has looked', async () => (await read(stage, 'deployment', 'witness')) !== undefined);
    assert.equal(await uid(), before);
    await stage.cluster.apply(gatewayClass('brief'));
    await eventually('it is taken up again', async () => {
      const { conditions } = (await read(stage, 'gateway', 'orphan'))?.status ?? {};
      return holds(conditions, 'Accepted');
    });
    assert.equal(await uid(), before);
    await stage.cluster.kubectl(['delete', 'gateway/orphan', 'gateway/witness', 'gatewayclass/brief']);
  });

  test('objects deleted in any order leave nothing behind, and what stays has the right status', async (t) => {
    const controller = await start(t, stage);
    const random = mulberry(0x5eed);
    const orders = Array.from({ length: 8 }, (_, index) => shuffled(kindsOf(index), random));
    const certificate = authority().issue({ names: ['a.example.test'] });
    await Promise.all(
      orders.map(async (order, index) => {
        const name = `order-${String(index)}`;
        for (const namespace of [name, `${name}-keys`])
          await stage.cluster.kubectl(['create', 'namespace', namespace]);
        await stage.cluster.apply(
          [
            gatewayClass(name),
            secureGateway(name),
            secret(`${name}-keys`, certificate),
            grant(name),
            service('app', name),
            route('r', 'gw', 'app', name),
          ].join('\n---\n'),
        );
        await eventually(`${name} is served`, async () => {
          const status = (await read(stage, 'httproute', 'r', name))?.status;
          const { conditions } = (await read(stage, 'gateway', 'gw', name))?.status ?? {};
          const made = await read(stage, 'service', 'gw', name);
          return (
            holds(status?.parents?.[0]?.conditions, 'ResolvedRefs') &&
            holds(conditions, 'ResolvedRefs') &&
            made !== undefined
          );
        });
        for (const object of order)
          await stage.cluster.kubectl(['delete', ...object, '--wait=false', '--ignore-not-found']);
      }),
    );
    // Of each order a namespace was deleted; the cluster's own controllers take what belongs to the Gateways.
    let left = '';
    await eventually('nothing is left', async () => {
      left = await stage.cluster.kubectl([
        ...['get', 'deployments,services,configmaps,serviceaccounts', '-A', '--no-headers'],
        ...['-l', 'app.kubernetes.io/managed-by=portcullis'],
      ]);
      return left.trim() === '';
    }).catch((error: unknown) => {
      throw new Error(left, { cause: error });
    });
    await settled([controller]);
    const { report = [], models } = controller.controller.translation ?? {};
    assert.deepEqual(
      report.filter(({ changed }) => changed),
      [],
    );
    assert.equal(models?.size, 0);
    assert.deepEqual(defectsIn(controller.lines), []);
  });
});

/** What is deleted, in words of kubectl. The namespace of the keys goes in half of the orders, the other one in the rest. */
const kindsOf = (index: number): readonly (readonly string[])[] => {
  const name = `order-${String(index)}`;
  return [
    ['gatewayclass', name],
    ['gateway', 'gw', '-n', name],
    ['httproute', 'r', '-n', name],
    ['service', 'app', '-n', name],
    ['secret', 'web', '-n', `${name}-keys`],
    ['referencegrant', 'web', '-n', `${name}-keys`],
    ['namespace', index % 2 === 0 ? name : `${name}-keys`],
  ];
};

/** A small generator: the same orders each time. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const shuffled = <Item>(items: readonly Item[], random: () => number): readonly Item[] =>
  items
    .map((item) => [random(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);

describe('objects that make no sense', needsCluster, () => {
  const stage = clusterForSuite();

  /** As on a cluster that does not know rules in CRDs, or has had them taken out. */
  const installWithoutRules = async (): Promise<void> => {
    const bed = findBed();
    if ('missing' in bed) throw new Error(bed.missing);
    const folder = join(bed.crds, 'experimental');
    const files = readdirSync(folder).filter((name) => /^gateway\.networking\.k8s\.io_(?!vap_)/.test(name));
    for (const name of files)
      for (const document of parseAllDocuments(readFileSync(join(folder, name), 'utf8')))
        await stage.cluster.apply(JSON.stringify(lax(document.toJS())));
    await stage.cluster.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
  };

  test('are told what is wrong with them, and do no harm to those beside them', async (t) => {
    await installWithoutRules();
    await stage.cluster.apply(
      [gatewayClass('ours'), service('app'), gateway('g'), route('good', 'g')].join('\n---\n'),
    );
    for (const object of nonsense) await stage.cluster.apply(JSON.stringify(object));
    const { controller, lines } = await start(t, stage, 'default', false);
    const told = (status: Read['status']): boolean =>
      [...(status?.conditions ?? []), ...(status?.parents?.[0]?.conditions ?? [])].some(
        (one) => one.status === 'False' || one.type === 'PartiallyInvalid',
      );
    let untold: readonly string[] = [];
    await eventually('each is told what is wrong with it', async () => {
      untold = [];
      for (const { kind, metadata } of nonsense)
        if (!told((await read(stage, kind.toLowerCase(), metadata.name))?.status))
          untold = [...untold, metadata.name];
      return untold.length === 0;
    }).catch((error: unknown) => {
      throw new Error(untold.join(', '), { cause: error });
    });
    await eventually('the sound route is accepted', async () =>
      holds((await read(stage, 'httproute', 'good'))?.status?.parents?.[0]?.conditions, 'Accepted'),
    );
    assert.deepEqual(defectsIn(lines), []);
    // And proxies take what is left of them.
    const { models = new Map(), endpoints = new Map() } = controller.translation ?? {};
    assert.ok(models.size > 0);
    for (const { model } of models.values()) {
      const plane = new TestPlane();
      t.after(() => plane.close());
      const sent = joinEndpoints(model, endpoints);
      await plane.plane.apply({ ...sent, binds: sent.binds.map((bind) => ({ ...bind, port: 0 })) });
      assert.deepEqual(plane.plane.broken, []);
    }
  });
});

/** Without the rules, patterns and formats of a schema: its types are left. */
function lax(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lax);
  if (typeof value !== 'object' || value === null) return value;
  const dropped = [
    'x-kubernetes-validations',
    'pattern',
    'enum',
    'minItems',
    'maxItems',
    'minLength',
    'maxLength',
  ];
  return Object.fromEntries(
    Object.entries(value)
      // A property may have such a name.
      .filter(
        ([name, inner]) => !dropped.includes(name) || (typeof inner === 'object' && !Array.isArray(inner)),
      )
      .map(([name, inner]) => [name, lax(inner)]),
  );
}

const gatewayApi = 'gateway.networking.k8s.io/v1';

const condition = (type: string, reason: string): object => ({
  type,
  status: 'True',
  reason,
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});

const gatewayClass = (name: string, controllerName = ours): string =>
  JSON.stringify({
    apiVersion: gatewayApi,
    kind: 'GatewayClass',
    metadata: { name },
    spec: { controllerName },
  });

const gateway = (name: string, { of = 'ours', port = 80 } = {}): string =>
  JSON.stringify({
    apiVersion: gatewayApi,
    kind: 'Gateway',
    metadata: { name, namespace: 'default' },
    spec: { gatewayClassName: of, listeners: [{ name: 'http', port, protocol: 'HTTP' }] },
  });

/** Its certificate lies in another namespace. */
const secureGateway = (namespace: string): string =>
  JSON.stringify({
    apiVersion: gatewayApi,
    kind: 'Gateway',
    metadata: { name: 'gw', namespace },
    spec: {
      gatewayClassName: namespace,
      listeners: [
        { name: 'http', port: 80, protocol: 'HTTP' },
        {
          name: 'https',
          port: 443,
          protocol: 'HTTPS',
          tls: { certificateRefs: [{ name: 'web', namespace: `${namespace}-keys` }] },
        },
      ],
    },
  });

const secret = (namespace: string, { cert, key }: { readonly cert: string; readonly key: string }): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'web', namespace },
    type: 'kubernetes.io/tls',
    stringData: { 'tls.crt': cert, 'tls.key': key },
  });

const grant = (namespace: string): string =>
  JSON.stringify({
    apiVersion: 'gateway.networking.k8s.io/v1beta1',
    kind: 'ReferenceGrant',
    metadata: { name: 'web', namespace: `${namespace}-keys` },
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace }],
      to: [{ group: '', kind: 'Secret' }],
    },
  });

const service = (name: string, namespace = 'default'): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace },
    spec: { selector: { app: name }, ports: [{ port: 8000 }] },
  });

const route = (name: string, parent: string, backend = 'app', namespace = 'default'): string =>
  JSON.stringify({
    apiVersion: gatewayApi,
    kind: 'HTTPRoute',
    metadata: { name, namespace },
    spec: { parentRefs: [{ name: parent }], rules: [{ backendRefs: [{ name: backend, port: 8000 }] }] },
  });

const badRoute = (name: string, ...rules: readonly object[]) => ({
  apiVersion: gatewayApi,
  kind: 'HTTPRoute',
  metadata: { name, namespace: 'default' },
  spec: { parentRefs: [{ name: 'g' }], rules },
});

const backendRefs = [{ name: 'app', port: 8000 }];
const badListeners = (name: string, ...listeners: readonly object[]) => ({
  apiVersion: gatewayApi,
  kind: 'Gateway',
  metadata: { name, namespace: 'default' },
  spec: { gatewayClassName: 'ours', listeners },
});

/** Types are right, and nothing else. */
const nonsense = [
  badListeners('bad-protocol', { name: 'a', port: 80, protocol: 'GOPHER' }),
  badListeners('bad-tls', { name: 'a', port: 443, protocol: 'HTTPS' }),
  badListeners('bad-mode', { name: 'a', port: 443, protocol: 'TLS', tls: { mode: 'Sideways' } }),
  badListeners('bad-none'),
  badRoute('bad-path', { matches: [{ path: { type: 'Exact', value: 'no slash' } }], backendRefs }),
  badRoute('bad-expression', { matches: [{ path: { type: 'RegularExpression', value: '(' } }], backendRefs }),
  badRoute('bad-kind-of-match', { matches: [{ path: { type: 'Sometimes', value: '/' } }], backendRefs }),
  badRoute('bad-header', { matches: [{ headers: [{ name: 'a b', value: 'x' }] }], backendRefs }),
  badRoute('bad-filter', { filters: [{ type: 'Unheard' }], backendRefs }),
  badRoute('bad-rewrite', {
    filters: [{ type: 'URLRewrite', urlRewrite: { path: { type: 'ReplaceHalf' } } }],
    backendRefs,
  }),
  badRoute('bad-set-header', {
    filters: [
      {
        type: 'RequestHeaderModifier',
        requestHeaderModifier: { set: [{ name: 'a\r\nb', value: 'x\r\ny' }] },
      },
    ],
    backendRefs,
  }),
  badRoute('bad-timeout', { timeouts: { request: 'soon' }, backendRefs }),
  badRoute('bad-backend', { backendRefs: [{ name: '../../etc', port: 8000 }] }),
] as const;
