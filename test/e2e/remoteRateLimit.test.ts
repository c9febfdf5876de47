/** remoteRateLimit: a real gRPC service decides about requests for a real backend. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  startRateLimitService,
  type Answer,
  type Question,
} from '../../examples/policies/rateLimitService/service.ts';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { until } from '../../src/until.testing.ts';
import type { UnaryService } from '../../examples/unaryService.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, resultText } from './session.testing.ts';

const ok: Answer = { overall_code: 'OK' };
const over = (more: object = {}): Answer => ({ overall_code: 'OVER_LIMIT', ...more });
const status = (code: string, most: number, left: number, reset: object): object => ({
  code,
  current_limit: { requests_per_unit: most, unit: 'MINUTE' },
  limit_remaining: left,
  duration_until_reset: reset,
});

describe('with remoteRateLimit, the gateway', () => {
  const questions: Question[] = [];
  const reached: IncomingHttpHeaders[] = [];
  let answer: () => Answer | Promise<Answer> = () => ok;
  let service: UnaryService;
  /** The same service with TLS. */
  let front: TlsServer;
  let shop: RemoteServer;
  let gateway: GatewayProcess;

  const app = createServer((request, response) => {
    reached.push(request.headers);
    response.setHeader('x-from', 'backend');
    request.resume().on('end', () => response.end('served'));
  });

  before(async () => {
    app.listen(0, '127.0.0.1');
    await once(app, 'listening');
    service = await startRateLimitService(0, (question) => {
      questions.push(question);
      return answer();
    });
    const trusted = authority();
    front = createTlsServer(
      { ...trusted.issue({ names: ['127.0.0.1'] }), ALPNProtocols: ['h2'] },
      (socket) => {
        const inner = connect(service.port, '127.0.0.1');
        for (const end of [socket, inner]) end.on('error', () => undefined);
        socket.pipe(inner).pipe(socket);
        socket.on('close', () => inner.destroy());
      },
    ).listen(0, '127.0.0.1');
    await once(front, 'listening');
    const secured = `https://127.0.0.1:${String((front.address() as AddressInfo).port)}`;
    const gone = await startRateLimitService(0, () => ok);
    gone.close();
    shop = await RemoteServer.start();
    const host = `127.0.0.1:${String(service.port)}`;
    const backends = [{ host: `127.0.0.1:${String((app.address() as AddressInfo).port)}` }];
    const byPath = [{ entries: [{ key: 'path', value: 'request.path' }] }];
    const route = (path: string, settings: object, more: object = {}): object => ({
      name: path.slice(1),
      matches: [{ path: { pathPrefix: path } }],
      policies: { remoteRateLimit: { host, domain: 'shop', descriptors: byPath, ...settings } },
      backends,
      ...more,
    });
    const routes = [
      route('/plain', {}),
      route('/parts', {
        descriptors: [
          {
            entries: [
              { key: 'user', value: 'request.headers["x-user"]' },
              { key: 'port', value: 'source.port > 0' },
              { key: 'number', value: '40 + 2' },
            ],
            cost: 'int(request.headers["x-cost"])',
          },
          {
            entries: [{ key: 'tier', value: 'request.headers["x-tier"]' }],
            type: 'requests',
            limitOverride: '{"unit": request.headers["x-unit"], "requestsPerUnit": 5}',
          },
        ],
      }),
      route('/open', { failureMode: 'FailOpen' }),
      route('/dead', { host: `127.0.0.1:${String(gone.port)}` }),
      route('/dead-open', { host: `127.0.0.1:${String(gone.port)}`, failureMode: 'failOpen' }),
      route('/tls', { host: secured, policies: { backendTLS: { root: trusted.cert } } }),
      route('/foreign', { host: secured }),
      route('/default', {
        descriptors: [{ entries: [{ key: 'plan', value: 'default(request.headers["x-plan"], "none")' }] }],
      }),
      route('/slow', { policies: { http: { requestTimeout: '200ms' } } }),
      {
        ...route('/named', {}),
        policies: { remoteRateLimit: { backend: 'limits', domain: 'named', descriptors: byPath } },
      },
      {
        ...route('/denied', {}),
        policies: {
          remoteRateLimit: { host, domain: 'shop', descriptors: byPath },
          localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h' }],
          authorization: { rules: [{ deny: 'request.path.endsWith("/no")' }] },
        },
      },
      route('/mcp', {}, { backends: [{ mcp: { targets: [{ name: 'shop', mcp: { host: shop.url } }] } }] }),
    ];
    gateway = await startGateway(
      JSON.stringify({
        config: { logging: { accessLog: 'json' } },
        backends: [{ name: 'limits', host }],
        binds: [{ port: 0, listeners: [{ routes }] }],
      }),
    );
  });

  after(async () => {
    await gateway?.[Symbol.asyncDispose]();
    service?.close();
    front?.close();
    await shop?.close();
    app.closeAllConnections();
    app.close();
  });

  beforeEach(() => {
    questions.length = reached.length = 0;
    answer = () => ok;
  });

  async function ask(path: string, headers: Record<string, string> = {}) {
    const response = await fetch(`${gateway.url}${path}`, { headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  test('asks about the domain and the descriptors of the request, and forwards what the service lets pass', async () => {
    assert.equal((await ask('/plain/a')).text, 'served');
    assert.equal(questions.length, 1);
    assert.equal(questions[0]?.domain, 'shop');
    const [descriptor] = questions[0]?.descriptors ?? [];
    assert.deepEqual(descriptor?.entries, [{ key: 'path', value: '/plain/a' }]);
    assert.ok(!descriptor?.limit && !descriptor?.hits_addend);
    assert.equal((await ask('/named')).status, 200);
    assert.equal(questions[1]?.domain, 'named');
  });

  test('sends values as text, the cost and another limit', async () => {
    await ask('/parts', { 'x-user': 'ada é', 'x-cost': '7', 'x-tier': 'gold', 'x-unit': 'hour' });
    const [first, second] = questions[0]?.descriptors ?? [];
    assert.deepEqual(
      first?.entries.map(({ key, value }) => [key, value]),
      [
        ['user', 'ada é'],
        ['port', 'true'],
        ['number', '42'],
      ],
    );
    assert.equal(first?.hits_addend?.value, 7);
    assert.equal(second?.limit?.requests_per_unit, 5);
    assert.equal(second?.limit?.unit, 'HOUR');
  });

  test('leaves out a descriptor without a value, and does not ask where none is left', async () => {
    const keys = (): (string | undefined)[] | undefined =>
      questions.at(-1)?.descriptors.map(({ entries }) => entries[0]?.key);
    const all = { 'x-user': 'ada', 'x-cost': '0', 'x-tier': 'gold', 'x-unit': 'day' };
    await ask('/parts', all);
    assert.deepEqual(keys(), ['user', 'tier']);
    // A cost of 0 is there, though Protocol Buffers write no 0.
    assert.deepEqual({ ...questions[0]?.descriptors[0]?.hits_addend }, {});
    assert.ok(questions[0]?.descriptors[0]?.hits_addend);
    await ask('/parts', { ...all, 'x-cost': 'rubbish' });
    assert.deepEqual(keys(), ['tier']);
    await ask('/parts', { ...all, 'x-unit': 'fortnight' });
    assert.deepEqual(keys(), ['user']);
    await ask('/parts', { ...all, 'x-cost': '-1', 'x-tier': '', 'x-unit': 'year' });
    assert.deepEqual(keys(), ['tier']);
    assert.equal(questions.length, 4);
    assert.equal((await ask('/parts')).text, 'served');
    assert.equal(questions.length, 4);
  });

  test('asks with the value that an expression gives to requests without a header', async () => {
    await ask('/default');
    assert.deepEqual(questions[0]?.descriptors[0]?.entries, [{ key: 'plan', value: 'none' }]);
  });

  test('asks a service with TLS, if its certificate is valid', async () => {
    assert.equal((await ask('/tls')).status, 200);
    assert.equal(questions.length, 1);
    assert.equal((await ask('/foreign')).status, 500);
    assert.equal(questions.length, 1);
  });

  test('refuses with 429, the tightest limit and the name of the descriptor, and forwards nothing', async () => {
    answer = () =>
      over({
        statuses: [
          status('OK', 100, 0, { seconds: 5 }),
          status('OVER_LIMIT', 10, 0, { seconds: 29, nanos: 1 }),
        ],
        request_headers_to_add: [{ key: 'x-tier', value: 'none' }],
      });
    const headers = {
      'x-user': 'ada',
      'x-cost': '1',
      'x-tier': 'g',
      'x-unit': 'day',
      'x-request-id': 'over',
    };
    const refused = await ask('/parts', headers);
    assert.equal(refused.status, 429);
    assert.match(refused.text, /rate limit exceeded/);
    const of = (name: string): string | null => refused.headers.get(name);
    assert.deepEqual(
      ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after'].map(of),
      ['10', '0', '30', '30'],
    );
    assert.equal(reached.length, 0);
    const line = await gateway.accessLine('over');
    assert.deepEqual(
      [line['policy'], line['rule'], line['place']],
      ['remoteRateLimit', 'tier', 'binds[0].listeners[0].routes[1].policies.remoteRateLimit.descriptors[1]'],
    );
  });

  test('refuses with the body and the headers of the service', async () => {
    answer = () =>
      over({
        statuses: [status('OVER_LIMIT', 10, 0, { seconds: 30 })],
        response_headers_to_add: [
          { key: 'Content-Type', value: 'application/json' },
          { key: 'Retry-After', value: '99' },
          { key: 'x-ratelimit-limit', value: '10, 10;w=60' },
          { key: 'x-raw', raw_value: Buffer.from('raw') },
        ],
        raw_body: Buffer.from('{"slow":"down"}'),
      });
    const refused = await ask('/plain', { 'x-request-id': 'bodied' });
    assert.deepEqual([refused.status, refused.text], [429, '{"slow":"down"}']);
    const of = (name: string): string | null => refused.headers.get(name);
    assert.deepEqual(['content-type', 'retry-after', 'x-ratelimit-limit', 'x-raw'].map(of), [
      'application/json',
      '99',
      '10, 10;w=60',
      'raw',
    ]);
    const line = await gateway.accessLine('bodied');
    assert.deepEqual(
      [line['error'], line['policy'], line['rule']],
      ['rate_limited', 'remoteRateLimit', 'path'],
    );
  });

  test('adds the headers of the service to the request and the response, in the place of others', async () => {
    answer = () => ({
      overall_code: 'OK',
      statuses: [status('OK', 10, 4, { seconds: 30 }), { code: 'OK' }],
      response_headers_to_add: [
        { key: 'x-from', value: 'service' },
        { key: 'x-two', value: 'a' },
        { key: 'x-two', value: 'b' },
      ],
      request_headers_to_add: [{ key: 'X-Tier', value: 'gold' }],
    });
    const { status: code, headers } = await ask('/plain', { 'x-tier': 'forged' });
    assert.equal(code, 200);
    assert.deepEqual(
      ['x-from', 'x-two', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) =>
        headers.get(name),
      ),
      ['service', 'a, b', '10', '4', '30'],
    );
    assert.equal(reached[0]?.['x-tier'], 'gold');
  });

  test('leaves out headers that frame a message or hold a line break, and says so', async () => {
    answer = () => ({
      overall_code: 'OK',
      response_headers_to_add: [
        { key: 'content-length', value: '3' },
        { key: 'x-split', value: 'a\r\nx-evil: 1' },
        { key: 'x-good', value: '1' },
      ],
      request_headers_to_add: [
        { key: 'transfer-encoding', value: 'chunked' },
        { key: 'host', value: 'evil.test' },
        { key: 'bad name', value: '1' },
      ],
    });
    const { text, headers } = await ask('/plain');
    assert.equal(text, 'served');
    assert.deepEqual(
      ['x-good', 'x-split', 'x-evil'].map((name) => headers.get(name)),
      ['1', null, null],
    );
    assert.notEqual(reached[0]?.host, 'evil.test');
    await until('the log to name the headers', () =>
      /Rate limit service set headers that it must not set.*content-length.*x-split.*host.*bad\?name/.test(
        gateway.log(),
      ),
    );
  });

  test('refuses with 500 while the service gives no verdict, and logs the reason', async () => {
    for (const wrong of [
      () => ({}),
      () => ({ overall_code: 'UNKNOWN' }),
      () => Promise.reject(new Error('x')),
    ]) {
      answer = wrong;
      const refused = await ask('/plain', { 'x-request-id': 'failed' });
      assert.deepEqual([refused.status, reached.length], [500, 0]);
    }
    const line = await gateway.accessLine('failed');
    assert.deepEqual([line['policy'], line['error']], ['remoteRateLimit', 'rate_limit_service_failed']);
    assert.equal((await ask('/dead')).status, 500);
    answer = () => new Promise(() => undefined);
    assert.equal((await ask('/slow')).status, 500);
    assert.equal(reached.length, 0);
    await until('the log to tell of refusals', () =>
      /Rate limit service failed: request refused/.test(gateway.log()),
    );
  });

  test('lets requests pass with failOpen while the service gives no verdict, and logs it', async () => {
    answer = () => ({ overall_code: 'UNKNOWN' });
    assert.equal((await ask('/open')).text, 'served');
    assert.equal((await ask('/dead-open')).text, 'served');
    await until('the log to tell of passed requests', () =>
      /Rate limit service failed: request passed/.test(gateway.log()),
    );
    answer = () => over();
    assert.equal((await ask('/open')).status, 429);
  });

  test('does not ask about requests that rules or localRateLimit refuse', async () => {
    assert.equal((await ask('/denied/no')).status, 403);
    assert.equal(questions.length, 0);
    assert.equal((await ask('/denied')).status, 200);
    assert.equal((await ask('/denied')).status, 429);
    assert.equal(questions.length, 1);
  });

  test('asks about the HTTP requests of MCP clients as about all others', async () => {
    const session = await openSession(`${gateway.url}/mcp`);
    const before = questions.length;
    assert.ok(before > 0);
    assert.equal(resultText(await session.call('echo', { text: 'hello' })), 'hello');
    assert.equal(questions.length, before + 1);
    shop.seen.length = 0;
    answer = () => over({ statuses: [status('OVER_LIMIT', 10, 0, { seconds: 30 })] });
    const refused = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
    assert.equal(refused.status, 429, await refused.text());
    assert.equal(shop.seen.length, 0);
    answer = () => ok;
    await session.close();
  });
});
