import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import type { Target } from '../../upstream/index.ts';
import { startApps, type App } from '../apps.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { fields, get, post, status } from '../wire.testing.ts';

interface Stage {
  readonly plane: TestPlane;
  readonly apps: readonly App[];
  /** Answers that a slow app owes. */
  readonly pending: ServerResponse[];
}

/** Apps of which those that `slow` names keep their answers back. */
async function stage(
  t: TestContext,
  {
    retry = {},
    slow,
    hosts = ['127.0.0.1', '127.0.0.2'],
    policies = {},
    target = {},
  }: {
    retry?: object;
    slow: (request: number, host: string) => boolean;
    hosts?: readonly string[];
    policies?: Record<string, unknown>;
    target?: Partial<Target> & { affinity?: { source: string; loadFactor: number } };
  },
): Promise<Stage> {
  const apps = await startApps(t, ...hosts);
  const pending: ServerResponse[] = [];
  let requests = 0;
  for (const app of apps)
    app.behave = (request, response) => {
      if (slow(requests++, app.host)) pending.push(response);
      else request.on('end', () => response.end(app.host));
    };
  const plane = await TestPlane.start({
    // A kept connection that breaks is replaced for free, which is not what is tried here.
    upstream: { poolMaxSize: 0 },
    routes: [
      {
        targets: [
          {
            host: 'app.test',
            port: 80,
            addresses: apps.map(({ host, port }) => ({ host, port })),
            ...target,
          },
        ],
        policies: {
          retry: policySchemas.retry.parse({
            codes: [503],
            hedge: { delay: '20ms' },
            ...retry,
          }),
          ...policies,
        },
      },
    ],
  });
  t.after(() => plane.close());
  return { plane, apps, pending };
}

const first = (request: number): boolean => request === 0;
const counts = async (plane: TestPlane): Promise<(string | undefined)[]> => {
  const text = await plane.metricsText();
  return ['won', 'lost'].map(
    (result) =>
      new RegExp(`^portcullis_hedges_total\\{[^}]*result="${result}"\\} (\\d+)`, 'm').exec(text)?.[1],
  );
};

test('an answer that is late is raced by a second try at another address; the loser is cancelled', async (t) => {
  const { plane, apps, pending } = await stage(t, { slow: first });
  const answer = await plane.ask(get('/a?b'));
  assert.equal(status(answer), 200);
  await until('the late one was cut off', () => pending[0]?.destroyed === true);
  assert.deepEqual(
    apps.map(({ requests }) => requests),
    [1, 1],
  );
  assert.deepEqual(await counts(plane), ['1', '0']);
  await until('no connection is left', () => plane.upstreamConnections === 0);
});

test('an answer in time is not raced, and without a hedge nothing is', async (t) => {
  const { plane, apps } = await stage(t, { slow: () => false, retry: { hedge: { delay: '10s' } } });
  assert.equal(status(await plane.ask(get())), 200);
  assert.deepEqual(await counts(plane), [undefined, undefined]);
  assert.equal(
    apps.reduce((sum, { requests }) => sum + requests, 0),
    1,
  );
  const plain = await stage(t, {
    slow: first,
    retry: { hedge: undefined },
    policies: { timeout: { requestTimeout: 1_000 } },
  });
  assert.equal(status(await plain.plane.ask(get())), 504);
  assert.equal(plain.pending.length, 1);
});

test('the first try may still win; its hedge is cancelled', async (t) => {
  const { plane, pending } = await stage(t, { slow: () => true });
  const asked = plane.ask(get());
  await until('both are under way', () => pending.length === 2);
  pending[0]?.end('first');
  assert.equal((await asked).body.toString(), 'first');
  await until('the hedge was cut off', () => pending[1]?.destroyed === true);
  assert.deepEqual(await counts(plane), ['0', '1']);
});

test('requests that must not be repeated are not hedged, whatever a precondition says', async (t) => {
  const { plane, pending } = await stage(t, {
    slow: first,
    retry: { precondition: 'request.method == "POST" || request.method == "PUT"' },
    policies: { timeout: { requestTimeout: 1_000 } },
  });
  assert.equal(status(await plane.ask(post('hello'))), 504);
  assert.equal(pending.length, 1);
});

test('the body of a request goes with every try', async (t) => {
  const bodies: string[] = [];
  const { plane, apps } = await stage(t, { slow: first, hosts: ['127.0.0.1', '127.0.0.2', '127.0.0.3'] });
  let requests = 0;
  for (const app of apps)
    app.behave = (request, response) => {
      const late = requests++ === 0;
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        bodies.push(body);
        if (!late) response.end('done');
      });
    };
  const put = post('hello').replace('POST', 'PUT');
  assert.equal((await plane.ask(put)).body.toString(), 'done');
  assert.deepEqual(bodies, ['hello', 'hello']);
  const chunked =
    'PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n';
  requests = 0;
  assert.equal((await plane.ask(chunked)).body.toString(), 'done');
  assert.deepEqual(bodies.slice(2), ['abcde', 'abcde']);
});

test('several tries are made, one after each delay, to addresses of their own', async (t) => {
  const { plane, apps, pending } = await stage(t, {
    slow: () => true,
    hosts: ['127.0.0.1', '127.0.0.2', '127.0.0.3'],
    retry: { hedge: { delay: '5ms', maxAttempts: 3 } },
    policies: { timeout: { requestTimeout: 10_000 } },
  });
  const asked = plane.ask(get());
  await until('three are under way', () => pending.length === 3);
  assert.deepEqual(
    apps.map(({ requests }) => requests),
    [1, 1, 1],
  );
  pending[2]?.end('third');
  assert.equal((await asked).body.toString(), 'third');
  await until(
    'the others were cut off',
    () => pending[0]?.destroyed === true && pending[1]?.destroyed === true,
  );
  assert.deepEqual(await counts(plane), ['1', '1']);
});

test('with one address the further try goes there, too', async (t) => {
  const { plane, apps } = await stage(t, { slow: first, hosts: ['127.0.0.1'] });
  assert.equal((await plane.ask(get())).body.toString(), '127.0.0.1');
  assert.equal(apps[0]?.requests, 2);
});

test('the budget of retries holds for races, too', async (t) => {
  const { plane, pending } = await stage(t, {
    slow: () => true,
    retry: { budget: { percent: 0, minRetryRate: 0 } },
    policies: { timeout: { requestTimeout: 1_000 } },
  });
  assert.equal(status(await plane.ask(get())), 504);
  assert.equal(pending.length, 1);
  assert.match(await plane.metricsText(), /retries_total\{[^}]*result="refused"\} 1/);
});

test('an answer that is a reason to try again loses to a try that is under way', async (t) => {
  const { plane, pending } = await stage(t, { slow: () => true });
  for (const loser of [0, 1]) {
    pending.length = 0;
    const asked = plane.ask(get());
    await until('both are under way', () => pending.length === 2);
    pending[loser]?.writeHead(503).end('no');
    await until('the bad answer came', () => pending[loser]?.writableFinished === true);
    pending[1 - loser]?.end('yes');
    const answer = await asked;
    assert.equal(status(answer), 200);
    assert.equal(answer.body.toString(), 'yes');
  }
});

test('the last of several bad answers is shown, where no further try is allowed', async (t) => {
  const { plane, pending } = await stage(t, { slow: () => true });
  const asked = plane.ask(get());
  await until('both are under way', () => pending.length === 2);
  pending[0]?.writeHead(503).end('first');
  pending[1]?.writeHead(503).end('second');
  const answer = await asked;
  assert.equal(status(answer), 503);
  assert.match(answer.body.toString(), /^(?:first|second)$/);
});

test('a try that breaks leaves the other one to answer; when both have broken the request has failed', async (t) => {
  const { plane, pending } = await stage(t, { slow: () => true });
  for (const broken of [0, 1]) {
    pending.length = 0;
    const asked = plane.ask(get());
    await until('both are under way', () => pending.length === 2);
    const gone = pending[broken];
    gone?.destroy();
    await until('it is gone', () => gone?.destroyed === true);
    pending[1 - broken]?.end('yes');
    assert.equal((await asked).body.toString(), 'yes');
  }
  pending.length = 0;
  const asked = plane.ask(get());
  await until('both are under way', () => pending.length === 2);
  for (const one of pending) one.destroy();
  assert.equal(status(await asked), 503);
});

test('when all tries have failed further ones are made as retry says', async (t) => {
  const { plane, pending, apps } = await stage(t, { slow: (request) => request < 2, retry: { attempts: 2 } });
  const asked = plane.ask(get());
  await until('both are under way', () => pending.length === 2);
  for (const one of pending) one.writeHead(503).end();
  assert.equal(status(await asked), 200);
  assert.equal(
    apps.reduce((sum, { requests }) => sum + requests, 0),
    3,
  );
});

test('each try has its own time', async (t) => {
  const { plane, pending } = await stage(t, {
    slow: () => true,
    policies: { timeout: { backendRequestTimeout: 1_000 } },
  });
  const answer = await plane.ask(get());
  assert.equal(status(answer), 504);
  assert.equal(pending.length, 2);
  await until('both were cut off', () => pending.every((one) => one.destroyed));
});

test('a client that leaves ends every try', async (t) => {
  const { plane, pending } = await stage(t, { slow: () => true });
  const client = await plane.client();
  client.send(get());
  await until('both are under way', () => pending.length === 2);
  client.close();
  await until('both were cut off', () => pending.every((one) => one.destroyed));
  await until('no connection is left', () => plane.upstreamConnections === 0);
});

test('a large answer of the winner comes whole, and so does one that is gathered first', async (t) => {
  const large = 'x'.repeat(3_000_000);
  for (const policies of [
    {},
    { buffer: policySchemas.buffer.parse({ response: { maxBytes: 4_000_000 } }) },
  ]) {
    const { plane, pending } = await stage(t, { slow: () => true, policies });
    const asked = plane.ask(get());
    await until('both are under way', () => pending.length === 2);
    pending[1]?.end(large);
    assert.equal((await asked).body.toString(), large);
  }
});

test('a request that belongs to an address is not raced', async (t) => {
  const { plane, pending, apps } = await stage(t, {
    slow: () => true,
    target: { affinity: { source: 'request.headers["x-key"]', loadFactor: 2 } },
    policies: { timeout: { requestTimeout: 1_000 } },
  });
  assert.equal(status(await plane.ask(get('/', 'x-key: a'))), 504);
  assert.equal(pending.length, 1);
  assert.equal(
    apps.reduce((sum, { requests }) => sum + requests, 0),
    1,
  );
});

test('a new session belongs to the address that won', async (t) => {
  const { plane, pending } = await stage(t, {
    slow: first,
    policies: { sessionPersistence: policySchemas.sessionPersistence.parse({}) },
  });
  const answer = await plane.ask(get());
  assert.equal(pending.length, 1);
  const cookie = fields(answer, 'set-cookie')[0]?.split(';')[0] ?? '';
  for (let i = 0; i < 5; i++)
    assert.equal((await plane.ask(get('/', `cookie: ${cookie}`))).body.toString(), answer.body.toString());
});
