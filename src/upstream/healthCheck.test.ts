import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { recordingLog } from '../mcp/harness.testing.ts';
import type { HealthCheck } from '../model/index.ts';
import { field, ok, type BackendConnection } from '../proxy/wire.testing.ts';
import { until } from '../until.testing.ts';
import { ask, closedPort, endpointAt, Passenger, startBackend } from './endpoint.testing.ts';
import { Checks } from './healthCheck.ts';

const quick: HealthCheck = {
  path: '/health',
  intervalMs: 2,
  timeoutMs: 10_000,
  unhealthyThreshold: 3,
  healthyThreshold: 2,
  statuses: [{ from: 200, to: 299 }],
};

/** Checks of a backend that answers with these statuses, the last one again and again; 0 holds the answer back. */
async function checked(t: TestContext, settings: Partial<HealthCheck> = {}, ...statuses: readonly number[]) {
  const held: BackendConnection[] = [];
  const backend = await startBackend(t, {
    onRequest: (_request, one, index) => {
      const status = statuses[Math.min(index, statuses.length - 1)] ?? 200;
      if (status === 0) held.push(one);
      else one.send(ok('x').replace('200 OK', `${status} Said`));
    },
  });
  const endpoint = endpointAt(t, backend.port, { limits: { maxConnections: 1, maxPendingRequests: 0 } });
  const { stats } = endpoint;
  const { log, lines } = recordingLog();
  /** The number of checks before each line of the log. */
  const counts: number[] = [];
  const counting =
    (write: typeof log.info): typeof log.info =>
    (message, fields) => {
      counts.push(stats.checksPassed + stats.checksFailed);
      write(message, fields);
    };
  const checks = new Checks(endpoint, { ...quick, ...settings }, 'app.test', {
    ...log,
    info: counting(log.info),
    warn: counting(log.warn),
  });
  t.after(() => checks.stop());
  return { held, backend, endpoint, checks, lines, counts };
}

test('an address is unhealthy after so many bad answers in a row, and healthy again after so many good ones', async (t) => {
  const { endpoint, lines, counts } = await checked(t, {}, 200, 503, 500, 404, 204, 299);
  await until('the address is healthy again', () => lines.length === 2);
  assert.equal(endpoint.health.healthy, true);
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields]),
    [
      ['warn', { endpoint: endpoint.name, problem: 'status 404' }],
      ['info', { endpoint: endpoint.name }],
    ],
  );
  assert.deepEqual(counts, [4, 6]);
});

test('a good answer between bad ones begins the count anew', async (t) => {
  const { endpoint, lines, counts } = await checked(t, {}, 500, 500, 200, 500, 500, 200, 500);
  await until('the address is unhealthy', () => !endpoint.health.healthy);
  assert.deepEqual([lines.length, counts], [1, [9]]);
});

test('a check asks for the path with the host of the backend, on a connection of its own that is closed', async (t) => {
  const { backend, endpoint } = await checked(t);
  endpoint.take().tunnel(new Passenger());
  await until('two checks have passed', () => endpoint.stats.checksPassed >= 2);
  const [request] = backend.requests;
  assert.equal(request?.start, 'GET /health HTTP/1.1');
  assert.equal(field(request!, 'host'), 'app.test');
  assert.equal(field(request!, 'connection'), 'close');
  assert.equal(endpoint.idleConnections, 0);
  assert.equal(endpoint.load, 1, 'checks need no room among the connections of requests');
});

test('a check neither counts among the failures of requests nor ends their count', async (t) => {
  let healthy = 200;
  const backend = await startBackend(t, {
    onRequest: ({ start }, one) => {
      const status = start.includes('/health') ? healthy : 500;
      one.send(ok('x').replace('200 OK', `${status} Said`));
    },
  });
  const eviction = { consecutiveFailures: 3, durationMs: 60_000, maxEjectedPercent: 100 };
  const endpoint = endpointAt(t, backend.port, { eviction });
  const { health, stats } = endpoint;
  const settings = { ...quick, unhealthyThreshold: 1_000 };
  const checked = async (): Promise<void> => {
    const before = stats.checksPassed + stats.checksFailed;
    const checks = new Checks(endpoint, settings, 'app.test', recordingLog().log);
    await until('some checks have ended', () => stats.checksPassed + stats.checksFailed >= before + 4);
    checks.stop();
  };
  for (let request = 0; request < 2; request++) await ask(endpoint.take());
  await checked();
  healthy = 500;
  await checked();
  assert.equal(health.ejections, 0);
  await ask(endpoint.take());
  assert.equal(health.ejections, 1);
});

test('a check may ask for another host', async (t) => {
  const { backend } = await checked(t, { host: 'health.test' });
  await backend.until('a check is there', () => backend.requests.length > 0);
  assert.equal(field(backend.requests[0]!, 'host'), 'health.test');
});

test('an address that accepts and does not answer fails its check by the time limit', async (t) => {
  const { backend, endpoint, lines } = await checked(t, { timeoutMs: 5, unhealthyThreshold: 1 }, 0);
  await until('the address is unhealthy', () => !endpoint.health.healthy);
  assert.equal(lines[0]?.fields['problem'], 'no answer in time');
  assert.ok(endpoint.connections <= 1, 'the check has given its connection up');
  await backend.until('the backend has no more than the next check', () => backend.connections.size <= 1);
});

test('a port that is closed, and an answer that is no HTTP, fail the check', async (t) => {
  const { log, lines } = recordingLog();
  const none = endpointAt(t, await closedPort());
  const odd = await startBackend(t, { onRequest: (_request, one) => one.send('no HTTP\r\n\r\n') });
  const confused = endpointAt(t, odd.port);
  for (const endpoint of [none, confused]) {
    const checks = new Checks(endpoint, { ...quick, unhealthyThreshold: 1 }, 'app.test', log);
    t.after(() => checks.stop());
    await until('the address is unhealthy', () => !endpoint.health.healthy);
    checks.stop();
  }
  assert.equal(lines[0]?.fields['problem'], 'ECONNREFUSED');
  assert.equal(lines.length, 2);
});

test('checks that are stopped ask nothing more, and the one under way is given up without a verdict', async (t) => {
  const { held, backend, endpoint, checks } = await checked(t, { unhealthyThreshold: 1 }, 0);
  await backend.until('a check is under way', () => held.length > 0);
  const { accepted } = backend;
  checks.stop();
  await backend.until('its connection is closed', () => backend.connections.size === 0);
  assert.equal(endpoint.connections, 0);
  assert.equal(endpoint.health.healthy, true);
  assert.equal(endpoint.stats.checksFailed, 0);
  assert.equal(backend.accepted, accepted);
});
