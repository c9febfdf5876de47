/** The admin API shows refusals, errors and watched requests of all workers, and explains requests. */

import assert from 'node:assert/strict';
import { after, before, test, type TestContext } from 'node:test';
import type { Decision } from '../../src/proxy/contract.ts';
import { apiClient, operatorOf, operatorSecret } from './adminApi.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession } from './session.testing.ts';
import { rogueBackends, startEchoApp } from './stage.testing.ts';

let app: Awaited<ReturnType<typeof startEchoApp>>;
const gateways = new Map<number, GatewayProcess>();

before(async () => {
  app = await startEchoApp();
  for (const workers of [1, 2])
    gateways.set(
      workers,
      await startGateway(`
config: { workers: ${workers}, logging: { accessLog: json } }
binds:
- port: 0
  listeners:
  - routes:
    - name: ruled
      matches: [{ path: { pathPrefix: /anything/ruled } }]
      policies:
        authorization: { rules: [{ deny: 'request.headers["x-who"] == "eve"', name: not eve }] }
      backends: [{ host: '127.0.0.1:${app.port}' }]
    - name: failing
      matches: [{ path: { pathPrefix: /anything/failing } }]
      policies:
        authorization: { rules: [{ deny: 'int(request.headers["x-n"]) > 3' }] }
      backends: [{ host: '127.0.0.1:${app.port}' }]
    - name: tools
      matches: [{ path: { pathPrefix: /tools } }]
      policies:
        mcpAuthorization: { rules: [{ deny: mcp.tool.arguments.force == true, name: no force }] }
      backends: ${rogueBackends}
    - name: limited
      matches: [{ path: { pathPrefix: /anything/limited } }]
      policies: { localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: 1h }] }
      backends: [{ host: '127.0.0.1:${app.port}' }]
`),
    );
});
after(async () => {
  for (const gateway of gateways.values()) await gateway.stop();
  await app?.close();
});

interface RequestRecord {
  readonly requestId: string;
  readonly status: number;
  readonly decidedBy?: { readonly rule?: string };
  readonly decision: Decision;
  readonly skippedBefore?: number;
}

/** Reads records until one has the id. */
async function recordsUntil(
  t: TestContext,
  gateway: GatewayProcess,
  query: string,
  last: string,
): Promise<RequestRecord[]> {
  const ended = new AbortController();
  t.after(() => ended.abort());
  const response = await fetch(`${gateway.admin}/api/v1/requests${query}`, {
    signal: ended.signal,
    headers: { authorization: `Bearer ${operatorSecret(gateway).secret}` },
  });
  assert.equal(response.status, 200, await (response.ok ? '' : response.text()));
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  const records: RequestRecord[] = [];
  let text = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^event: request\ndata: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) records.push(JSON.parse(data) as RequestRecord);
    }
    if (records.some(({ requestId }) => requestId === last)) break;
  }
  return records;
}

const ask = async (gateway: GatewayProcess, path: string, id: string, who = 'ada'): Promise<number> => {
  const response = await fetch(`${gateway.url}${path}`, { headers: { 'x-request-id': id, 'x-who': who } });
  await response.text();
  return response.status;
};

for (const workers of [1, 2]) {
  test(`with ${workers} workers, refusals are kept for whoever comes later`, async (t) => {
    const gateway = gateways.get(workers)!;
    assert.equal(await ask(gateway, '/anything/ruled', 'unwatched'), 200);
    assert.equal(await ask(gateway, '/anything/ruled', 'refused', 'eve'), 403);
    const records = await recordsUntil(t, gateway, '', 'refused');
    assert.deepEqual(
      records.map(({ requestId }) => requestId),
      ['refused'],
      'a served request that nobody watches has no record',
    );
    const [{ decision, status } = assert.fail()] = records;
    assert.equal(status, 403);
    assert.equal(decision.route, 'ruled');
    assert.deepEqual(
      decision.policies[0]?.rules?.map(({ rule, value }) => [rule, value]),
      [['not eve', 'true']],
    );
    assert.equal(decision.outcome.rule, 'not eve');
    assert.match(decision.outcome.place ?? '', /routes\[0\]\.policies\.authorization\.rules\[0\]$/);
  });

  test(`with ${workers} workers, the record of a rule that fails holds no value of the request`, async (t) => {
    const gateway = gateways.get(workers)!;
    const headers = { 'x-request-id': 'failing', 'x-n': 'hunter2-my-pass' };
    const response = await fetch(`${gateway.url}/anything/failing`, { headers });
    assert.equal(response.status, 403, await response.text());
    const records = await recordsUntil(t, gateway, '', 'failing');
    const record = records.find(({ requestId }) => requestId === 'failing');
    assert.deepEqual(
      record?.decision.policies[0]?.rules?.map(({ value }) => value),
      ['the text is no int'],
    );
    assert.doesNotMatch(JSON.stringify(records), /hunter2/);
  });

  test(`with ${workers} workers, the record of a refused call has the value of the rule for its arguments`, async (t) => {
    const gateway = gateways.get(workers)!;
    const session = await openSession(`${gateway.url}/tools`);
    assert.ok((await session.call('echo', { force: true })).error !== undefined);
    await session.close();
    assert.equal(await ask(gateway, '/anything/ruled', 'after-call', 'eve'), 403);
    const records = await recordsUntil(t, gateway, '', 'after-call');
    const { decision } = records.findLast((one) => one.decidedBy?.rule === 'no force') ?? assert.fail();
    assert.deepEqual(
      decision.policies.map(({ policy, verdict, rules = [] }) => [
        policy,
        verdict,
        ...rules.map(({ value }) => value),
      ]),
      [['mcpAuthorization', 'refused', 'true']],
    );
  });

  test(`with ${workers} workers, a watched request has a record with its decision`, async (t) => {
    const gateway = gateways.get(workers)!;
    const filter = encodeURIComponent('request.path == "/anything/ruled/watched"');
    const found = recordsUntil(t, gateway, `?filter=${filter}`, 'watched');
    // The stream may be open before all workers know of it.
    const asking = new AbortController();
    const asked = (async () => {
      while (!asking.signal.aborted) {
        await ask(gateway, '/anything/ruled/other', 'other', 'eve');
        await ask(gateway, '/anything/ruled/watched', 'watched');
      }
    })();
    const records = await found;
    asking.abort();
    await asked;
    assert.ok(records.every(({ requestId }) => requestId === 'watched'));
    assert.equal(records.at(-1)?.decision.outcome.kind, 'forwarded');
    assert.equal(records.at(-1)?.decision.upstream?.status, 200);
  });

  test(`with ${workers} workers, a request is explained and leaves nothing behind`, async () => {
    const gateway = gateways.get(workers)!;
    const operator = operatorOf(gateway);
    const why = (body: unknown, headers = {}) => operator('POST', '/api/v1/why', body, headers);
    const limited = { request: 'GET /anything/limited HTTP/1.1\nHost: a' };
    for (let nth = 0; nth < 3; nth++) {
      const decision = (await why(limited)).json as Decision;
      assert.equal(decision.outcome.kind, 'forwarded');
      assert.equal(decision.policies[0]?.verdict, 'not evaluated');
    }
    assert.equal(await ask(gateway, '/anything/limited', 'first'), 200, 'no token was drawn');
    assert.equal((await why(limited, { authorization: 'Bearer other' })).status, 401);
    assert.equal((await why({})).status, 400);
    assert.equal((await why({ ...limited, extra: 1 })).status, 400);
    assert.equal((await why({ ...limited, port: 1 })).status, 422);
  });
}

test('a filter that does not compile is refused', async () => {
  const gateway = gateways.get(1)!;
  const { status, json } = await operatorOf(gateway)('GET', '/api/v1/requests?filter=nonsense');
  assert.equal(status, 400);
  assert.match((json as { detail: string }).detail, /^filter: .*nonsense/);
});

test('a page of another site cannot read the requests', async () => {
  const gateway = gateways.get(1)!;
  const foreign = { origin: 'https://evil.test' };
  assert.equal((await operatorOf(gateway)('GET', '/api/v1/requests', undefined, foreign)).status, 403);
  const { json } = await apiClient(gateway)('GET', '/api/v1/requests');
  assert.equal((json as { status: number }).status, 401, 'nor can another account of the machine');
});

/** The records that a gateway has left out. */
async function leftOut(gateway: GatewayProcess): Promise<number> {
  const line = /^portcullis_request_records_dropped_total (\d+)$/m.exec(await gateway.metrics());
  return Number(line?.[1] ?? 0);
}

test('records that come too fast are left out, the stream says how many, and a refusal still has its record', async (t) => {
  const gateway = gateways.get(1)!;
  const before = await leftOut(gateway);
  const found = recordsUntil(t, gateway, '', 'last');
  const flood = (): Promise<unknown> =>
    Promise.all(Array.from({ length: 300 }, () => ask(gateway, '/anything/ruled/flood', 'flood')));
  while ((await leftOut(gateway)) === before) await flood();
  const skipped = (await leftOut(gateway)) - before;
  assert.equal(await ask(gateway, '/anything/ruled/flood', 'denied', 'eve'), 403);
  const asking = new AbortController();
  const asked = (async () => {
    while (!asking.signal.aborted) await ask(gateway, '/anything/ruled/flood', 'last');
  })();
  const records = await found;
  asking.abort();
  await asked;
  assert.ok(records.some(({ requestId }) => requestId === 'denied'));
  const told = records.reduce((sum, { skippedBefore = 0 }) => sum + skippedBefore, 0);
  assert.ok(told >= skipped, `${told} of ${skipped}`);
});
