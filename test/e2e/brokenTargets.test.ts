/** MCP servers that cannot start: operators see them in the records, the rates and the list of targets. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../src/until.testing.ts';
import { operatorOf, operatorSecret } from './adminApi.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { inline, node, rogue } from './stage.testing.ts';

const stops = `console.error('no licence found'); process.exit(3)`;
const gateways = new Map<number, GatewayProcess>();

const server = (name: string, cmd: string, args: readonly string[]): string =>
  `{ name: ${name}, stdio: ${inline({ cmd, args })} }`;
const route = (path: string, ...targets: string[]): string => `
    - name: ${path}
      matches: [{ path: { pathPrefix: /${path} } }]
      backends: [{ mcp: { failureMode: failOpen, targets: [${targets.join(', ')}] } }]`;

before(async () => {
  for (const workers of [1, 2])
    gateways.set(
      workers,
      await startGateway(`
config: { workers: ${workers}, logging: { accessLog: json } }
binds:
- port: 0
  listeners:
  - routes:${route('absent', server('absent', '/nope/x', []))}${route('stops', server('stops', node, ['-e', stops]))}${route(
    'several',
    server('good', node, [rogue]),
    server('bad', node, ['-e', stops]),
  )}
`),
    );
});
after(async () => {
  for (const gateway of gateways.values()) await gateway.stop();
});

interface Target {
  readonly name: string;
  readonly state: string;
  readonly since?: string;
  readonly problem?: string;
  readonly stderr: readonly string[];
}

const initialize = async ({ url }: GatewayProcess, path: string): Promise<number> => {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'e2e', version: '1' },
  };
  const response = await fetch(`${url}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await response.text();
  return response.status;
};

const targetOf = async (gateway: GatewayProcess, wanted: string): Promise<Target> => {
  const { json } = await operatorOf(gateway)('GET', '/api/v1/targets');
  return (json as Target[]).find(({ name }) => name === wanted) ?? assert.fail();
};

/** The records that the gateway has kept, of requests that came before this call. */
async function keptRecords(gateway: GatewayProcess): Promise<Record<string, unknown>[]> {
  const ended = new AbortController();
  const response = await fetch(`${gateway.admin}/api/v1/requests`, {
    signal: ended.signal,
    headers: { authorization: `Bearer ${operatorSecret(gateway).secret}` },
  });
  let text = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    if (text.includes('mcp_target_failed')) break;
  }
  ended.abort();
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map(
    ([, data = '']) => JSON.parse(data) as Record<string, unknown>,
  );
}

for (const workers of [1, 2])
  test(`with ${workers} workers, a server that cannot start has a record, counts as an error, and shows as failed`, async () => {
    const gateway = gateways.get(workers) ?? assert.fail();
    assert.equal((await targetOf(gateway, 'absent')).state, 'idle');
    const errors = async (): Promise<number> =>
      ((await operatorOf(gateway)('GET', '/api/v1/status')).json as { rates: { errors: number } }).rates
        .errors;
    const before = await errors();
    assert.equal(await initialize(gateway, 'absent'), 200, 'the error is one of JSON-RPC');
    await until('the error to be counted', async () => (await errors()) === before + 1);

    const absent = await targetOf(gateway, 'absent');
    assert.equal(absent.state, 'failed');
    assert.match(absent.problem ?? '', /target "absent" /);
    assert.ok(absent.since);

    // No operator watched the records when the call failed.
    const [record = assert.fail()] = await keptRecords(gateway);
    assert.equal(record['error'], 'mcp_target_failed');
    assert.deepEqual(record['extra'], {
      ...(record['extra'] as object),
      'mcp.outcome': 'error',
      'mcp.errorCode': -32603,
      'mcp.target': 'absent',
    });
    assert.equal((record['decision'] as { outcome: { kind: string } }).outcome.kind, 'failed');

    assert.equal(await initialize(gateway, 'stops'), 200);
    const stopped = await targetOf(gateway, 'stops');
    assert.equal(stopped.state, 'failed');
    assert.deepEqual(stopped.stderr, ['no licence found']);
  });

test('a server that fails beside others is failed, and the session goes on with the others', async () => {
  const gateway = gateways.get(1) ?? assert.fail();
  assert.equal(await initialize(gateway, 'several'), 200);
  const bad = await until('the failure', async () => {
    const target = await targetOf(gateway, 'bad');
    return target.state === 'failed' ? target : undefined;
  });
  assert.match(bad.problem ?? '', /target "bad" /);
  assert.deepEqual(bad.stderr, ['no licence found']);
  assert.equal((await targetOf(gateway, 'good')).state, 'ready');
});
