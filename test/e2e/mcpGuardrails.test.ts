/** mcpGuardrails: a real gRPC service checks requests and results of real MCP servers. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  checkOrder,
  hideCards,
  startProcessor,
  type Check,
  type Processor,
  type Verdict,
} from '../../examples/mcp/guardrails/processor.ts';
import { findOperatorSecret } from '../../src/admin/index.ts';
import { loadConfig } from '../../apps/dev-idp/src/config.ts';
import { startDevIdp, type DevIdp } from '../../apps/dev-idp/src/index.ts';
import { startModern, type ModernServer } from '../../src/mcp/modernServer.testing.ts';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { headerValue } from '../../src/mcp/messages/mirroredHeaders.ts';
import { RemoteServer, type Incoming } from '../../src/mcp/remoteServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, resultText, type RawSession } from './session.testing.ts';

const root = new URL('../../', import.meta.url);
const pass: Verdict = { pass: {} };
const refuse = (code: string, reason: string, more: object = {}): Verdict => ({
  error: { code, reason, ...more },
});
const mutate = (value: object): Verdict => ({ mutated: Buffer.from(JSON.stringify(value)) });
const paramsOf = (check: Check): Record<string, unknown> =>
  JSON.parse(String(check.mcp_request)) as Record<string, unknown>;

/** A processor that answers as the test says. */
class Steered {
  request: (check: Check) => Verdict | Promise<Verdict> = () => pass;
  response: (check: Check) => Verdict | Promise<Verdict> = () => pass;
  readonly seen: { readonly phase: string; readonly check: Check }[] = [];
  private server: Processor | undefined;

  async start(port = 0): Promise<number> {
    this.server = await startProcessor(port, {
      request: (check) => {
        this.seen.push({ phase: 'request', check });
        return this.request(check);
      },
      response: (check) => {
        this.seen.push({ phase: 'response', check });
        return this.response(check);
      },
    });
    return this.server.port;
  }

  reset(): void {
    this.request = this.response = () => pass;
    this.seen.length = 0;
  }

  methods(): readonly string[] {
    return this.seen.map(({ phase, check }) => `${phase} ${check.method}`);
  }

  async close(): Promise<void> {
    await this.server?.close();
  }
}

describe('with mcpGuardrails, the gateway', () => {
  const first = new Steered();
  const second = new Steered();
  /** Path → `methods`. */
  const ofTasks = {
    '/tasks-any': { '*': 'request', 'tools/call': 'full' },
    '/tasks-prefix': { 'tasks/*': 'request', 'tools/call': 'response' },
    '/tasks-off': { 'tasks/result': 'off', 'tools/call': 'full' },
    '/tasks-exempt': { 'tasks/result': 'request', 'tools/call': 'full' },
  };
  let idp: DevIdp;
  let alice: string;
  let bob: string;
  let shop: RemoteServer;
  let mail: RemoteServer;
  let modern: ModernServer;
  let gateway: GatewayProcess;
  /** A port where nothing listens. */
  let dead: number;

  before(async () => {
    idp = await startDevIdp({
      port: 0,
      config: await loadConfig(new URL('examples/quickstart/idp.yaml', root).pathname),
    });
    alice = await idp.issueToken({ user: 'alice' });
    bob = await idp.issueToken({ user: 'bob' });
    [shop, mail] = [await RemoteServer.start(), await RemoteServer.start()];
    modern = await startModern('modern');
    const gone = new Steered();
    dead = await gone.start();
    await gone.close();
    const ports = [await first.start(), await second.start()];
    const processor = (port: number | undefined, methods: object, more: object = {}): object => ({
      kind: 'remote',
      host: '127.0.0.1',
      port,
      methods,
      ...more,
    });
    const target = (name: string, server: RemoteServer): object => ({ name, mcp: { host: server.url } });
    const route = (path: string, processors: object[], targets: object[], policies: object = {}): object => ({
      matches: [{ path: { pathPrefix: path } }],
      policies: {
        jwtAuth: {
          issuer: idp.issuer,
          audiences: ['api://default'],
          mode: 'strict',
          jwks: { url: `${idp.issuer}/v1/keys` },
        },
        mcpGuardrails: { processors },
        ...policies,
      },
      backends: [{ mcp: { targets } }],
    });
    const full = { '*': 'full', 'resources/*': 'off', ping: 'off' };
    gateway = await startGateway(
      JSON.stringify({
        config: {
          logging: { fields: { add: { guard: 'mcpGuardrails.score' } } },
        },
        backends: [{ name: 'guard', host: `127.0.0.1:${String(ports[0])}` }],
        binds: [
          {
            port: 0,
            listeners: [
              {
                routes: [
                  route(
                    '/named',
                    [
                      { kind: 'remote', backend: 'guard', methods: { 'tools/call': 'request' } },
                      { kind: 'remote', backend: 'guard' },
                    ],
                    [target('shop', shop)],
                  ),
                  {
                    matches: [{ path: { pathPrefix: '/keyed' } }],
                    policies: {
                      apiKey: {
                        mode: 'strict',
                        keys: [{ key: 'topsecret-0123456789abcdef' }],
                        location: { queryParameter: { name: 'key' } },
                      },
                      mcpGuardrails: { processors: [processor(ports[0], { 'tools/call': 'request' })] },
                    },
                    backends: [{ mcp: { targets: [target('shop', shop)] } }],
                  },
                  route(
                    '/one',
                    [
                      processor(ports[0], full, {
                        metadata: {
                          user: 'jwt.sub',
                          groups: 'jwt.groups',
                          at: 'timestamp(request.startTime)',
                          atText: 'string(timestamp(request.startTime))',
                          large: 'int("9223372036854775807")',
                        },
                        requestHeaders: { disallowed: ['x-private'] },
                      }),
                      processor(ports[1], { 'tools/call': 'response' }),
                    ],
                    [target('shop', shop)],
                    {
                      mcpAuthorization: {
                        rules: [
                          { deny: 'mcp.tool.name == "delete"' },
                          { deny: 'has(mcp.tool.arguments.to) && mcp.tool.arguments.to == "evil"' },
                          { allow: 'true' },
                        ],
                      },
                    },
                  ),
                  route(
                    '/many',
                    [
                      processor(ports[0], {
                        'tools/call': 'full',
                        '*/list': 'full',
                        'logging/setLevel': 'request',
                      }),
                    ],
                    [target('shop', shop), target('mail', mail)],
                  ),
                  route(
                    '/closed',
                    [processor(dead, { 'tools/call': 'request', 'tools/list': 'response' })],
                    [target('shop', shop)],
                  ),
                  route(
                    '/open',
                    [processor(dead, { 'tools/call': 'full' }, { failureMode: 'failOpen' })],
                    [target('shop', shop)],
                  ),
                  route(
                    '/modern',
                    [processor(ports[0], { 'tools/call': 'request' })],
                    [{ name: 'modern', mcp: { host: modern.url } }],
                  ),
                  ...Object.entries(ofTasks).map(([path, methods]) =>
                    route(path, [processor(ports[0], methods)], [target('shop', shop)]),
                  ),
                  route(
                    '/answering',
                    [processor(ports[0], { 'tools/call': 'full' }, { failureMode: 'failOpen' })],
                    [target('shop', shop)],
                  ),
                  route(
                    '/slow',
                    [
                      processor(
                        ports[0],
                        { 'tools/call': 'request' },
                        { policies: { http: { requestTimeout: '300ms' } } },
                      ),
                    ],
                    [target('shop', shop)],
                  ),
                ],
              },
            ],
          },
        ],
      }),
    );
    await gateway.keysReady();
  });

  after(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await Promise.all([
      first.close(),
      second.close(),
      shop?.close(),
      mail?.close(),
      modern?.close(),
      idp?.close(),
    ]);
  });

  beforeEach(() => {
    first.reset();
    second.reset();
    for (const server of [shop, mail]) {
      server.seen.length = 0;
      server.tools['order'] = (x: Incoming) =>
        x.json(x.result(`ordered ${JSON.stringify(x.seen.message.params)}`));
    }
  });

  test('asks a processor that is a named backend, and none that names no method', async () => {
    first.request = () => refuse('PERMISSION_DENIED', 'closed today');
    const session = await open('/named');
    assert.match(resultText(await session.call('order', { amount: 1 })), /closed today/);
    assert.ok((await session.request('tools/list')).result);
    assert.deepEqual(first.methods(), ['request tools/call']);
    await session.close();
  });

  const open = (path: string, token = alice): Promise<RawSession> =>
    openSession(`${gateway.url}${path}`, token);
  const lastLine = async (wanted: RegExp): Promise<string> => {
    await until(`the access log to match ${String(wanted)}`, () => wanted.test(gateway.accessLog()));
    return (
      gateway
        .accessLog()
        .split('\n')
        .findLast((line) => wanted.test(line)) ?? ''
    );
  };

  test('sends the params with the target, the metadata and the headers of the client, without its token', async () => {
    const session = await openSession(`${gateway.url}/one`, alice, {
      fetch: (url, init) => {
        const headers = new Headers(init?.headers);
        headers.set('x-team', 'blue');
        headers.set('x-private', 'mine');
        return fetch(url, { ...init, headers });
      },
    });
    first.seen.length = 0;
    assert.equal(resultText(await session.call('echo', { text: 'hello' })), 'hello');
    assert.deepEqual(first.methods(), ['request tools/call', 'response tools/call']);
    const [asked, answered] = first.seen.map(({ check }) => check);
    assert.deepEqual(asked?.service_names, ['shop']);
    assert.deepEqual(paramsOf(asked as Check)['arguments'], { text: 'hello' });
    assert.equal(asked?.metadata_context?.fields['user']?.stringValue, 'alice');
    const names = (asked?.headers ?? []).map(({ key }) => key);
    assert.ok(
      [':method', ':path', 'x-team', 'mcp-session-id'].every((name) => names.includes(name)),
      String(names),
    );
    assert.ok(!names.includes('x-private') && !names.includes('authorization'), String(names));
    assert.match(String(answered?.mcp_response), /"hello"/);
    assert.deepEqual(second.methods(), ['response tools/call']);
    await session.close();
  });

  test('sends no metadata of a value without a form in JSON, and all the other values', async () => {
    const session = await open('/one');
    first.seen.length = 0;
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
    const fields = first.seen[0]?.check.metadata_context?.fields ?? {};
    assert.deepEqual(Object.keys(fields).toSorted(), ['atText', 'groups', 'user']);
    assert.match(fields['atText']?.stringValue ?? '', /^\d{4}-\d\d-\d\dT/);
    await session.close();
  });

  test('sends the path of the client without the API key in its query', async () => {
    const session = await openSession(`${gateway.url}/keyed?a=1&key=topsecret-0123456789abcdef&b=%20`);
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
    const path = first.seen[0]?.check.headers?.find(({ key }) => key === ':path');
    assert.equal(String(path?.value), '/keyed?a=1&b=%20');
    await session.close();
  });

  test('answers a refused call with a result that is an error, and sends the server nothing', async () => {
    first.request = (check) => (check.method === 'tools/call' ? checkOrder(check) : pass);
    const [rich, poor] = [await open('/one'), await open('/one', bob)];
    assert.match(resultText(await rich.call('order', { amount: 500 })), /^ordered/);
    const refused = await poor.call('order', { amount: 500 });
    assert.equal(refused.result?.['isError'], true);
    assert.equal(resultText(refused), 'an order of 500 is above the limit of bob, which is 100');
    assert.equal(shop.of('tools/call').length, 1);
    // Lines of earlier calls have the same refusal.
    const line = await lastLine(/mcp\.refusal=guardrail.*above the limit of bob/);
    assert.match(line, /policy=mcpGuardrails/);
    assert.match(line, /rule="?127\.0\.0\.1:\d+/);
    assert.match(line, /place=\S*mcpGuardrails\.processors\[0\]/);
    await Promise.all([rich.close(), poor.close()]);
  });

  test('answers other refusals with a JSON-RPC error that has the code and the reason', async () => {
    const session = await open('/one');
    const codes = { PERMISSION_DENIED: -32001, RESOURCE_EXHAUSTED: -32003, INVALID: -32600, UNKNOWN: -32001 };
    for (const [code, expected] of Object.entries(codes)) {
      first.request = () => refuse(code, `because of ${code}`);
      const { error } = await session.request('tools/list');
      assert.deepEqual(error, { code: expected, message: `because of ${code}` });
    }
    first.request = () => pass;
    first.response = () =>
      refuse('PERMISSION_DENIED', 'for the log', {
        mcp_error: Buffer.from(JSON.stringify({ code: -31_999, message: 'own words', data: { ticket: 7 } })),
      });
    const { error } = await session.call('echo', { text: 'x' });
    assert.deepEqual(error, { code: -31_999, message: 'own words', data: { ticket: 7 } });
    await session.close();
  });

  test('sends the changed params, and gives the client the changed result', async () => {
    first.request = (check) => mutate({ ...paramsOf(check), arguments: { text: 'card 1234567812345678' } });
    second.response = hideCards;
    const session = await open('/one');
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'card ****');
    const [sent] = shop.of('tools/call');
    assert.deepEqual(sent?.message.params?.['arguments'], { text: 'card 1234567812345678' });
    await session.close();
  });

  test('judges changed params by its own rules', async () => {
    const session = await open('/one');
    first.request = (check) => mutate({ ...paramsOf(check), name: 'delete' });
    assert.equal((await session.call('echo', { text: 'x' })).error?.code, -32_602);
    first.request = (check) => mutate({ ...paramsOf(check), arguments: { to: 'evil' } });
    assert.equal((await session.call('echo', { text: 'x' })).error?.code, -32_602);
    first.request = () => mutate({ arguments: {} });
    assert.notEqual((await session.call('echo', { text: 'x' })).error, undefined);
    first.request = () => ({ mutated: Buffer.from('{"name":"echo","name":"delete"}') });
    assert.notEqual((await session.call('echo', { text: 'x' })).error, undefined);
    assert.equal(shop.of('tools/call').length, 0);
    await session.close();
  });

  test('asks nobody about a call that the rules refuse', async () => {
    const session = await open('/one');
    first.seen.length = 0;
    assert.equal((await session.call('delete')).error?.code, -32_602);
    assert.deepEqual(first.methods(), []);
    await session.close();
  });

  test('leaves out the methods that are off', async () => {
    const session = await open('/one');
    first.seen.length = 0;
    await session.request('resources/list');
    await session.request('tools/list');
    assert.deepEqual(first.methods(), ['request tools/list', 'response tools/list']);
    await session.close();
  });

  test('sets headers of the processor on the request for the server, and none that frames it', async () => {
    const session = await open('/one');
    const set = (key: string): Verdict => ({
      ...pass,
      header_mutation: { set: [{ key, value: Buffer.from('v1') }] },
    });
    first.request = () => set('X-Checked');
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
    assert.equal(shop.of('tools/call')[0]?.headers['x-checked'], 'v1');
    for (const name of ['content-length', 'Mcp-Session-Id', 'host', 'a b']) {
      first.request = () => set(name);
      assert.equal((await session.call('echo', { text: 'x' })).error?.code, -32_603, name);
    }
    assert.equal(shop.of('tools/call').length, 1);
    await session.close();
  });

  test('sets headers of the processor on the requests to several servers that one request leads to', async () => {
    const session = await open('/many');
    for (const [method, params] of [
      ['tools/list', {}],
      ['logging/setLevel', { level: 'error' }],
    ] as const)
      for (const value of ['v1', 'v2']) {
        first.request = () => ({
          ...pass,
          header_mutation: { set: [{ key: 'X-Checked', value: Buffer.from(value) }] },
        });
        assert.equal((await session.request(method, params)).error, undefined);
        const got = [shop, mail].map((server) => server.of(method).at(-1)?.headers['x-checked']);
        assert.deepEqual(got, [value, value], method);
      }
    await session.close();
  });

  test('has the values of a processor in expressions of the access log', async () => {
    const session = await open('/one');
    first.request = () => ({
      ...pass,
      metadata: { fields: { score: { numberValue: 42, kind: 'numberValue' } } },
    });
    await session.call('echo', { text: 'x' });
    await lastLine(/guard=42/);
    await session.close();
  });

  test('checks requests to several servers with the names of their owner, and lists once', async () => {
    first.response = (check) => {
      if (check.method !== 'tools/list') return pass;
      const { tools } = JSON.parse(String(check.mcp_response)) as { tools: { name: string }[] };
      return mutate({ tools: tools.filter(({ name }) => name !== 'mail_echo') });
    };
    const session = await open('/many');
    first.seen.length = 0;
    const { result } = await session.request('tools/list');
    const names = (result?.['tools'] as { name: string }[]).map(({ name }) => name);
    assert.ok(names.includes('shop_echo') && !names.includes('mail_echo'), String(names));
    assert.deepEqual(first.methods(), ['request tools/list', 'response tools/list']);
    assert.deepEqual(first.seen[0]?.check.service_names, ['shop', 'mail']);
    first.seen.length = 0;
    first.request = (check) => mutate({ ...paramsOf(check), arguments: { text: 'other' } });
    assert.equal(resultText(await session.call('shop_echo', { text: 'x' })), 'other');
    assert.deepEqual(first.seen[0]?.check.service_names, ['shop']);
    assert.equal(paramsOf(first.seen[0]?.check as Check)['name'], 'echo');
    first.request = () => refuse('INVALID', 'no lists');
    assert.equal((await session.request('tools/list')).error?.code, -32_600);
    await session.close();
  });

  test('checks the requests of modern clients', async () => {
    first.request = (check) => mutate({ ...paramsOf(check), arguments: { text: 'changed' } });
    const modern = new RawModernClient(
      new URL(`${gateway.url}/one`),
      {},
      { authorization: `Bearer ${alice}` },
    );
    const { text } = await modern.post('tools/call', { name: 'echo', arguments: { text: 'x' } });
    assert.match(text, /changed/);
    first.request = () => refuse('PERMISSION_DENIED', 'not now');
    const refused = await modern.post('tools/call', { name: 'echo', arguments: { text: 'x' } });
    assert.match(refused.text, /not now/);
    assert.equal(shop.of('tools/call').length, 1);
  });

  for (const [path, methods] of Object.entries(ofTasks))
    test(`checks or exempts the result of a task by the methods ${JSON.stringify(methods)}`, async () => {
      shop.tools['order'] = (x) =>
        x.json({ jsonrpc: '2.0', id: x.id, result: { task: { taskId: 't1', status: 'completed' } } });
      shop.methods['tasks/result'] = (x) => x.json(x.result('card 1234567812345678'));
      first.response = hideCards;
      const session = await open(path);
      const { result } = await session.request('tools/call', { name: 'order', arguments: {}, task: {} });
      const { taskId } = result?.['task'] as { taskId: string };
      const text = resultText(await session.request('tasks/result', { taskId }));
      assert.equal(text, path === '/tasks-exempt' ? 'card 1234567812345678' : 'card ****');
      await session.close();
    });

  test('makes the headers for parameters anew where a processor changes them', async () => {
    const client = new RawModernClient(
      new URL(`${gateway.url}/modern`),
      {},
      { authorization: `Bearer ${alice}` },
    );
    const call = async (region: string): Promise<readonly unknown[]> => {
      const params = { name: 'region', arguments: { region } };
      const response = await client.fetch('tools/call', params, { 'mcp-param-region': region });
      assert.match(await response.text(), /"isError":false|"content"/);
      const { headers, message } = modern.of('tools/call').at(-1)!;
      return [headers['mcp-param-region'], headers['mcp-param-count'], message.params?.['arguments']];
    };
    for (const [region, count] of [
      ['eu', undefined],
      ['north ü', 3],
    ] as const) {
      const changed = { region, ...(count === undefined ? {} : { count }) };
      first.request = (check) => mutate({ ...paramsOf(check), arguments: changed });
      assert.deepEqual(await call('us'), [headerValue(region), count && String(count), changed]);
    }
    first.request = (check) => mutate({ ...paramsOf(check), name: 'region', arguments: { region: 'eu' } });
    assert.equal((await call('us'))[0], 'eu');
    assert.equal(modern.of('tools/list').length, 1);
  });

  test('refuses messages where the processor is down, late or speaks nonsense, unless it fails open', async () => {
    const closed = await open('/closed');
    const { error } = await closed.call('echo', { text: 'x' });
    assert.equal(error?.code, -32_603);
    assert.equal(error?.message, 'mcpGuardrails checkRequest failed');
    const list = await closed.request('tools/list');
    assert.equal(list.error?.message, 'mcpGuardrails checkResponse failed');
    assert.equal(shop.of('tools/call').length, 0);
    const failOpen = await open('/open');
    assert.equal(resultText(await failOpen.call('echo', { text: 'x' })), 'x');
    const slow = await open('/slow');
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    first.request = () => promise;
    assert.equal((await slow.call('echo', { text: 'x' })).error?.code, -32_603);
    resolve(pass);
    first.request = () => ({});
    assert.equal((await slow.call('echo', { text: 'x' })).error?.code, -32_603);
    first.request = () => ({ mutated: Buffer.from('[1]') });
    assert.equal((await slow.call('echo', { text: 'x' })).error?.code, -32_603);
    first.request = () => Promise.reject(new Error('broken'));
    assert.equal((await slow.call('echo', { text: 'x' })).error?.code, -32_603);
    assert.equal(shop.of('tools/call').length, 1);
    const count = (outcome: string): Promise<number | undefined> =>
      gateway.metric('portcullis_mcp_guardrail_checks_total', { phase: 'request', outcome });
    assert.ok(((await count('failed')) ?? 0) >= 5);
    assert.equal(await count('unchecked'), 1);
    await gateway.logged(/Guardrail not asked: message refused/);
    await gateway.logged(/Guardrail not asked: the message passed/);
    await Promise.all([closed.close(), failOpen.close(), slow.close()]);
  });

  test('refuses messages whose verdict cannot be used, although the processor fails open', async () => {
    const session = await open('/answering');
    const bad: Verdict[] = [
      {
        ...mutate({ name: 'echo', arguments: { text: 'clean' } }),
        header_mutation: { set: [{ key: 'Mcp-Session-Id', value: Buffer.from('x') }] },
      },
      { mutated: Buffer.from('{') },
      {},
      // More than an answer may have.
      { mutated: Buffer.alloc(33_554_433, ' ') },
    ];
    for (const [index, verdict] of bad.entries()) {
      first.request = () => verdict;
      const { error } = await session.call('echo', { text: 'dirty' });
      assert.equal(error?.message, 'mcpGuardrails checkRequest failed', String(index));
    }
    assert.equal(shop.of('tools/call').length, 0);
    await gateway.logged(/Guardrail answer is invalid: message refused/);
    first.request = () => pass;
    first.response = () => ({ mutated: Buffer.from('[]') });
    const { error } = await session.call('echo', { text: 'dirty' });
    assert.equal(error?.message, 'mcpGuardrails checkResponse failed');
    first.response = () => Promise.reject(new Error('broken'));
    assert.equal(resultText(await session.call('echo', { text: 'x' })), 'x');
    await session.close();
  });

  test('does not send a call that the client takes back during the check', async () => {
    const session = await open('/one');
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    const asked = Promise.withResolvers<void>();
    first.request = () => {
      asked.resolve();
      return promise;
    };
    const pending = session.send('POST', {
      id: 77,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'x' } },
    });
    await asked.promise;
    await session.send('POST', { method: 'notifications/cancelled', params: { requestId: 77 } });
    resolve(pass);
    await (await pending).text();
    first.request = () => pass;
    assert.equal(resultText(await session.call('echo', { text: 'later' })), 'later');
    assert.equal(shop.of('tools/call').length, 1);
    await session.close();
  });

  test('checks each message of a batch', async () => {
    const session = await openSession(`${gateway.url}/one`, bob, { protocolVersion: '2025-03-26' });
    first.request = (check) => (check.method === 'tools/call' ? checkOrder(check) : pass);
    const call = (id: number, amount: number): object => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'order', arguments: { amount } },
    });
    const response = await fetch(`${gateway.url}/one`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${bob}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': session.id,
      },
      body: JSON.stringify([call(1, 50), call(2, 5_000)]),
    });
    const text = await response.text();
    assert.match(text, /ordered/);
    assert.match(text, /above the limit of bob/);
    assert.equal(shop.of('tools/call').length, 1);
    await session.close();
  });

  test('names the decision of a processor as not evaluated where it only explains', async () => {
    const { hostname, port } = new URL(gateway.admin);
    const secret = findOperatorSecret({ host: hostname, port: Number(port) })?.secret ?? '';
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: {} },
    };
    const lines = ['content-type: application/json', 'accept: application/json, text/event-stream'];
    const head = ['POST /one HTTP/1.1', 'host: a', ...lines].join('\r\n');
    const explained = await fetch(`${gateway.admin}/api/v1/why`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        request: `${head}\r\n\r\n${JSON.stringify(message)}`,
        claims: { iss: idp.issuer, sub: 'alice' },
      }),
    });
    assert.match(await explained.text(), /mcpGuardrails asks its processors/);
    assert.deepEqual(first.methods(), []);
  });
});
