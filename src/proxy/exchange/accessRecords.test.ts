import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import { until } from '../../until.testing.ts';
import { TestPlane, type LocalHandler } from '../dataPlane.testing.ts';
import { get } from '../wire.testing.ts';

const key = 'key-of-the-configuration';
const planes: TestPlane[] = [];
after(() => {
  for (const plane of planes) plane.close();
});

async function ask(
  policies: Readonly<Record<string, unknown>>,
  request: string,
  handler: LocalHandler = (_request, reply) => reply.send({ status: 200 }),
): Promise<TestPlane> {
  const plane = await TestPlane.start({ routes: [{ policies, handler }] });
  planes.push(plane);
  await plane.ask(request);
  return plane;
}

async function recordOf(policies: Readonly<Record<string, unknown>>, request: string) {
  const plane = await ask(policies, request);
  return until('the record', () => plane.access[0]);
}

test('a record shows no token and no configured secret in the path and in the id that the client gave', async () => {
  rememberSecrets([key]);
  const jwt = ['eyJhbGciOiJFUzI1NiJ9', 'eyJzdWIiOiJhbGljZSJ9', 'c2lnbmF0dXJlLW9mLTE2'].join('.');
  for (const secret of [key, jwt, `ghp_${'a1B2'.repeat(8)}`]) {
    const { path } = await recordOf({}, get(`/reset/${secret}`));
    assert.equal(path, '/reset/[redacted]');
  }
  const { requestId, path } = await recordOf({}, get('/plain', `x-request-id: ${key}`));
  assert.deepEqual([requestId, path], ['[redacted]', '/plain']);
});

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' };
const tokenAt = (expression: string, mode: string): unknown =>
  policySchemas.jwtAuth.parse({
    mode,
    location: { expression },
    issuer: 'https://issuer.test',
    jwks: { inline: JSON.stringify({ keys: [jwk] }) },
  });

test('a record does not show what a policy took out of the path as a token', async () => {
  const jwtAuth = tokenAt('request.path.split("/")[1]', 'strict');
  const { path, error, reason } = await recordOf({ jwtAuth }, get('/opaque-token-1/orders'));
  assert.deepEqual([path, error], ['/[redacted]/orders', 'token_invalid'], reason ?? 'no reason');
});

test('the line about an error of a handler does not show it, either', async () => {
  const jwtAuth = tokenAt('request.path.split("/")[1]', 'permissive');
  const { log } = await ask({ jwtAuth }, get('/opaque-token-1/orders'), () => {
    throw new Error('a fault');
  });
  const { fields } = log.find(({ message }) => message === 'internal error')!;
  assert.equal(fields?.['path'], '/[redacted]/orders');
});

test('a client cannot hide its path from the log by a text that it sends elsewhere', async () => {
  const jwtAuth = tokenAt('request.headers["x-token"]', 'permissive');
  const { path, status } = await recordOf({ jwtAuth }, get('/admin/remove', 'x-token: /admin/remove'));
  assert.deepEqual([path, status], ['/admin/remove', 200]);
});
