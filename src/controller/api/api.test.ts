import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { createMetrics } from '../../telemetry/index.ts';
import { KubeApi, patchTypes } from './api.ts';
import { ApiError, isConflict, isNotFound } from './apiError.ts';
import { accessTo } from './localServer.testing.ts';
import { pathOf } from './resource.ts';

async function setUp(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  options: { readonly timeoutMs?: number; readonly maxBodyBytes?: number } = {},
): Promise<{ api: KubeApi; exposed: () => Promise<string> }> {
  const metrics = createMetrics({ process: false });
  const access = await accessTo(t, answer);
  return {
    api: new KubeApi({ access, metrics, userAgent: 'portcullis/test', ...options }),
    exposed: async () => await metrics.expose(),
  };
}

test('a request carries its query, its body and its content type', async (t) => {
  let seen: unknown;
  const { api, exposed } = await setUp(t, (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      seen = { url: request.url, method: request.method, type: request.headers['content-type'], body };
      response.end('{"fine":true}');
    });
  });
  const answer = await api.request({
    method: 'PATCH',
    path: '/x',
    query: { force: true, none: undefined, selector: 'a=b,c' },
    contentType: patchTypes.apply,
    body: { a: 1 },
  });
  assert.deepEqual(answer, { fine: true });
  assert.deepEqual(seen, {
    url: '/x?force=true&selector=a%3Db%2Cc',
    method: 'PATCH',
    type: 'application/apply-patch+yaml',
    body: '{"a":1}',
  });
  assert.match(await exposed(), /kube_api_requests_total\{method="PATCH",code="200"\} 1/);
});

test('a refusal says its status, reason and how long to wait', async (t) => {
  const { api } = await setUp(t, (_request, response) => {
    response.writeHead(409, { 'retry-after': '3' });
    response.end('{"kind":"Status","code":200,"reason":"Conflict","message":"changed"}');
  });
  await assert.rejects(api.request({ path: '/x' }), (error) => {
    assert.ok(error instanceof ApiError && isConflict(error) && !isNotFound(error));
    assert.deepEqual([error.reason, error.message, error.retryAfterMs], ['Conflict', 'changed', 3_000]);
    return true;
  });
});

test('a refusal in the words of something on the way is one, too', async (t) => {
  const { api } = await setUp(t, (_request, response) => void response.writeHead(502).end('<h1>Bad</h1>'));
  await assert.rejects(
    api.request({ path: '/x' }),
    (error) => error instanceof ApiError && error.status === 502,
  );
});

test('an answer that does not come, or does not end, is given up', async (t) => {
  for (const answer of [
    () => {},
    (_request: IncomingMessage, response: ServerResponse) => void response.write('{'),
  ]) {
    const { api } = await setUp(t, answer, { timeoutMs: 30 });
    await assert.rejects(api.request({ path: '/x' }), /did not answer within 30 ms/);
  }
});

test('an answer that is too large is not gathered', async (t) => {
  const { api } = await setUp(t, (_request, response) => void response.end('x'.repeat(2_000)), {
    maxBodyBytes: 1_000,
  });
  await assert.rejects(api.request({ path: '/x' }), /larger than 1000 bytes/);
});

test('a request is called off by its signal, before and during the body', async (t) => {
  const { api, exposed } = await setUp(t, (_request, response) => {
    response.writeHead(200);
    response.flushHeaders();
  });
  const controller = new AbortController();
  const response = await api.open({ path: '/x', signal: controller.signal });
  const closed = once(response, 'close');
  controller.abort();
  await closed;
  await assert.rejects(api.request({ path: '/x', signal: controller.signal }));
  assert.doesNotMatch(await exposed(), /code="failed"/);
});

test('a server that is not there is counted as a failure', async (t) => {
  const { api, exposed } = await setUp(t, (request) => void request.socket.destroy());
  await assert.rejects(api.request({ path: '/x' }));
  assert.match(await exposed(), /kube_api_requests_total\{method="GET",code="failed"\} 1/);
});

test('names are escaped in paths', () => {
  const resource = { group: 'g', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true };
  assert.equal(
    pathOf(resource, { namespace: 'a/b', name: '../c?d', subresource: 'status' }),
    '/apis/g/v1/namespaces/a%2Fb/things/..%2Fc%3Fd/status',
  );
  assert.equal(pathOf({ ...resource, group: '', namespaced: false }, { namespace: 'x' }), '/api/v1/things');
});
