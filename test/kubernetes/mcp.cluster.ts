import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { mcpPodName } from '../../src/controller/translate/index.ts';
import { mcpBackendSchema } from '../../src/controller/translate/mcpSchema.ts';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';
import { crd, gatewayApi, ours } from './gatewayStage.testing.ts';
import { installation, startLeader } from './leader.testing.ts';
import { until } from '../../src/until.testing.ts';

const stdio = (settings: object): object => ({ targets: [{ name: 'a', stdio: settings }] });
const host = (settings: object): object => ({ targets: [{ name: 'a', host: settings }] });
const service = { name: 'tools', port: 80 };
const openapi = (settings: object): object => ({ targets: [{ name: 'a', openapi: settings }] });
const chosen = (settings: object): object => ({ targets: [{ name: 'a', selector: settings }] });
const inline = '{"openapi":"3.1.0","paths":{"/a":{"get":{}}}}';

/** The error of a spec → the spec. */
const wrong: Readonly<Record<string, object>> = {
  'no target': { targets: [] },
  'two targets of one name': {
    targets: [
      { name: 'a', service },
      { name: 'a', stdio: { command: 'x' } },
    ],
  },
  'a mode of prefixes that is none': { targets: [{ name: 'a', service }], prefixMode: 'sometimes' },
  'a separator that no name can have': { targets: [{ name: 'a', service }], prefixSeparator: '/' },
  'a wait without a unit': { targets: [{ name: 'a', service }], targetWait: '5' },
  'a time of calls without a unit': { targets: [{ name: 'a', service, callTimeout: '5' }] },
  'a name that no tool can have': {
    targets: [{ name: 'a', service }],
    view: { tools: [{ name: 'x', as: 'a b' }] },
  },
  pins: { targets: [{ name: 'a', service }], pin: 'sometimes' },
  'a target that is two things': { targets: [{ name: 'a', service, stdio: { command: 'x' } }] },
  'a target that is nothing': { targets: [{ name: 'a' }] },
  'a target without a name': { targets: [{ service }] },
  'a name that does not go with tools': { targets: [{ name: 'a b', service }] },
  'no command': stdio({ args: ['x'] }),
  'a variable without a value': stdio({ command: 'x', env: [{ name: 'A' }] }),
  'a variable of two values': stdio({
    command: 'x',
    env: [{ name: 'A', value: 'b', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
  }),
  'a variable that is set twice': stdio({
    command: 'x',
    env: [
      { name: 'A', value: 'b' },
      { name: 'A', value: 'c' },
    ],
  }),
  'a name that no variable has': stdio({ command: 'x', env: [{ name: 'A=B', value: 'b' }] }),
  'no time to start': stdio({ command: 'x', startTimeout: '0s' }),
  'a time without a unit': stdio({ command: 'x', startTimeout: '10' }),
  'a Service without a port': { targets: [{ name: 'a', service: { name: 'tools' } }] },
  'a path that is none': { targets: [{ name: 'a', service: { ...service, path: 'mcp' } }] },
  'labels that choose every Service': chosen({ services: {} }),
  'labels that nobody has to have': chosen({ services: { matchLabels: {}, matchExpressions: [] } }),
  'a requirement without its values': chosen({
    services: { matchExpressions: [{ key: 'mcp', operator: 'In' }] },
  }),
  'a requirement with values of no use': chosen({
    services: { matchExpressions: [{ key: 'mcp', operator: 'Exists', values: ['yes'] }] },
  }),
  'an operator that is none': chosen({
    services: { matchExpressions: [{ key: 'mcp', operator: 'Gt', values: ['1'] }] },
  }),
  'a port of chosen Services that is none': chosen({
    services: { matchLabels: { mcp: 'yes' } },
    port: 'A B',
  }),
  'an API without a description': openapi({ service }),
  'an API without a server': openapi({ schema: { inline } }),
  'an API with two servers': openapi({
    service,
    host: { host: 'api.example.com', port: 443 },
    schema: { inline },
  }),
  'a description from two places': openapi({ service, schema: { inline, configMap: { name: 'a' } } }),
  'a description from nowhere': openapi({ service, schema: {} }),
  'an entry that is not read': openapi({ service, schema: { configMap: { name: 'a', key: 'api.yaml' } } }),
  'a choice of no operation': openapi({ service, schema: { inline }, include: { tags: [] } }),
  'a description in clear': openapi({ service, schema: { url: 'http://api.example.com/openapi.json' } }),
  'a description of this machine': openapi({ service, schema: { url: 'https://127.0.0.1/openapi.json' } }),
  'a description of this machine in IPv6': openapi({ service, schema: { url: 'https://[::1]/a.json' } }),
  'a description of a Service by URL': openapi({ service, schema: { url: 'https://shop.default.svc/a' } }),
  'a description at an address': openapi({ service, schema: { url: 'https://192.0.2.7/openapi.json' } }),
  'a description behind a password': openapi({ service, schema: { url: 'https://a:b@api.example.com/a' } }),
  'a place for programs that is not built': stdio({ command: 'x', placement: 'Elsewhere' }),
  'an image of the proxies': stdio({ command: 'x', image: 'tools:1' }),
  'resources of the proxies': stdio({ command: 'x', placement: 'Proxy', resources: {} }),
  'this machine by its name': host({ host: 'localhost', port: 80 }),
  'this machine by its address': host({ host: '127.0.0.1', port: 15_000 }),
  'this machine in IPv6': host({ host: '0:0:0:0:0:0:0:1', port: 15_000 }),
  'this machine in disguise': host({ host: '127.1', port: 15_000 }),
  'IPv4 in the clothes of IPv6': host({ host: '::ffff:127.0.0.1', port: 15_000 }),
  'the link of the node': host({ host: '169.254.169.254', port: 80 }),
  'a Service by its name': host({ host: 'tools.shop.svc', port: 80 }),
  'a Service by its whole name': host({ host: 'tools.shop.svc.cluster.local', port: 80 }),
  'a name of this namespace': host({ host: 'tools', port: 80 }),
};

/** The spec of the McpBackend in a sample. */
const sample = (name: string): object => {
  const text = readFileSync(new URL(`../../deploy/samples/${name}.yaml`, import.meta.url), 'utf8');
  const all = parseAllDocuments(text).map((one) => one.toJS() as { kind: string; spec: object });
  const found = all.find(({ kind }) => kind === 'McpBackend');
  assert.ok(found !== undefined);
  return found.spec;
};

const right: Readonly<Record<string, object>> = {
  'the sample of a federation': sample('mcp-federation'),
  'a program': stdio({
    command: '/usr/bin/server',
    args: ['--verbose', ''],
    env: [
      { name: 'A', value: '' },
      { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    ],
    cwd: '/srv',
    startTimeout: '1m30s',
  }),
  'a program beside the proxies': stdio({ command: 'x', placement: 'Proxy' }),
  'a program in a pod of its own': stdio({
    command: 'x',
    placement: 'Pod',
    image: 'registry.example.com/tools:7',
    resources: { limits: { memory: '2Gi', cpu: 2 } },
  }),
  'a Service of another namespace': {
    targets: [{ name: 'a', service: { ...service, namespace: 'other', path: '/v1/mcp' } }],
  },
  'several targets': {
    targets: [
      { name: 'a', service, callTimeout: '1m30s', toolTimeouts: { slow: '10m' } },
      { name: 'b_2', stdio: { command: 'x', placement: 'Pod', image: 'b:1' } },
      { name: 'c', sseService: service },
    ],
    statefulMode: 'stateless',
    prefixMode: 'always',
    prefixSeparator: '__',
    failureMode: 'failOpen',
    targetWait: '2s',
    view: {
      rest: 'show',
      tools: [{ target: 'a', name: 'find', as: 'search', description: 'Finds things.' }],
      resources: [{ uri: 'file:///*', hide: true }],
    },
  },
  'Services by their labels': {
    targets: [
      { name: 'a', selector: { services: { matchLabels: { mcp: 'yes' } }, port: 8_080, path: '/v1/mcp' } },
      {
        name: 'b',
        sseSelector: {
          services: { matchExpressions: [{ key: 'mcp', operator: 'NotIn', values: ['no', 'never'] }] },
          port: 'mcp',
        },
      },
    ],
    view: { tools: [{ target: 'tickets', name: 'find' }] },
  },
  'an API with its description in a ConfigMap': openapi({
    service: { ...service, path: '/v1' },
    schema: { configMap: { name: 'a', key: 'openapi.json' } },
    include: { tags: ['pets'] },
    exclude: { paths: ['/admin/*'], operations: ['DELETE /pets/{id}'] },
    outputSchemas: false,
  }),
  'an API with its description inline': openapi({ service, schema: { inline } }),
  'an API with its description behind a Service': openapi({
    service,
    schema: { service: { ...service, path: '/openapi.json' } },
  }),
  'an API outside': openapi({
    host: { host: 'api.example.com', port: 443, tls: {} },
    schema: { url: 'https://api.example.com:8443/openapi.json?v=3' },
  }),
  'a host': host({
    host: 'mcp.example.com',
    port: 443,
    path: '/mcp',
    tls: { hostname: 'x.example.com', caCertificateRefs: [{ name: 'ca' }] },
  }),
  'an address': host({ host: '192.0.2.7', port: 80 }),
  'an address in IPv6': host({ host: '2001:db8::7', port: 80 }),
};

interface Ancestor {
  readonly ancestorRef: { readonly name: string };
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
    readonly observedGeneration: number;
  }[];
}

interface AnyObject {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly ancestors?: readonly Ancestor[]; readonly parents?: readonly Ancestor[] };
}

describe('McpBackend', needsCluster, () => {
  const stage = clusterForSuite();

  before(async () => {
    await stage.cluster.installGatewayApi('experimental');
    await stage.cluster.apply(crd('portcullisparameters'));
    await stage.cluster.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
  });

  const get = async (kind: string, name: string): Promise<AnyObject | undefined> => {
    const text = await stage.cluster.kubectl(['get', kind, name, '--ignore-not-found', '-o', 'json']);
    return text === '' ? undefined : (JSON.parse(text) as AnyObject);
  };

  const eventually = async (
    kind: string,
    name: string,
    holds: (object: AnyObject) => boolean,
  ): Promise<AnyObject> => {
    const end = performance.now() + 60_000;
    for (;;) {
      const object = await get(kind, name);
      if (object !== undefined && holds(object)) return object;
      if (performance.now() > end) throw new Error(`${kind} ${name}: ${JSON.stringify(object)}`);
      await pause(50);
    }
  };

  /** For an object whose only Gateway says that much. */
  const says =
    (type: string, status: string, reason: string, message = '') =>
    (object: AnyObject): boolean =>
      (object.status?.ancestors ?? object.status?.parents ?? []).some(({ conditions }) =>
        conditions.some(
          (one) =>
            one.type === type &&
            one.status === status &&
            one.reason === reason &&
            one.message.includes(message),
        ),
      );

  const start = async (t: TestContext) => {
    const { controller, lines } = await startLeader(t, await stage.connect(), {
      installation: () => installation,
      podKey: (pod) => `key of ${pod}`,
    });
    const models = (): ReadonlyMap<string, unknown> => controller.translation?.models ?? new Map();
    const model = (): string => JSON.stringify([...models()]);
    const modelOf = (gateway: string): string => JSON.stringify(models().get(gateway));
    const pods = (): string => JSON.stringify([...(controller.translation?.pods.values() ?? [])]);
    return { model, modelOf, pods, log: (): string => JSON.stringify(lines) };
  };

  // The first one: the kind is not installed yet.
  test('is taken up when its kind is installed under a controller that runs', async (t) => {
    await stage.cluster.apply([gatewayClass, gateway('one'), route('one')].join('\n---\n'));
    await start(t);
    await eventually('httproute', 'one', says('ResolvedRefs', 'False', 'BackendNotFound', 'there is none'));
    await stage.cluster.apply(crd('mcpbackends'));
    await stage.cluster.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
    await stage.cluster.apply(mcpBackend('one', stdio({ command: 'server' })));
    await eventually('httproute', 'one', says('ResolvedRefs', 'False', 'StdioNotAllowed'));
    const refused = await eventually('mcpbackend', 'one', says('Accepted', 'False', 'StdioNotAllowed'));
    assert.equal(refused.status?.ancestors?.[0]?.ancestorRef.name, 'one');
    assert.equal(refused.status.ancestors[0].conditions[0]?.observedGeneration, 1);
  });

  test('starts programs where the owner of the Gateway allows it, and clients come back to their proxy', async (t) => {
    const { model } = await start(t);
    await stage.cluster.apply(
      [gateway('two', 'programs'), mcpBackend('two', stdio({ command: 'server' })), route('two')].join(
        '\n---\n',
      ),
    );
    await stage.cluster.apply(parameters('programs', { mcp: { stdio: 'Same' } }));
    await eventually('mcpbackend', 'two', says('Accepted', 'True', 'Accepted'));
    await eventually('httproute', 'two', says('ResolvedRefs', 'True', 'ResolvedRefs'));
    await until('the model has it', () => model().includes('"cmd":"server"'));
    await eventually('service', 'two', ({ spec }) => spec['sessionAffinity'] === 'ClientIP');

    await stage.cluster.apply(parameters('programs', { mcp: { stdio: 'None' } }));
    await eventually('mcpbackend', 'two', says('Accepted', 'False', 'StdioNotAllowed'));
    await until('the model has lost it', () => !model().includes('"cmd":"server"'));
    await eventually(
      'service',
      'two',
      ({ spec }) => spec['sessionAffinity'] === 'None' && spec['sessionAffinityConfig'] === undefined,
    );
  });

  test('a Secret that says so gets into the environment, and nowhere else', async (t) => {
    const { model, log } = await start(t);
    await stage.cluster.apply(parameters('secrets', { mcp: { stdio: 'Same' } }));
    const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'key', key: 'api' } } }];
    await stage.cluster.apply(
      [
        gateway('three', 'secrets'),
        mcpBackend('three', stdio({ command: 'server', env })),
        route('three'),
      ].join('\n---\n'),
    );
    await eventually(
      'mcpbackend',
      'three',
      says('ResolvedRefs', 'False', 'InvalidSecretRef', 'there is none'),
    );
    await stage.cluster.apply(secret('key', 'open sesame', false));
    await eventually(
      'mcpbackend',
      'three',
      says('ResolvedRefs', 'False', 'RefNotPermitted', 'portcullis.dev/use: mcp-env'),
    );
    assert.ok(!model().includes('open sesame'));
    await stage.cluster.apply(secret('key', 'open sesame', true));
    await eventually('mcpbackend', 'three', says('ResolvedRefs', 'True', 'ResolvedRefs'));
    await until('the model has it', () => model().includes('"KEY":"open sesame"'));
    await stage.cluster.apply(secret('key', 'another word', true));
    await until('the model has the new one', () => model().includes('"KEY":"another word"'));
    const written = await stage.cluster.kubectl([
      'get',
      'mcpbackend,httproute,gateway,deployment,configmap',
      '-A',
      '-o',
      'yaml',
    ]);
    for (const word of ['open sesame', 'another word', Buffer.from('open sesame').toString('base64')])
      assert.ok(!written.includes(word) && !log().includes(word), word);
  });

  test('has a pod of its own where that is allowed, made and kept and taken away', async (t) => {
    const { model, modelOf, pods } = await start(t);
    const name = mcpPodName('portcullis.dev/gateway', 'five', 'a');
    const kinds = ['serviceaccount', 'configmap', 'networkpolicy', 'service', 'deployment'];
    const called = (kind: string): string => (kind === 'serviceaccount' ? `${name}.mcp` : name);
    const gone = async (): Promise<void> => {
      const end = performance.now() + 60_000;
      for (const kind of kinds)
        while ((await get(kind, called(kind))) !== undefined) {
          if (performance.now() > end) throw new Error(`the ${kind} is still there`);
          await pause(50);
        }
    };
    const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'pod', key: 'api' } } }];
    await stage.cluster.apply(
      [
        parameters('pods', { mcp: { stdio: 'All' } }),
        secret('pod', 'open barley', true),
        gateway('five', 'pods'),
        mcpBackend('five', stdio({ command: 'server', placement: 'Pod', env })),
        route('five'),
      ].join('\n---\n'),
    );
    await eventually('mcpbackend', 'five', says('Accepted', 'False', 'PodNotAllowed', 'spec.mcp.pods'));
    await stage.cluster.apply(parameters('pods', { mcp: { pods: 'Same' } }));
    await eventually('mcpbackend', 'five', says('Programmed', 'False', 'Pending', 'its pod is being set up'));
    await eventually('httproute', 'five', says('ResolvedRefs', 'True', 'ResolvedRefs'));
    for (const kind of kinds) await eventually(kind, called(kind), () => true);
    // The environment of the program is known to its pod alone.
    await until('the pod gets it', () => pods().includes('"KEY":"open barley"'));
    await until('the proxies know the way', () => model().includes('key of default/five/a'));
    assert.ok(!model().includes('open barley') && !modelOf('default/five').includes('"cmd"'));
    assert.ok(!pods().includes('key of default/five/a'));

    await stage.cluster.kubectl([
      'patch',
      'deployment',
      name,
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify({
        status: { observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1 },
      }),
    ]);
    await eventually('mcpbackend', 'five', says('Programmed', 'True', 'Programmed'));
    await stage.cluster.kubectl(['delete', 'networkpolicy', name]);
    await eventually('networkpolicy', name, () => true);

    await stage.cluster.apply(parameters('pods', { mcp: { pods: 'None' } }));
    await eventually('mcpbackend', 'five', says('Accepted', 'False', 'PodNotAllowed'));
    await gone();
    await stage.cluster.apply(parameters('pods', { mcp: { pods: 'Same' } }));
    await eventually('deployment', name, () => true);
    await stage.cluster.apply(mcpBackend('five', { targets: [{ name: 'a', service }] }));
    await gone();
    // Objects and statuses are written beside each other.
    const accepted = says('Accepted', 'True', 'Accepted');
    await eventually(
      'mcpbackend',
      'five',
      (left) => accepted(left) && !JSON.stringify(left.status).includes('Programmed'),
    );
  });

  test('each target has a pod of its own, and takes away no other one', async (t) => {
    const { model, pods } = await start(t);
    const podOf = (target: string): string => mcpPodName('portcullis.dev/gateway', 'seven', target);
    const target = (name: string): object => ({ name, stdio: { command: `run-${name}`, placement: 'Pod' } });
    await stage.cluster.apply(
      [
        parameters('several', { mcp: { pods: 'Same' } }),
        gateway('seven', 'several'),
        mcpBackend('seven', { failureMode: 'failOpen', targets: [target('a'), target('B_2')] }),
        route('seven'),
      ].join('\n---\n'),
    );
    for (const name of ['a', 'B_2']) {
      await eventually('deployment', podOf(name), () => true);
      await eventually('service', podOf(name), () => true);
    }
    await until('the proxies know both ways', () =>
      ['a', 'B_2'].every((name) => model().includes(`key of default/seven/${name}`)),
    );
    await until('the pods get their programs', () =>
      ['a', 'B_2'].every((name) => pods().includes(`"cmd":"run-${name}"`)),
    );
    const { metadata } = (await get('deployment', podOf('a'))) as unknown as { metadata: { uid: string } };
    await stage.cluster.apply(
      mcpBackend('seven', { targets: [target('a'), { name: 'B_2', service: { name: 'tools', port: 80 } }] }),
    );
    await until('the other one is gone', async () => (await get('deployment', podOf('B_2'))) === undefined);
    await until('with its Service', async () => (await get('service', podOf('B_2'))) === undefined);
    const left = (await get('deployment', podOf('a'))) as unknown as { metadata: { uid: string } };
    assert.equal(left.metadata.uid, metadata.uid);
    await eventually(
      'mcpbackend',
      'seven',
      says('ResolvedRefs', 'False', 'BackendNotFound', 'target B_2: Service default/tools: there is none'),
    );
  });

  test('pods that nobody wants any more go with the next controller', async (t) => {
    const name = mcpPodName('portcullis.dev/gateway', 'seven', 'a');
    assert.ok((await get('deployment', name)) !== undefined);
    // Its target has another name meanwhile, so nothing but its owner tells whose it is.
    await stage.cluster.apply(
      mcpBackend('seven', { targets: [{ name: 'c', service: { name: 'tools', port: 80 } }] }),
    );
    await start(t);
    await until('it is gone', async () => (await get('deployment', name)) === undefined);
  });

  test('does not take what another has under the name of its pod', async (t) => {
    const { model } = await start(t);
    const name = mcpPodName('portcullis.dev/gateway', 'six', 'a');
    await stage.cluster.apply(
      [
        object('v1', 'Service', name, { spec: { ports: [{ port: 8080 }] } }),
        parameters('pods', { mcp: { pods: 'Same' } }),
        gateway('six', 'pods'),
        mcpBackend('six', stdio({ command: 'server', placement: 'Pod' })),
        route('six'),
      ].join('\n---\n'),
    );
    await eventually('mcpbackend', 'six', says('Programmed', 'False', 'Pending', 'belongs to another'));
    // It would be told what lets proxies in.
    assert.ok(!model().includes('key of default/six/a'));
    assert.equal((await get('service', name))?.spec['clusterIP'] === 'None', false);
  });

  test('a deleted object becomes an unresolved reference', async (t) => {
    await start(t);
    await stage.cluster.apply(parameters('gone', { mcp: { stdio: 'Same' } }));
    await stage.cluster.apply(
      [gateway('four', 'gone'), mcpBackend('four', stdio({ command: 'server' })), route('four')].join(
        '\n---\n',
      ),
    );
    await eventually('httproute', 'four', says('ResolvedRefs', 'True', 'ResolvedRefs'));
    await stage.cluster.kubectl(['delete', 'mcpbackend', 'four']);
    await eventually('httproute', 'four', says('ResolvedRefs', 'False', 'BackendNotFound'));
    // An McpBackend that no route names any more has no status.
    await stage.cluster.apply(mcpBackend('four', stdio({ command: 'server' })));
    await eventually('mcpbackend', 'four', says('Accepted', 'True', 'Accepted'));
    await stage.cluster.kubectl(['delete', 'httproute', 'four']);
    await eventually('mcpbackend', 'four', ({ status }) => status?.ancestors?.length === 0);
  });

  for (const [what, spec] of Object.entries(wrong))
    test(`${what} is refused, by the server and by the controller`, async () => {
      await assert.rejects(
        stage.cluster.apply(mcpBackend('wrong', spec)),
        /is invalid|failed to create typed patch object/,
      );
      assert.equal(mcpBackendSchema.safeParse(spec).success, false);
    });

  for (const [what, spec] of Object.entries(right))
    test(`${what} is taken as it is, by both`, async () => {
      await stage.cluster.apply(mcpBackend('right', spec));
      assert.deepEqual((await get('mcpbackend', 'right'))?.spec, spec);
      assert.equal(mcpBackendSchema.safeParse(spec).success, true);
      await stage.cluster.kubectl(['delete', 'mcpbackend', 'right']);
    });
});

const object = (apiVersion: string, kind: string, name: string, rest: object): string =>
  JSON.stringify({ apiVersion, kind, metadata: { name }, ...rest });

const gatewayClass = object(gatewayApi, 'GatewayClass', 'portcullis', {
  spec: { controllerName: 'portcullis.dev/gateway' },
});

const gateway = (name: string, parametersName?: string): string =>
  object(gatewayApi, 'Gateway', name, {
    spec: {
      gatewayClassName: 'portcullis',
      listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }],
      ...(parametersName === undefined
        ? {}
        : {
            infrastructure: {
              parametersRef: { group: 'portcullis.dev', kind: 'PortcullisParameters', name: parametersName },
            },
          }),
    },
  });

/** From a Gateway to an McpBackend, all of one name. */
const route = (name: string): string =>
  object(gatewayApi, 'HTTPRoute', name, {
    spec: {
      parentRefs: [{ name }],
      rules: [{ backendRefs: [{ group: 'portcullis.dev', kind: 'McpBackend', name }] }],
    },
  });

const parameters = (name: string, spec: object): string =>
  object(ours, 'PortcullisParameters', name, { spec });

const mcpBackend = (name: string, spec: object): string => object(ours, 'McpBackend', name, { spec });

const secret = (name: string, value: string, forPrograms: boolean): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, ...(forPrograms ? { labels: { 'portcullis.dev/use': 'mcp-env' } } : {}) },
    stringData: { api: value },
  });
