import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../../until.testing.ts';
import { recordingLog, recordingMetrics } from '../../harness.testing.ts';
import { startApi, type TestApi } from './api.testing.ts';
import { Descriptions, type DescriptionUse } from './descriptions.ts';
import { usualPace } from './remoteDescription.ts';

const quick = { ...usualPace, minFreshMs: 0, firstRetryMs: 1, maxRetryMs: 2 };

const described = (ref: string): string =>
  JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'Pets', version: '1' },
    paths: {
      '/pets': {
        post: {
          operationId: 'add',
          requestBody: { content: { 'application/json': { schema: { $ref: ref } } } },
        },
      },
    },
  });

interface Stage {
  readonly main: TestApi;
  readonly other: TestApi;
  use(references: readonly string[], changed?: () => void): DescriptionUse;
}

async function stage(t: TestContext, ref: (other: string) => string): Promise<Stage> {
  const other = await startApi(() => ({ body: '{"Pet":{"type":"string"}}' }));
  const main = await startApi(() => ({ body: described(ref(other.url)) }));
  const descriptions = new Descriptions(recordingLog().log, recordingMetrics().metrics, quick);
  t.after(async () => {
    descriptions.close();
    await main[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });
  return {
    main,
    other,
    use: (references, changed = () => undefined) =>
      descriptions.use({ kind: 'url', url: `${main.url}/v1/openapi.json`, choice: {}, references }, changed),
  };
}

const schemaOf = ({ tools }: DescriptionUse): string => tools?.list ?? '';

test('references lead to documents of the named origins, which are kept fresh, too', async (t) => {
  const { main, other, use } = await stage(t, (url) => `${url}/pets.json?key=secret#/Pet`);
  let changes = 0;
  other.answer = () => ({
    headers: { 'cache-control': 'max-age=0' },
    body: `{"Pet":{"$ref":"${main.url}/v1/more.json#/Name"}}`,
  });
  const { answer } = main;
  let name = '{"Name":{"type":"string","minLength":3}}';
  main.answer = (call) => (call.target === '/v1/more.json' ? { body: name } : answer(call));
  const found = use([other.url, main.url], () => changes++);
  await until('there are tools', () => found.tools !== undefined);
  assert.match(schemaOf(found), /"minLength":3/);
  assert.ok(other.seen.every(({ target }) => target === '/pets.json?key=secret'));
  name = '{"Name":{"type":"string","minLength":4}}';
  await until('the change is known', () => schemaOf(found).includes('"minLength":4'));
  assert.equal(changes, 2);
  found.release();
});

test('a reference to another origin is refused, and its server is not asked', async (t) => {
  for (const ref of ['/pets.json#/Pet', 'file:///etc/passwd', 'data:application/json,{}']) {
    const { main, other, use } = await stage(t, (url) => (ref.startsWith('/') ? url + ref : ref));
    const found = use([main.url]);
    await until('it is refused', () => found.problem !== undefined);
    assert.match(found.problem ?? '', /leads to a server that `references` does not name/);
    assert.equal(found.tools, undefined);
    assert.equal(other.seen.length, 0);
    found.release();
  }
});

test('a redirect to another origin is refused', async (t) => {
  const { main, other, use } = await stage(t, (url) => `${url}/pets.json#/Pet`);
  const asked: string[] = [];
  const { answer } = main;
  main.answer = (call) => {
    asked.push(call.target);
    return answer(call);
  };
  other.answer = () => ({ status: 302, headers: { location: `${main.url}/internal` } });
  const found = use([other.url, main.url]);
  await until('it is refused', () => found.problem !== undefined);
  assert.match(found.problem ?? '', /pets\.json: redirected to another server/);
  assert.ok(!asked.includes('/internal'));
  found.release();
});

test('the documents together have the limit of one, and a problem hides the query', async (t) => {
  const { other, use } = await stage(t, (url) => `${url}/pets.json?key=secret#/Pet`);
  const before = process.env['MAX_FILE_BYTES'];
  t.after(() => {
    if (before === undefined) delete process.env['MAX_FILE_BYTES'];
    else process.env['MAX_FILE_BYTES'] = before;
  });
  process.env['MAX_FILE_BYTES'] = '1000';
  other.answer = () => ({ body: `{"Pet":{"type":"string","description":"${'x'.repeat(900)}"}}` });
  const found = use([other.url]);
  await until('it is refused', () => found.problem !== undefined);
  assert.match(found.problem ?? '', /pets\.json: answer is over \d+ bytes/);
  assert.doesNotMatch(found.problem ?? '', /secret/);
  found.release();
});
