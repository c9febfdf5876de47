import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { ApiSource, OperationChoice } from '../../../model/index.ts';
import { until } from '../../../until.testing.ts';
import { recordingLog, recordingMetrics, type LogLine } from '../../harness.testing.ts';
import { jsonReply, petstoreText, startApi, tasksText, type TestApi } from './api.testing.ts';
import { Descriptions, type DescriptionUse } from './descriptions.ts';
import { usualPace, type DescriptionPace } from './remoteDescription.ts';

/** Failures are tried again at once, and a description is fresh for as long as its server says. */
const quick: DescriptionPace = { ...usualPace, minFreshMs: 0, firstRetryMs: 1, maxRetryMs: 2 };

interface Stage {
  readonly api: TestApi;
  readonly lines: readonly LogLine[];
  /** By name and labels; of the one URL. */
  metric(name: string, result?: string): number | undefined;
  use(changed?: () => void, choice?: OperationChoice): DescriptionUse;
}

async function stage(t: TestContext, pace: DescriptionPace = quick): Promise<Stage> {
  const api = await startApi(() => described(petstoreText));
  const { log, lines } = recordingLog();
  const { metrics, read } = recordingMetrics();
  const descriptions = new Descriptions(log, metrics, pace);
  t.after(async () => {
    descriptions.close();
    await api[Symbol.asyncDispose]();
  });
  const source = (choice: OperationChoice): ApiSource => ({
    kind: 'url',
    url: `${url}?key=secret`,
    choice,
  });
  const url = `${api.url}/openapi.yaml`;
  const metric: Stage['metric'] = (name, result) =>
    read().get(`${name}{source="${url}"${result === undefined ? '' : `,result="${result}"`}}`);
  return {
    api,
    lines,
    metric,
    use: (changed = () => undefined, choice = {}) => descriptions.use(source(choice), changed),
  };
}

const described = (body: string, control = 'max-age=3600') => ({
  headers: { 'content-type': 'application/yaml', 'cache-control': control },
  body,
});

const messages = (lines: readonly LogLine[], level: string): string =>
  lines
    .filter((line) => line.level === level)
    .map(({ message, fields }) => `${message} ${JSON.stringify(fields)}`)
    .join('\n');

test('a description is fetched once for all of its users, and kept for the next one', async (t) => {
  const { api, use } = await stage(t);
  const one = use();
  const two = use();
  await Promise.all([one.ready, two.ready]);
  assert.equal(one.tools, two.tools);
  assert.equal(one.tools?.api.title, 'Petstore');
  one.release();
  two.release();
  const three = use();
  assert.equal(three.tools?.operations.size, 7);
  assert.equal(api.seen.length, 1);
  assert.match(api.seen[0]?.headers.accept ?? '', /application\/json/);
});

test('users with other choices have other tools', async (t) => {
  const { use } = await stage(t);
  const some = use(undefined, { include: { tags: ['admin'], paths: [], operations: [] } });
  const all = use();
  await Promise.all([some.ready, all.ready]);
  assert.deepEqual([some.tools?.operations.size, all.tools?.operations.size], [1, 7]);
});

test('a description that changes reaches its users', async (t) => {
  const { api, use } = await stage(t);
  api.answer = () => described(petstoreText, 'no-cache');
  let changes = 0;
  const one = use(() => void changes++);
  await one.ready;
  assert.equal(changes, 1);
  await until('the next fetch', () => api.seen.length >= 3);
  assert.equal(changes, 1);
  api.answer = () => described(tasksText);
  await until('the change', () => changes === 2);
  assert.equal(one.tools?.api.title, 'Tasks');
});

test('a description that cannot be used leaves the one before in use, and the log says why', async (t) => {
  const { api, use, lines } = await stage(t);
  api.answer = () => described(petstoreText, 'no-cache');
  const one = use();
  await one.ready;
  api.answer = () => described('{"openapi":"3.1.0"}', 'no-cache');
  await until('the problem', () => one.problem);
  assert.equal(one.problem, 'has no `paths`');
  assert.equal(one.tools?.api.title, 'Petstore');
  assert.match(messages(lines, 'warn'), /API description could not be used .*has no `paths`.*"kept":7/);
  api.answer = () => described(petstoreText);
  await until('the recovery', () => one.problem === undefined);
});

test('a server that does not answer is asked again, and the metrics count it', async (t) => {
  const { api, use, metric, lines } = await stage(t);
  api.answer = () => ({ status: 503 });
  const one = use();
  await one.ready;
  assert.equal(one.tools, undefined);
  assert.equal(one.problem, 'answered 503');
  api.answer = () => described(petstoreText);
  assert.equal(metric('openapi_tools'), 0);
  await until('the tools', () => one.tools);
  assert.equal(metric('openapi_tools'), 7);
  assert.ok(metric('openapi_fetches_total', 'failed')! >= 1);
  assert.equal(metric('openapi_fetches_total', 'ok'), 1);
  assert.ok(!JSON.stringify(lines).includes('secret'));
});

test('a description that is too large for a file is too large at a URL', async (t) => {
  const { api, use } = await stage(t);
  api.answer = () => described(' '.repeat(9_000_000));
  const one = use();
  await one.ready;
  assert.match(one.problem ?? '', /is over 8388608 bytes/);
});

test('a large description is read on a thread of its own', async (t) => {
  const { api, use } = await stage(t);
  const large = JSON.parse(tasksText) as { info: { description?: string } };
  large.info.description = 'x'.repeat(100_000);
  api.answer = () => jsonReply(large);
  const one = use();
  await one.ready;
  assert.equal(one.problem, undefined);
  assert.equal(one.tools?.operations.size, 2);
  assert.equal(one.tools?.api.instructions?.length, 100_000);
  const broken = { ...large, paths: { 'x-nothing': 1 } };
  api.answer = () => jsonReply(broken);
  const other = use(undefined, { exclude: { tags: ['none'], paths: [], operations: [] } });
  await other.ready;
  assert.equal(other.problem, 'has no operation that is chosen');
});

test('no description is fetched for nobody', async (t) => {
  const { api, use } = await stage(t);
  api.answer = () => described(petstoreText, 'no-cache');
  const one = use();
  await one.ready;
  one.release();
  const before = api.seen.length;
  const two = use();
  await until('a fetch for the next user', () => api.seen.length > before);
  two.release();
});
