/**
 * `npm run scale:kube [-- --rounds 3] [--changes 40] [--small] [--no-write]`: a large cluster of objects on a real API
 * server, the controller as it is installed, a proxy and a client, and a clock. Writes a section of bench/RESULTS.md
 * that `npm run bench` keeps. Exit code 1 where a goal is missed.
 *
 * `--first-start` ends after the very first start and writes nothing; `--profile FOLDER` has the controller leave a
 * profile of its CPU there each time it ends.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { resultsFile } from '../../../bench/arguments.ts';
import { versions } from '../../../bench/machine.ts';
import { withKubernetes } from '../../../bench/report/kept.ts';
import { authority } from '../../../src/proxy/certificates.testing.ts';
import { kubeAccess } from '../../../src/controller/api/access.ts';
import { KubeApi } from '../../../src/controller/api/api.ts';
import { isNotFound } from '../../../src/controller/api/apiError.ts';
import { createMetrics } from '../../../src/telemetry/index.ts';
import { startGateway } from '../../e2e/gateway.testing.ts';
import { startCluster } from '../../support/kubeCluster.ts';
import { freePorts } from '../../support/loopback.ts';
import { apply } from './api.ts';
import {
  backendChanges,
  churn,
  churned,
  endpointChanges,
  filterChanges,
  mcpChanges,
  policyChanges,
  type ChangeTimes,
  type Scene,
} from './changes.ts';
import { listen, type Credentials } from './listening.ts';
import {
  gatewayName,
  namespace,
  realApp,
  realHost,
  realMcpBackend,
  realPolicy,
  realRoute,
  realSlice,
  realTools,
  service,
  toolsRoute,
} from './objects.ts';
import { populate } from './populate.ts';
import { ControllerProgram } from './program.ts';
import { isMet, scaleReport } from './report.ts';
import { smallShape, wholeShape } from './shape.ts';
import { statusesWritten, measureStart, type Start } from './start.ts';
import { startTools, ToolsClient } from './tools.ts';
import { Client, ownAddress, startApp } from './traffic.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    changes: { type: 'string', default: '40' },
    small: { type: 'boolean', default: false },
    'no-write': { type: 'boolean', default: false },
    'first-start': { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
});
const [rounds, changes] = [Number(values.rounds), Number(values.changes)];
if (!Number.isInteger(rounds) || rounds < 1 || !Number.isInteger(changes) || changes < 1) {
  console.error('--rounds and --changes take a number from 1 on');
  process.exit(2);
}
const shape = values.small ? smallShape : wholeShape;
const say = (text: string): void =>
  console.error(`${(performance.now() / 1_000).toFixed(0).padStart(4)} s  ${text}`);

const [loadBefore = 0] = loadavg();
const folder = mkdtempSync(join(tmpdir(), 'portcullis-scale-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// Programs that are started here end with this process, also when it is told to end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const write = (name: string, content: string | Uint8Array): string => {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
};

await using ends = new AsyncDisposableStack();
const cluster = await startCluster();
ends.defer(async () => await cluster.stop());
await cluster.installGatewayApi();
const crds = new URL('../../../deploy/chart/crds/', import.meta.url);
for (const name of readdirSync(crds)) await cluster.apply(readFileSync(new URL(name, crds), 'utf8'));
const api = new KubeApi({
  access: await kubeAccess({ file: cluster.kubeconfig }),
  metrics: createMetrics({ process: false }),
  userAgent: 'portcullis-scale',
});
ends.defer(() => api.close());

const address = ownAddress();
const apps = [await startApp('a', address), await startApp('b', address)] as const;
const servers = [await startTools(realTools, address), await startTools(`${realTools}-b`, address)] as const;
for (const one of [...apps, ...servers]) ends.defer(async () => await one.close());
const [plain = 0, secure = 0] = await freePorts(2);
say('making the objects');
await populate(api, shape, {
  ports: [plain, secure],
  identity: authority().issue({ names: ['*.example.test'] }),
});
for (const [name, { port }] of [
  [realApp, apps[0]],
  [`${realApp}-b`, apps[1]],
  [realTools, servers[0]],
  [`${realTools}-b`, servers[1]],
] as const) {
  await apply(api, service(name));
  await apply(api, realSlice(name, address, port));
}
for (const object of [realRoute('v0', realApp), realPolicy('p0'), realMcpBackend(realTools), toolsRoute])
  await apply(api, object);

const tokenOf = async (name: string): Promise<string> => {
  const answer = (await api.request({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: ['portcullis.dev/controller'], expirationSeconds: 7_200 },
    },
  })) as { readonly status: { readonly token: string } };
  return answer.status.token;
};
const tokenFiles = new Map<string, string>();
/** The credentials that pods would find in their volumes. */
const credentials = async (): Promise<Credentials> => {
  const secret = (await api.request({
    path: `/api/v1/namespaces/${namespace}/secrets/portcullis-controller`,
  })) as { readonly data: Readonly<Record<string, string>> };
  for (let index = tokenFiles.size; index < shape.gateways; index++) {
    const name = gatewayName(index);
    // The account is of the controller's making: a pod would wait for it, too.
    while (!tokenFiles.has(`${namespace}/${name}`))
      try {
        tokenFiles.set(`${namespace}/${name}`, write(`token-${name}`, await tokenOf(name)));
      } catch (error) {
        if (!isNotFound(error)) throw error;
        await pause(50);
      }
  }
  return {
    controller: `127.0.0.1:${controller.modelsPort}`,
    serverName: `portcullis-controller.${namespace}.svc`,
    caFile: write('ca.crt', Buffer.from(secret.data['ca.crt'] ?? '', 'base64')),
    tokenFiles,
  };
};

const peaks: number[] = [];
const starts: Start[] = [];
const startController = (): ControllerProgram =>
  new ControllerProgram(cluster.kubeconfig, namespace, values.profile);
let controller = startController();
ends.defer(async () => await controller.end());
process.on('exit', () => controller.kill());
for (let turn = 0; turn <= (values['first-start'] ? 0 : rounds); turn++) {
  if (turn > 0) {
    peaks.push(controller.peakBytes);
    await controller.end();
    controller = startController();
  }
  const start = await measureStart(controller, credentials);
  starts.push(start);
  say(`start: ${JSON.stringify(start)}, ${(controller.peakBytes / 1_048_576).toFixed(0)} MiB`);
}
const [first, ...later] = starts;
if (first === undefined) throw new Error('there was no start');
await statusesWritten(api, shape);
if (values['first-start']) {
  console.log(JSON.stringify(first));
  await ends.disposeAsync();
  process.exit(Math.max(first.ready, first.served, first.written) > 30_000 ? 1 : 0);
}

const own = await credentials();
const served = `${namespace}/${gatewayName(0)}`;
const proxy = await startGateway('', {
  args: [
    'proxy',
    `--gateway=${served}`,
    `--controller=${own.controller}`,
    `--server-name=${own.serverName}`,
    `--token-file=${own.tokenFiles.get(served) ?? ''}`,
    `--ca-file=${own.caFile}`,
  ],
});
ends.use(proxy);
process.on('exit', () => proxy.signal('SIGKILL'));
const others = listen({ ...own, tokenFiles: new Map([...own.tokenFiles].filter(([key]) => key !== served)) });
ends.defer(async () => await others.close());
await others.complete;

const client = new Client(plain, realHost);
ends.defer(() => client.close());
await client.until('the route is served', (answer) => answer.version === 'v0');
client.failed = 0;
const tools = new ToolsClient(plain, realHost);
ends.defer(() => tools.close());
await tools.until(realTools);
tools.failed = 0;
const scene: Scene = { api, client, tools, address, apps, shape };
const before = await controller.figures();
const all: ChangeTimes[][] = [];
let [quietRequests, quietChanges, quietCpuMs] = [0, 0, 0];
for (let round = 0; round < rounds; round++) {
  const requestsBefore = (await controller.figures()).sum('kube_api_requests_total');
  const cpuBefore = controller.cpuMs;
  const quiet = [
    await filterChanges('filter of a route', scene, changes),
    await backendChanges(scene, changes),
    await endpointChanges(scene, changes),
    await policyChanges('GatewayPolicy of a route', scene, changes),
    await mcpChanges(scene, changes),
  ];
  quietRequests += (await controller.figures()).sum('kube_api_requests_total') - requestsBefore;
  quietCpuMs += controller.cpuMs - cpuBefore;
  quietChanges += quiet.length * changes + 1;
  const busy = churn(scene);
  const meanwhile = `while ${churned} change each second`;
  const disturbed = [
    await filterChanges(`filter of a route, ${meanwhile}`, scene, changes),
    await policyChanges(`GatewayPolicy of a route, ${meanwhile}`, scene, changes),
  ];
  await busy.end();
  all.push([...quiet, ...disturbed]);
  for (const { name, toTraffic } of all.at(-1) ?? [])
    say(
      `${name}: median ${toTraffic.toSorted((a, b) => a - b)[Math.floor(toTraffic.length / 2)]?.toFixed(0) ?? ''}, longest ${Math.max(...toTraffic).toFixed(0)} ms`,
    );
}
const after = await controller.figures();
peaks.push(controller.peakBytes);
const meanMs = (what: string): number => {
  const [sum = 0, count = 0] = ['sum', 'count'].map((name) => {
    const series = [`kube_translation_duration_seconds_${name}`, `what="${what}"`] as const;
    return after.sum(...series) - before.sum(...series);
  });
  return (sum / count) * 1_000;
};
await statusesWritten(api, shape);
for (const complaint of controller.complaints) say(complaint);

const { portcullis = '' } = versions();
const { serverVersion } = JSON.parse(await cluster.kubectl(['version', '-o', 'json'])) as {
  readonly serverVersion: { readonly gitVersion: string };
};
const measured = {
  shape,
  versions: `portcullis ${portcullis}; Kubernetes ${serverVersion.gitVersion}`,
  loadBefore,
  minutes: performance.now() / 60_000,
  first,
  later,
  rounds: all,
  peaks,
  perChange: {
    requests: quietRequests / quietChanges,
    lists: after.sum('kube_lists_total') - before.sum('kube_lists_total'),
  },
  translationMs: { whole: meanMs('objects'), part: meanMs('part') },
  cpuMsPerChange: quietCpuMs / quietChanges,
  asked: client.asked + tools.asked,
  failed: client.failed + tools.failed,
};
const section = scaleReport(measured);
console.log(`\n${section.join('\n')}`);
// A part of it proves nothing.
if (!values.small && !values['no-write'])
  writeFileSync(resultsFile, withKubernetes(readFileSync(resultsFile, 'utf8'), section));
if (!isMet(measured)) process.exitCode = 1;
