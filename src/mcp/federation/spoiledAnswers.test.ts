/** The answer of one server cannot spoil that of all the others. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { CatalogSettings } from '../fixtures/catalog.ts';
import { catalog, mcpBackend, startHarness } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';
import { RawModernClient } from '../rawModernClient.testing.ts';

const good: CatalogSettings = { name: 'good', tools: ['read'] };

/** A gateway in front of a good server and another one. */
async function beside(t: TestContext, other: Partial<CatalogSettings>): Promise<URL> {
  const targets = [catalog({ name: 'bad', ...other }), catalog(good)];
  const harness = await startHarness({ backend: mcpBackend({ targets, failOpen: true }) });
  t.after(() => harness.close());
  return harness.url;
}

async function ask(client: RawClient, method: string, params?: object): Promise<Message> {
  const { events, json } = await client.post(client.request(method, params));
  return events.at(-1) ?? json;
}

/** Lists and lists within them. */
const deep = '['.repeat(50_000) + ']'.repeat(50_000);

const initialize = (capabilities: string): Partial<CatalogSettings> => ({
  raw: {
    initialize: `{"protocolVersion":"2025-11-25","capabilities":${capabilities},"serverInfo":{"name":"bad","version":"1"}}`,
  },
});

test('capabilities that are no objects, or are too deep, are left out of the answer to initialize', async (t) => {
  for (const capabilities of [
    '{"tools":true,"prompts":[],"resources":"yes"}',
    `{"experimental":{"x":${deep}}}`,
  ]) {
    const client = new RawClient(await beside(t, initialize(capabilities)));
    const { json } = await client.initialize();
    assert.deepEqual(json.result?.['capabilities'], { tools: { listChanged: true }, logging: {} });
    assert.equal(await client.call('good_read'), 'good: read');
  }
});

test('a long list that is no JSON is left out of the list of all', async (t) => {
  const description = 'x'.repeat(70_000);
  const client = new RawClient(
    await beside(t, { rawTools: `{"name":"a","default":NaN,"description":"${description}"}` }),
  );
  await client.initialize();
  const { result } = await ask(client, 'tools/list');
  assert.deepEqual(
    (result?.['tools'] as { name: string }[]).map(({ name }) => name),
    ['good_read'],
  );
});

test('a client of 2026-07-28 gets the list of all, however deep the schema of one tool is', async (t) => {
  const tool = `{"name":"a","inputSchema":{"type":"object","allOf":${deep}},"title":"x-mcp-header"}`;
  const { status, text } = await new RawModernClient(await beside(t, { rawTools: tool })).post('tools/list');
  assert.equal(status, 200, text.slice(0, 200));
  assert.match(text, /"good_read"/);
});

test('a server that lacks a method it has declared is no failure of a request to all', async (t) => {
  const capabilities = { tools: {}, logging: {}, tasks: { list: {} } };
  const errors = { 'logging/setLevel': -32601, 'tasks/list': -32601 };
  const client = new RawClient(await beside(t, { capabilities, errors }));
  await client.initialize();
  assert.deepEqual((await ask(client, 'logging/setLevel', { level: 'info' })).result, {});
  assert.deepEqual((await ask(client, 'tasks/list')).result, { tasks: [] });
});

test('a client hears that no server takes a level of log messages', async (t) => {
  const bad = catalog({ name: 'bad', capabilities: { logging: {} }, errors: { 'logging/setLevel': -32601 } });
  const other = catalog({ ...good, capabilities: { tools: {} } });
  const harness = await startHarness({ backend: mcpBackend({ targets: [bad, other] }) });
  t.after(() => harness.close());
  const client = new RawClient(harness.url);
  await client.initialize();
  assert.equal((await ask(client, 'logging/setLevel', { level: 'info' })).error?.code, -32601);
});

test('a cursor behind an item with a very long name leads to the next page', async (t) => {
  const uris = Array.from({ length: 1_000 }, (_, n) => `data:,${n}${n === 999 ? '-'.repeat(7_000) : ''}`);
  const client = new RawClient(await beside(t, { resources: [...uris, 'data:,last'], pageSize: 2_000 }));
  await client.initialize();
  const first = await ask(client, 'resources/list');
  const { result } = await ask(client, 'resources/list', { cursor: first.result?.['nextCursor'] });
  assert.deepEqual(
    (result?.['resources'] as { uri: string }[]).map(({ uri }) => uri),
    ['bad+data:,last'],
  );
});
