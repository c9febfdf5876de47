/**
 * `npm run conformance:gateway-api`: the official suite of the Gateway API against a cluster of the test bed. Exit code 1
 * where a result changed. See README.md.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { findBed } from '../../support/kubeCluster.ts';
import { NodeCluster, whyNoNode } from '../../support/nodeCluster.ts';
import { compareWithKnown, readResults } from './results.ts';

const profiles = ['GATEWAY-HTTP', 'GATEWAY-GRPC', 'GATEWAY-TLS', 'GATEWAY-TCP', 'GATEWAY-UDP'];
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const { values: flags } = parseArgs({
  options: {
    profile: { type: 'string', multiple: true, default: profiles },
    test: { type: 'string' },
    direct: { type: 'boolean', default: false },
    report: { type: 'string' },
    output: { type: 'string' },
  },
});
const missing = whyNoNode();
if (missing !== undefined) throw new Error(missing);
await promisify(execFile)(here('bed/build.sh'));
const bed = findBed();
if ('missing' in bed) throw new Error(bed.missing);
const folder = join(bed.kube, '..');

/** Seconds that what ought to happen may take. The suite's own are for clusters in a cloud. */
const patience = [
  ...[
    'GWCMustBeAccepted',
    'GatewayMustHaveAddress',
    'GatewayMustHaveCondition',
    'GatewayStatusMustHaveListeners',
    'GatewayListenersMustHaveConditions',
    'ListenerSetMustHaveCondition',
    'HTTPRouteMustHaveCondition',
    'TLSRouteMustHaveCondition',
    'RouteMustHaveParents',
    'LatestObservedGenerationSet',
  ].map((name) => `${name}:30`),
  'MaxTimeToConsistency:20',
  'NamespacesMustBeReady:180',
].join(';');

/** Looks at the pods of a Gateway, which has none where this process serves it. */
const aboutPods = 'GatewayInfrastructureMetadata';

const { version } = JSON.parse(readFileSync(here('../../../package.json'), 'utf8')) as {
  readonly version: string;
};
const images = ['echo-basic', 'dns'].map((name) => join(folder, 'img', `${name}.tar`));
if (!flags.direct) {
  const image = join(folder, 'img', 'portcullis.tar');
  await promisify(execFile)(here('../../../deploy/image.sh'), [image]);
  images.push(image);
}
const cluster = await NodeCluster.start(images);
let output = '';
try {
  const crds = join(bed.crds, 'experimental');
  await cluster.run([
    'bash',
    '-c',
    `ls ${crds}/gateway*.yaml | sed 's/^/-f /' | xargs kubectl apply --server-side`,
  ]);
  await cluster.run(['kubectl', 'wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
  if (flags.direct) {
    await cluster.run(['kubectl', 'apply', '-f', here('class.yaml')]);
    cluster.spawn('gateway', [process.execPath, here('gateway.ts'), cluster.kubeconfig]);
  } else {
    // As an operator does it: a controller in a pod, which makes the proxies of each Gateway.
    await cluster.run(['kubectl', 'apply', '-f', here('../../../deploy/install.yaml')]);
    cluster.startLoadBalancer();
  }
  const accepted = ['--for=condition=Accepted', 'gatewayclass/portcullis', '--timeout=120s'];
  await cluster.run(['kubectl', 'wait', ...accepted]);
  const report = join(cluster.folder, 'report.yaml');
  const suite = [
    ...[join(folder, 'conformance.test'), '-test.run=^TestGatewayAPI$', '-test.v', '-test.timeout=40m'],
    ...['-gateway-class=portcullis', '-cleanup-base-resources=false'],
    ...[`-conformance-profiles=${flags.profile.join(',')}`, `-timeout-config-overrides=${patience}`],
    ...['-usable-address=198.19.0.60', '-unusable-address=198.19.5.5'],
    ...['-organization=portcullis', '-project=portcullis', '-url=https://portcullis.dev'],
    ...[`-version=${version}`, '-contact=https://portcullis.dev', `-report-output=${report}`],
    ...(flags.test === undefined ? [] : [`-run-test=${flags.test}`]),
    ...(flags.direct ? [`-skip-tests=${aboutPods}`] : []),
  ];
  try {
    ({ stdout: output } = await cluster.run(suite));
  } catch (error) {
    // It ends with 1 when a test fails: what failed is read from what it says.
    const { stdout = '' } = error as { readonly stdout?: string };
    if (stdout === '') throw error;
    output = stdout;
  }
  if (flags.report !== undefined && existsSync(report)) writeFileSync(flags.report, readFileSync(report));
  if (flags.output !== undefined) {
    const controller = ['kubectl', 'logs', '-n', 'portcullis-system', 'deployment/portcullis-controller'];
    const log = flags.direct ? cluster.log('gateway') : (await cluster.run(controller)).stdout;
    writeFileSync(flags.output, `${output}\n${log}`);
  }
} finally {
  await cluster.stop();
}

const results = readResults(output);
if (results.length === 0) throw new Error(`no test was run:\n${output.slice(-4_000)}`);
const whole = flags.test === undefined && profiles.every((name) => flags.profile.includes(name));
const { passed, total, known, unexpected, gone } = compareWithKnown(results, whole);
console.log(`${String(passed)} of ${String(total)} tests passed`);
for (const [id, reason] of known) console.log(`known     ${id}\n          ${reason}`);
for (const id of unexpected) console.log(`FAILED    ${id}`);
for (const id of gone) console.log(`PASSED    ${id} (take it off the list)`);
if (unexpected.length + gone.length > 0) process.exitCode = 1;
