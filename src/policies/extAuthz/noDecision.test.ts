import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError, type ErrorCode } from '../../errors.ts';
import { FakeExchange } from '../exchange.testing.ts';
import type { Host } from '../policy.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { extAuthz } from './index.ts';

const broken = (code: ErrorCode): Promise<never> => Promise.reject(new GatewayError(code));

/** Asks a service with `failureMode: allow`. @returns the headers that the backend gets of a request with `x-user: root` */
async function passing(ask: Host['ask'], protocol: object): Promise<readonly string[]> {
  const tools = { ...toolsWith([]), hosts: { use: () => ({ ask }) } };
  const settings = { host: 'authz.test:1', failureMode: 'allow', protocol };
  const exchange = new FakeExchange({ headers: [['x-user', 'root']] });
  assert.equal(await prepared(extAuthz, settings, tools).onRequest?.(exchange), undefined);
  return exchange.requestHeaders.apply(exchange.request.headerLines()).map(([name]) => name);
}

test('a client cannot set a header of the service by a request without a decision', async () => {
  const http = { includeResponseHeaders: ['X-User'] };
  assert.deepEqual(await passing(() => broken('upstream_timeout'), { http }), []);
  assert.deepEqual(await passing(() => broken('upstream_timeout'), { http: {} }), ['x-user']);
});

test('an answer that is too large or malformed refuses the request, even with failureMode: allow', async () => {
  for (const protocol of [{ http: {} }, { grpc: {} }])
    for (const code of ['upstream_too_large', 'upstream_protocol'] as const)
      await assert.rejects(
        passing(() => broken(code), protocol),
        { code: 'ext_authz_failed' },
        code,
      );
});

test('a refusal whose body does not come to its end refuses the request, even with failureMode: allow', async () => {
  const cutAfter =
    (status: number): Host['ask'] =>
    ({ onStatus }) => {
      onStatus?.(status);
      return broken('upstream_reset');
    };
  for (const status of [200, 302, 403])
    await assert.rejects(passing(cutAfter(status), { http: {} }), { code: 'ext_authz_failed' });
  assert.deepEqual(await passing(cutAfter(503), { http: {} }), ['x-user']);
});

test('an expression of the call without a usable value refuses the request, even with failureMode: allow', async () => {
  const unasked = (): never => assert.fail('the service was asked');
  for (const http of [{ path: 'request.headers["x-no"]' }, { path: '"no path"' }, { body: 'jwt.sub' }])
    await assert.rejects(passing(unasked, { http }), { code: 'ext_authz_failed' }, JSON.stringify(http));
});

test('the HTTP service of a tenant answers 64 requests at a time, and callers that leave make room', async () => {
  const ask = () => new Promise<never>(() => undefined);
  const tools = { ...toolsWith([]), hosts: { use: () => ({ ask }) }, guarded: true };
  const settings = { host: 'authz.test:1', protocol: { http: {} } };
  const { onRequest } = prepared(extAuthz, settings, tools);
  const waiting = Array.from({ length: 64 }, () => new FakeExchange());
  for (const exchange of waiting) void onRequest?.(exchange);
  await assert.rejects(Promise.resolve(onRequest?.(new FakeExchange())), { code: 'ext_authz_failed' });
  for (const { closeListeners } of waiting) for (const listener of closeListeners) listener();
  let isRefused = false;
  const last = Promise.resolve(onRequest?.(new FakeExchange())).catch(() => (isRefused = true));
  await Promise.race([last, new Promise((resolve) => setImmediate(resolve))]);
  assert.equal(isRefused, false);
});
