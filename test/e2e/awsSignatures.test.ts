/** The gateway as a process signs requests for services of AWS, which verify each of them. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { jsonReply, petstoreText, startApi } from '../../src/mcp/targets/openapi/api.testing.ts';
import { SseServer } from '../../src/mcp/targets/sse/sseServer.testing.ts';
import { AwsService } from '../../src/policies/backendAuth/awsService.testing.ts';
import type { AwsKeys } from '../../src/policies/backendAuth/sigV4.ts';
import { startGateway } from './gateway.testing.ts';
import { openSession, resultText } from './session.testing.ts';

const example = fileURLToPath(new URL('../../examples/credentials/aws.yaml', import.meta.url));

const own: AwsKeys = { accessKeyId: 'AKIAOWN', secretAccessKey: 'secret-of-the-gateway' };
const assumed: AwsKeys = {
  accessKeyId: 'ASIAROLE',
  secretAccessKey: 'secret-of-the-role',
  sessionToken: 'token-of-the-role',
};
const environment = {
  GATEWAY_PORT: '0',
  AWS_ACCESS_KEY_ID: own.accessKeyId,
  AWS_SECRET_ACCESS_KEY: own.secretAccessKey,
  AWS_SESSION_TOKEN: '',
  AWS_REGION: 'eu-central-1',
};

/** A service in front of another server: it lets signed requests pass. */
const inFrontOf = (t: TestContext, url: string, keys = own): Promise<AwsService> =>
  AwsService.start(t, [keys], () => ({ to: url }));

const originOf = (url: string): string => new URL(url).origin;

test('an API and an MCP server of AWS get signed requests, and no log has a secret', async (t) => {
  const api = await AwsService.start(t, [own], ({ url, body }) => ({ body: `${url.pathname} ${body}` }));
  const server = await RemoteServer.start();
  const agent = await inFrontOf(t, originOf(server.url), assumed);
  const { accessKeyId, secretAccessKey, sessionToken = '' } = assumed;
  const sts = await AwsService.start(t, [own], () => ({
    body: `<Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>
      <SessionToken>${sessionToken}</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>`,
  }));
  await using gateway = await startGateway('', {
    args: ['-f', example],
    env: {
      ...environment,
      API_URL: api.url,
      AGENT_URL: `${agent.url}/mcp`,
      AWS_ENDPOINT_URL_STS: sts.url,
    },
  });
  t.after(() => server.close());
  const response = await fetch(new URL('/orders/1', gateway.url), { method: 'POST', body: 'buy' });
  assert.equal(await response.text(), '/orders/1 buy', api.refused.join());
  const ask: typeof fetch = (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set('x-team', 'blue');
    return fetch(url, { ...init, headers });
  };
  const session = await openSession(`${gateway.url}/mcp`, undefined, { fetch: ask });
  assert.equal(resultText(await session.call('echo', { text: 'signed' })), 'signed', agent.refused.join());
  await session.close();
  assert.deepEqual([agent.refused, sts.refused], [[], []]);
  assert.deepEqual(
    [...new Set(agent.requests.map(({ scope }) => scope))],
    ['eu-central-1/bedrock-agentcore'],
  );
  assert.equal(new URLSearchParams(sts.requests[0]?.body).get('Tags.member.1.Value'), 'blue');
  assert.equal(sts.requests.length, 1);
  const shown = gateway.log() + gateway.accessLog() + JSON.stringify(await gateway.configDump());
  for (const secret of [own.secretAccessKey, secretAccessKey, sessionToken])
    assert.ok(!shown.includes(secret), secret);
});

test('APIs and servers over HTTP+SSE get signed requests, too', async (t) => {
  const sse = await SseServer.start();
  const api = await startApi(() => jsonReply({ id: 7, name: 'Rex' }));
  t.after(() => Promise.all([sse.close(), api[Symbol.asyncDispose]()]));
  const [legacy, pets] = [await inFrontOf(t, originOf(sse.url)), await inFrontOf(t, api.url)];
  const aws = '{ aws: { serviceName: lambda } }';
  await using gateway = await startGateway(
    `
mcp:
  port: 0
  targets:
    - name: legacy
      sse: { host: '${legacy.url}/sse' }
      policies: { backendAuth: ${aws} }
    - name: pets
      openapi: { host: 127.0.0.1, port: ${String(pets.port)}, schema: ${JSON.stringify(petstoreText)} }
      policies: { backendAuth: ${aws} }
`,
    { env: environment },
  );
  const session = await openSession(`${gateway.url}/mcp`);
  const pet = await session.call('pets_getPet', { path: { petId: 7 } });
  assert.equal(resultText(pet), '{"id":7,"name":"Rex"}', pets.refused.join());
  const added = await session.call('pets_createPet', { body: { name: 'Rex' } });
  assert.ok(added.result !== undefined, JSON.stringify(added) + pets.refused.join());
  assert.equal(resultText(await session.call('legacy_echo', { text: 'a' })), 'a', legacy.refused.join());
  await session.close();
  assert.ok(legacy.requests.some(({ method }) => method === 'GET'));
  assert.ok(legacy.requests.some(({ body }) => body.includes('tools/call')));
  assert.ok(pets.requests.some(({ method, body }) => method === 'POST' && body.includes('Rex')));
  assert.deepEqual([legacy.refused, pets.refused], [[], []]);
});
