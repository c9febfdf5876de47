/** On a cluster with pods: the program of an McpBackend in a pod of its own. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findHelm } from '../support/helm.ts';
import { findBed } from '../support/kubeCluster.ts';
import { NodeCluster, whyNoNode } from '../support/nodeCluster.ts';
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
const call = JSON.stringify({
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'echo', arguments: { message: 'hello' } },
});

describe('the program of an McpBackend with a pod of its own', { skip }, () => {
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

  test('is used through the Gateway, and starts beside neither its proxies nor their keys', async () => {
    const address = await kubectl('get', 'gateway', 'mcp', '-o', 'jsonpath={.status.addresses[0].value}');
    const url = `http://${address}/pod`;
    const begun = await post(url, initialize);
    const session = /^mcp-session-id: (\S+)\r$/im.exec(begun)?.[1];
    assert.ok(session !== undefined, begun);
    const ours = [`mcp-session-id: ${session}`, 'mcp-protocol-version: 2025-11-25'];
    await post(url, '{"jsonrpc":"2.0","method":"notifications/initialized"}', ...ours);
    const answer = await post(url, call, ...ours);
    assert.match(answer, /"text":"Echo: hello"/);
    const log = await kubectl('logs', '-l', 'app.kubernetes.io/component=proxy', '--tail=-1');
    assert.doesNotMatch(log, /Starting default \(STDIO\) server/);
  });

  test('a session goes on when the pod was replaced', async () => {
    const address = await kubectl('get', 'gateway', 'mcp', '-o', 'jsonpath={.status.addresses[0].value}');
    const url = `http://${address}/pod`;
    const session = /^mcp-session-id: (\S+)\r$/im.exec(await post(url, initialize))?.[1] ?? '';
    const ours = [`mcp-session-id: ${session}`, 'mcp-protocol-version: 2025-11-25'];
    await post(url, '{"jsonrpc":"2.0","method":"notifications/initialized"}', ...ours);
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

  test('only the proxies reach the pod', async () => {
    const pod = ['get', 'pods', '-l', 'app.kubernetes.io/component=mcp', '-o'];
    const url = `http://${await kubectl(...pod, 'jsonpath={.items[0].status.podIP}')}:8080/mcp`;
    assert.match(await post(url, initialize), /^HTTP\/1\.1 401 /);
    assert.match(await post(url, initialize, 'authorization: Bearer 00'), /^HTTP\/1\.1 401 /);
  });

  test('goes when it is not allowed any more, and with its McpBackend', async () => {
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
