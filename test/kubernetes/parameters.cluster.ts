import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { parametersSchema } from '../../src/controller/provision/parameters.ts';
import { fencesOf } from '../support/guide.ts';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';

const crd = new URL('../../deploy/chart/crds/portcullis.dev_portcullisparameters.yaml', import.meta.url);

/** The error of a spec → the spec. */
const wrong: Readonly<Record<string, object>> = {
  'a number where a text belongs': { image: 1 },
  'a level that is not known': { logLevel: 'loud' },
  'fewer than no replicas': { replicas: -1 },
  'a fixed number of replicas that is scaled': { replicas: 1, autoscaling: { maxReplicas: 2 } },
  'more at least than at most': { autoscaling: { minReplicas: 3, maxReplicas: 2 } },
  'no bound at all': { autoscaling: {} },
  'a budget of nothing': { disruptionBudget: {} },
  'a budget of both kinds': { disruptionBudget: { minAvailable: 1, maxUnavailable: 1 } },
  'a share above the whole': { disruptionBudget: { maxUnavailable: '101%' } },
  'a quantity that is none': { resources: { limits: { memory: '1 GB' } } },
  'a class of load balancer without one': { service: { type: 'ClusterIP', loadBalancerClass: 'a' } },
  'a way from outside to what is inside': {
    service: { type: 'ClusterIP', externalTrafficPolicy: 'Local' },
  },
  'a right that is not known': { mcp: { stdio: 'Some' } },
  'a field that is not known': { replica: 2 },
  'an audit file outside of the volume': {
    audit: { sink: { file: { path: '/tmp/a.jsonl' } }, volume: { emptyDir: {} } },
  },
  'an audit file without a volume': { audit: { sink: { file: { path: '/var/log/portcullis/a' } } } },
  'an audit stream without a sink': { audit: { sink: {} } },
  'a token in clear': { audit: { sink: { http: { url: 'http://a', token: 'b' } } } },
  'a chain without a Secret': { audit: { sink: { stdout: {} }, chain: {} } },
  'intents on standard output': { audit: { sink: { stdout: {} }, required: true } },
  'a volume of no kind': { audit: { sink: { stdout: {} }, volume: {} } },
  'headers in clear': { tracing: { otlpEndpoint: 'http://a', headers: 'b: c' } },
  'an address with a password': { tracing: { otlpEndpoint: 'http://a:b@c' } },
  'a level in two places': { logging: { level: 'debug' } },
  'another name for an object': { overlays: { deployment: { metadata: { name: 'other' } } } },
};

const right: Readonly<Record<string, object>> = {
  nothing: {},
  everything: {
    image: 'example.test/portcullis:1',
    imagePullPolicy: 'Always',
    imagePullSecrets: [{ name: 'pull' }],
    resources: { requests: { cpu: '100m', memory: '1Gi' }, limits: { cpu: 2 } },
    logLevel: 'debug',
    logFormat: 'json',
    service: {
      type: 'LoadBalancer',
      annotations: { a: 'b' },
      loadBalancerClass: 'example.test/lb',
      externalTrafficPolicy: 'Local',
      loadBalancerSourceRanges: ['198.18.0.0/15'],
    },
    mcp: { stdio: 'Same', hosts: 'All' },
    audit: {
      sink: { file: { path: '/var/log/portcullis/a.jsonl', rotation: { maxSize: '1MiB', keep: 2 } } },
      include: ['calls', 'admin'],
      arguments: 'redacted',
      redact: ['$.user.password'],
      chain: { checkpoints: { file: '/var/log/portcullis/c.jsonl' }, checkpointInterval: '5s' },
      required: true,
      secretName: 'audit',
      volume: { persistentVolumeClaim: { claimName: 'audit' } },
    },
    tracing: {
      otlpEndpoint: 'https://collector:4317',
      randomSampling: '0.01',
      fields: { add: { tenant: 'request.headers["x-tenant"]' }, remove: ['user_agent.original'] },
      resources: { 'service.name': '"edge"' },
      filter: 'response.code >= 400',
      secretName: 'collector',
    },
    logging: {
      accessLog: 'json',
      filter: 'response.code >= 400',
      fields: { add: { tenant: 'request.headers["x-tenant"]' }, remove: ['client'] },
      otlp: { otlpEndpoint: 'http://collector:4318', otlpProtocol: 'http', path: '/v1/logs' },
    },
    autoscaling: { minReplicas: 2, maxReplicas: 4, cpuUtilization: 50 },
    disruptionBudget: { maxUnavailable: '25%' },
    overlays: {
      deployment: { spec: { template: { spec: { nodeSelector: null, priorityClassName: 'x' } } } },
    },
  },
};

describe('PortcullisParameters', needsCluster, () => {
  const stage = clusterForSuite();

  before(async () => {
    await stage.cluster.apply(readFileSync(crd, 'utf8'));
    await stage.cluster.kubectl(['wait', '--for=condition=established', 'crd', '--all', '--timeout=60s']);
  });

  const manifest = (spec: object): string =>
    JSON.stringify({
      apiVersion: 'portcullis.dev/v1alpha1',
      kind: 'PortcullisParameters',
      metadata: { name: 'one', namespace: 'default' },
      spec,
    });

  for (const [what, spec] of Object.entries(wrong))
    test(`${what} is refused, by the server and by the controller`, async () => {
      await assert.rejects(
        stage.cluster.apply(manifest(spec)),
        /is invalid|failed to create typed patch object/,
      );
      assert.equal(parametersSchema.safeParse(spec).success, false);
    });

  test('the example of the documents is taken', async () => {
    const page = readFileSync(new URL('../../docs/proxies.md', import.meta.url), 'utf8');
    const [example] = fencesOf(page).filter(({ language }) => language === 'yaml');
    await stage.cluster.kubectl(['create', 'namespace', 'shop']);
    await stage.cluster.apply(example?.text ?? '');
  });

  for (const [what, spec] of Object.entries(right))
    test(`${what} is taken as it is, by both`, async () => {
      await stage.cluster.apply(manifest(spec));
      const text = await stage.cluster.kubectl(['get', 'portcullisparameters', 'one', '-o', 'json']);
      const stored = (JSON.parse(text) as { readonly spec: object }).spec;
      assert.deepEqual(stored, spec);
      assert.equal(parametersSchema.safeParse(stored).success, true);
      await stage.cluster.kubectl(['delete', 'portcullisparameters', 'one']);
    });
});
