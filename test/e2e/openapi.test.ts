/** APIs behind a gateway that runs as a user runs it: descriptions in files and at URLs, and their changes. */
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  jsonReply,
  petstoreText,
  startApi,
  type TestApi,
} from '../../src/mcp/targets/openapi/api.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, resultText, type RawSession } from './session.testing.ts';

interface Stage {
  readonly api: TestApi;
  readonly gateway: GatewayProcess;
  /** Replaces the description, as editors do. */
  describe(text: string): void;
}

async function stage(t: TestContext, more = '', config = ''): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-api-'));
  const file = join(folder, 'openapi.yaml');
  const describe = (text: string): void => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  describe(petstoreText);
  const api = await startApi();
  t.after(async () => {
    await api[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });
  const gateway = await startGateway(`
${config}
mcp:
  port: 0
  targets:
    - name: shop
      openapi:
        host: 127.0.0.1
        port: ${api.port}
        schema: ${more === '' ? `{ file: ${file} }` : more.replace('API', api.url)}
      policies:
        requestHeaderModifier: { set: { accept: application/vnd.shop+json } }
        backendAuth:
          key: { value: shop-key, location: { queryParameter: { name: api_key } } }
`);
  t.after(() => gateway.stop());
  return { api, gateway, describe };
}

const names = async (session: RawSession): Promise<readonly string[]> => {
  const { result } = await session.request('tools/list');
  return (result?.['tools'] as { name: string }[]).map(({ name }) => name);
};

test('a call reaches the API with the credentials of the gateway and nothing of the client', async (t) => {
  const { api, gateway } = await stage(t);
  api.answer = () => jsonReply({ id: 7, name: 'Rex' });
  const session = await openSession(`${gateway.url}/mcp`, 'token-of-the-client');
  assert.equal(resultText(await session.call('getPet', { path: { petId: 7 } })), '{"id":7,"name":"Rex"}');
  const [seen] = api.seen;
  assert.equal(seen?.target, '/v2/pets/7?api_key=shop-key');
  assert.equal(seen?.headers.accept, 'application/vnd.shop+json');
  assert.equal(seen?.headers.host, `127.0.0.1:${api.port}`);
  assert.ok(!JSON.stringify(seen?.headers).includes('token-of-the-client'));
  // The answer of a failure may repeat the request.
  api.answer = ({ target }) => ({ status: 400, body: `cannot read ${target}` });
  const text = resultText(await session.call('listPets')) ?? '';
  assert.match(text, /^HTTP 400 Bad Request/);
  assert.ok(!text.includes('shop-key') && !gateway.log().includes('shop-key'));
});

test('a changed file gives a session other tools, and a broken one leaves it the tools that it has', async (t) => {
  const { gateway, describe } = await stage(t);
  const session = await openSession(`${gateway.url}/mcp`);
  assert.ok((await names(session)).includes('getPet'));
  const synchronized = async (): Promise<boolean> => (await gateway.configDump()).config.synchronized;
  describe(petstoreText.replace('operationId: order', 'operationId: getPet'));
  await until('the refusal', async () => !(await synchronized()));
  const [problem = ''] = (await gateway.configDump()).config.problems;
  assert.match(
    problem,
    /schema\.file: .*GET \/pets\/\{petId\} and POST \/orders would both be the tool getPet/,
  );
  assert.ok((await names(session)).includes('order'));
  describe(petstoreText.replace('operationId: order', 'operationId: buy'));
  await until('the new tools', async () => (await names(session)).includes('buy'));
  assert.ok(await synchronized());
});

test('warnings about a description are part of the configuration', async (t) => {
  const { gateway } = await stage(t);
  const { warnings } = (await gateway.configDump()).config;
  assert.match(warnings.join('\n'), /shop: GET \/pets: the header parameter Authorization is left out/);
});

test('a description comes from a URL, for every worker', async (t) => {
  const { api, gateway } = await stage(t, '{ url: API/openapi.yaml }', 'config: { workers: 2 }');
  api.answer = ({ target }) => (target === '/openapi.yaml' ? { body: petstoreText } : jsonReply([]));
  for (let i = 0; i < 4; i++) {
    const session = await openSession(`${gateway.url}/mcp`);
    assert.equal((await names(session)).length, 7);
    assert.equal(resultText(await session.call('listPets')), '[]');
    await session.close();
  }
});
