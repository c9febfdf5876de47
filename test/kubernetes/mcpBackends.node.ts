/** On a cluster with pods: McpBackends with a pod of their own and with several targets, and the audit stream of proxies. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findHelm } from '../support/helm.ts';
import { findBed } from '../support/kubeCluster.ts';
import { NodeCluster, whyNoNode } from '../support/nodeCluster.ts';
import { verifyFiles } from '../../src/audit/index.ts';
import { until } from '../../src/until.testing.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const helm = findHelm();
const skip = whyNoNode() ?? ('missing' in helm && helm.missing);

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});
const list = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}';
const callOf = (name: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { name, arguments: { message: 'hello' } },
  });
const call = callOf('echo');
/** User and group of the pods. */
const podUser = 65_532;

describe('McpBackends in pods', { skip }, () => {
  let cluster: NodeCluster | undefined;

  const running = (): NodeCluster => {
    assert.ok(cluster !== undefined);
    return cluster;
  };
  const kubectl = async (...args: readonly string[]): Promise<string> =>
    (await running().run(['kubectl', '-n', 'mcp', ...args])).stdout.trim();
  /** Status, headers and body, as `curl -i` prints them. */
  const post = async (url: string, body: string, ...headers: readonly string[]): Promise<string> => {
    const said = [
      'content-type: application/json',
      'accept: application/json, text/event-stream',
      ...headers,
    ];
    const flags = said.flatMap((header) => ['-H', header]);
    return (await running().run(['curl', '-si', '--max-time', '60', url, ...flags, '-d', body])).stdout;
  };
  /** Opens a session. @returns the address, and the headers of its requests */
  const open = async (path: string): Promise<[string, string, string]> => {
    const address = await kubectl('get', 'gateway', 'mcp', '-o', 'jsonpath={.status.addresses[0].value}');
    const url = `http://${address}${path}`;
    const begun = await post(url, initialize);
    const session = /^mcp-session-id: (\S+)\r$/im.exec(begun)?.[1];
    assert.ok(session !== undefined, begun);
    const ours = [`mcp-session-id: ${session}`, 'mcp-protocol-version: 2025-11-25'] as const;
    await post(url, '{"jsonrpc":"2.0","method":"notifications/initialized"}', ...ours);
    return [url, ...ours];
  };
  const inPod = (kind: string): Promise<string> =>
    kubectl('get', kind, '-l', 'app.kubernetes.io/component=mcp', '-o', 'name');

  before(async () => {
    const bed = findBed();
    assert.ok('kube' in bed && 'helm' in helm);
    cluster = await NodeCluster.start();
    await cluster.makeImages(undefined, '--mcp');
    await cluster.run(['kubectl', 'apply', '--server-side', '-f', join(bed.crds, 'standard')]);
    const chart = [join(root, 'deploy/chart'), '-n=portcullis-system', '--create-namespace', '--wait'];
    await cluster.run([helm.helm, 'install', 'portcullis', ...chart]);
    cluster.startLoadBalancer();
    for (const name of ['mcp', 'mcp-pod'])
      await kubectl('apply', '-f', join(root, `deploy/samples/${name}.yaml`));
    await kubectl('wait', '--for=condition=Programmed', 'gateway/mcp', '--timeout=3m');
    await kubectl(
      'wait',
      'mcpbackend/apart',
      '--for=jsonpath={.status.ancestors[0].conditions[?(@.type=="Programmed")].status}=True',
      '--timeout=3m',
    );
  });
  after(async () => await cluster?.stop());

  test('the program of a pod of its own is used through the Gateway, and starts beside neither its proxies nor their keys', async () => {
    const [url, ...ours] = await open('/pod');
    assert.match(await post(url, call, ...ours), /"text":"Echo: hello"/);
    const log = await kubectl('logs', '-l', 'app.kubernetes.io/component=proxy', '--tail=-1');
    assert.doesNotMatch(log, /Starting default \(STDIO\) server/);
  });

  test('a session goes on when the pod was replaced', async () => {
    const [url, ...ours] = await open('/pod');
    assert.match(await post(url, call, ...ours), /"text":"Echo: hello"/);
    const former = await inPod('pods');
    await kubectl('delete', former, '--grace-period=1');
    await kubectl('rollout', 'status', await inPod('deployment'), '--timeout=2m');
    assert.notEqual(await inPod('pods'), former);
    const end = performance.now() + 60_000;
    let answer = '';
    while (!answer.includes('"text":"Echo: hello"')) {
      if (performance.now() > end) throw new Error(answer);
      answer = await post(url, call, ...ours);
    }
  });

  test('only the proxies reach the pod of a program', async () => {
    const pod = ['get', 'pods', '-l', 'app.kubernetes.io/component=mcp', '-o'];
    const url = `http://${await kubectl(...pod, 'jsonpath={.items[0].status.podIP}')}:8080/mcp`;
    assert.match(await post(url, initialize), /^HTTP\/1\.1 401 /);
    assert.match(await post(url, initialize, 'authorization: Bearer 00'), /^HTTP\/1\.1 401 /);
  });

  test('a program in the proxies and a Service are one server of an McpBackend with several targets', async () => {
    for (const name of ['mcp-service', 'mcp-federation'])
      await kubectl('apply', '-f', join(root, `deploy/samples/${name}.yaml`));
    await kubectl('rollout', 'status', 'deployment/everything', '--timeout=2m');
    const { to, listed } = await until('the tools of the Service are there', async () => {
      const [url, ...ours] = await open('/desk');
      const tools = await post(url, list, ...ours);
      return tools.includes('"service_echo"') && { to: [url, ...ours] as const, listed: tools };
    });
    assert.match(listed, /"program_echo"/);
    assert.doesNotMatch(listed, /"program_printEnv"/);
    const [url, ...ours] = to;
    for (const name of ['program_echo', 'service_echo'])
      assert.match(await post(url, callOf(name), ...ours), /"text":"Echo: hello"/, name);
  });

  test('each proxy writes an audit stream of its own into a claim, and it is whole', async () => {
    const folder = join(running().folder, 'audit');
    mkdirSync(folder);
    // Kubernetes gives a volume to the group of its pods, except for a path of the node.
    chownSync(folder, 0, podUser);
    chmodSync(folder, 0o2770);
    const key = 'k'.repeat(32);
    const objects = [
      {
        kind: 'PersistentVolume',
        metadata: { name: 'audit' },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteMany'],
          persistentVolumeReclaimPolicy: 'Retain',
          hostPath: { path: folder },
        },
      },
      {
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'audit', namespace: 'mcp' },
        spec: {
          accessModes: ['ReadWriteMany'],
          storageClassName: '',
          volumeName: 'audit',
          resources: { requests: { storage: '1Gi' } },
        },
      },
      { kind: 'Secret', metadata: { name: 'audit', namespace: 'mcp' }, stringData: { 'chain.key': key } },
    ];
    const file = join(running().folder, 'audit.json');
    const items = objects.map((object) => ({ apiVersion: 'v1', ...object }));
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await kubectl('apply', '-f', file);
    const audit = {
      sink: { file: { path: '/var/log/portcullis/audit.jsonl' } },
      chain: {},
      secretName: 'audit',
      volume: { persistentVolumeClaim: { claimName: 'audit' } },
    };
    await kubectl(
      'patch',
      'portcullisparameters/mcp',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { audit } }),
    );
    const streams = (): string[] =>
      readdirSync(folder)
        .map((pod) => join(folder, pod, 'audit.jsonl'))
        .filter((path) => existsSync(path));
    await until('a proxy has begun a stream', () => streams().length > 0, 120_000);
    const proxies = ['-l', 'app.kubernetes.io/component=proxy', '-o', 'name'];
    await kubectl('rollout', 'status', await kubectl('get', 'deployment', ...proxies), '--timeout=2m');
    const texts = (): string =>
      streams()
        .map((path) => `${path}\n${readFileSync(path, 'utf8')}`)
        .join('\n');
    // A proxy that ends may answer once more.
    const stream = await until(
      () => `a call has its line: ${texts()}`,
      async () => {
        const [url, ...ours] = await open('/pod');
        assert.match(await post(url, call, ...ours), /"text":"Echo: hello"/);
        return streams().find((path) => readFileSync(path, 'utf8').includes('"api.operation":"tools/call"'));
      },
    );
    const pods = (await kubectl('get', 'pods', ...proxies)).split('\n');
    assert.ok(
      pods.some((pod) => stream.includes(`/${pod.replace('pod/', '')}/`)),
      `${stream} ${String(pods)}`,
    );
    const found = await verifyFiles({
      files: [stream],
      key: Buffer.from(key),
      checkpoints: [],
      partial: false,
    });
    assert.deepEqual(found.problems, []);
    assert.ok(found.lines >= 3);
  });

  test('the pod of a program goes when it is not allowed any more, and with its McpBackend', async () => {
    const allow = async (pods: string): Promise<unknown> =>
      await kubectl(
        'patch',
        'portcullisparameters/mcp',
        '--type=merge',
        '-p',
        JSON.stringify({ spec: { mcp: { pods } } }),
      );
    const [former = ''] = (await inPod('pods')).split('\n');
    assert.notEqual(former, '');
    await allow('None');
    await kubectl('wait', '--for=delete', former, '--timeout=3m');
    const reason = 'jsonpath={.status.ancestors[0].conditions[?(@.type=="Accepted")].reason}';
    await until(
      'the status says so',
      async () => (await kubectl('get', 'mcpbackend', 'apart', '-o', reason)) === 'PodNotAllowed',
    );
    for (const kind of ['deployment', 'service', 'networkpolicy', 'serviceaccount', 'configmap'])
      await until(`the ${kind} is gone`, async () => (await inPod(kind)) === '');

    await allow('Same');
    await kubectl('wait', '--for=create', 'pod', '-l', 'app.kubernetes.io/component=mcp', '--timeout=2m');
    const [next = ''] = (await inPod('pods')).split('\n');
    await kubectl('delete', 'mcpbackend', 'apart');
    await kubectl('wait', '--for=delete', next, '--timeout=3m');
  });
});
