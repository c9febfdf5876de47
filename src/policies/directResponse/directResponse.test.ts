import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { Reply } from '../../http/index.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { directResponse } from './index.ts';

function answer(settings: object, request: FakeRequest = {}): Reply {
  const reply = prepared(directResponse, settings).onRequest?.(new FakeExchange(request));
  assert.ok(reply !== undefined && !(reply instanceof Promise));
  return reply;
}

test('a fixed body is sent as text, or with the type of its header', () => {
  assert.deepEqual(answer({ status: 418, body: 'teapot' }), {
    status: 418,
    headers: [['content-type', 'text/plain; charset=utf-8']],
    body: 'teapot',
  });
  assert.deepEqual(
    answer({ status: 200, body: '{}', headers: { 'Content-Type': '"application/json"' } }).headers,
    [['content-type', 'application/json']],
  );
  assert.deepEqual(answer({ status: 204 }), { status: 204, headers: [] });
});

test('expressions make body and headers from the request', () => {
  const reply = answer(
    {
      status: 200,
      bodyExpression: '{"path": request.path, "who": jwt.sub, "n": 1}',
      headers: { 'x-method': 'request.method', 'x-n': '2' },
    },
    { target: '/a?b', identity: { issuer: 'i', subject: 'alice', claims: { sub: 'alice' } } },
  );
  assert.equal(reply.body, '{"path":"/a","who":"alice","n":1}');
  assert.deepEqual(reply.headers, [
    ['content-type', 'application/json'],
    ['x-method', 'GET'],
    ['x-n', '2'],
  ]);
  assert.equal(answer({ status: 200, bodyExpression: '"hi " + request.host' }).body, 'hi gateway.test');
  assert.deepEqual(answer({ status: 200, bodyExpression: 'b"ab"' }).body, Buffer.from('ab'));
});

test('a body whose expression fails is an error of the policy', () => {
  assert.throws(
    () => answer({ status: 200, bodyExpression: 'jwt.missing' }),
    (error) => error instanceof GatewayError && error.code === 'policy_failed',
  );
});

test('a header whose expression fails, or makes no header value, is left out, and the log says so', () => {
  let now = 0;
  const tools = { ...toolsWith([]), now: () => now };
  const steps = prepared(
    directResponse,
    {
      status: 200,
      body: 'x',
      headers: {
        'x-missing': 'request.headers.x',
        'x-list': '[request.path]',
        'x-split': 'url.decode(request.path)',
        'x-good': '"1"',
      },
    },
    tools,
  );
  const ask = (): FakeExchange => {
    const exchange = new FakeExchange({ target: '/a%0d%0ax:1' });
    const reply = steps.onRequest?.(exchange) as Reply;
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.headers, [
      ['content-type', 'text/plain; charset=utf-8'],
      ['x-good', '1'],
    ]);
    return exchange;
  };
  assert.deepEqual(ask().annotations, { headersLeftOut: 'x-missing, x-list, x-split' });
  assert.deepEqual(
    tools.lines.map(({ level, fields }) => [level, fields['header']]),
    [
      ['warn', 'x-missing'],
      ['warn', 'x-list'],
      ['warn', 'x-split'],
    ],
  );
  now = 9_999;
  ask();
  assert.equal(tools.lines.length, 3);
  now = 10_000;
  ask();
  assert.equal(tools.lines.length, 6);
});

test('settings that cannot work are rejected at load', () => {
  const problems = (settings: object) => directResponse.schema.safeParse(settings).error?.issues ?? [];
  assert.equal(problems({ body: 'x' }).length, 1);
  assert.equal(problems({ status: 99 }).length, 1);
  assert.equal(problems({ status: 200, body: 'a', bodyExpression: '"b"' }).length, 1);
  assert.equal(problems({ status: 204, body: 'a' }).length, 1);
  assert.equal(problems({ status: 200, headers: { 'content-length': '1' } }).length, 1);
  assert.match(
    problems({ status: 200, bodyExpression: 'request.body' })[0]?.message ?? '',
    /not available here/,
  );
  const [conditional] = problems({ status: 200, conditional: [] });
  assert.deepEqual(conditional?.code === 'custom' && conditional.params, { notBuilt: true });
});
