/** Tests of names without a prefix while the target that owns them is away. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { McpBackend } from '../../model/index.ts';
import { PinFolder } from '../../pins/index.ts';
import {
  catalog,
  mcpBackend,
  startHarness,
  stdioTarget,
  type Harness,
  type HarnessOptions,
} from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';
import { apiTarget } from '../targets/openapi/api.testing.ts';
import { changeable } from './toolsFile.testing.ts';

/** The tool of the first target, and the same name at the second. */
const other = catalog({ name: 'b', tools: ['tool1', 'own'] });
const dead = stdioTarget({ name: 'a', cmd: '/nowhere/program' });

async function start(
  t: TestContext,
  backend: Partial<McpBackend>,
  options: HarnessOptions = {},
): Promise<Harness> {
  const harness = await startHarness({
    backend: mcpBackend({ prefixMode: 'never', failOpen: true, ...backend }),
    caller: (request) => ({ principal: request.header('x-user') }),
    ...options,
  });
  t.after(() => harness.close());
  return harness;
}

async function open(harness: Harness, user: string): Promise<RawClient> {
  const client = new RawClient(harness.url, { 'x-user': user });
  await client.initialize();
  return client;
}

async function ask(client: RawClient, message: object): Promise<Message> {
  const { json, events } = await client.post(message);
  return events.at(-1) ?? json;
}

async function toolsOf(client: RawClient): Promise<string[]> {
  const { result } = await ask(client, client.request('tools/list'));
  return (result?.['tools'] as { name: string }[]).map(({ name }) => name);
}

async function assertWithheld(harness: Harness, user: string): Promise<void> {
  const caller = await open(harness, user);
  const { error } = await ask(caller, caller.tool('tool1'));
  assert.match(error?.message ?? '', /target "a"/);
  assert.deepEqual(await toolsOf(caller), ['own']);
  assert.equal(await caller.call('own'), 'b: own');
}

test('no target inherits the name of a target that is away, also for callers that never saw it', async (t) => {
  const first = changeable(t, 'a', ['tool1']);
  const harness = await start(t, { targets: [first.target, other] });
  assert.deepEqual(await toolsOf(await open(harness, 'alice')), ['tool1', 'own']);
  first.remove();
  await assertWithheld(harness, 'bob');
});

test('names that were pinned keep their target after a restart of the gateway', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-away-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const first = changeable(t, 'a', ['tool1']);
  const settings = { targets: [first.target, other], pin: 'warn' as const };
  const before = await start(t, settings, { runtime: { pins: new PinFolder(folder) } });
  await toolsOf(await open(before, 'alice'));
  first.remove();
  await assertWithheld(await start(t, settings, { runtime: { pins: new PinFolder(folder) } }), 'bob');
});

test('a view that chooses an item of a target keeps its name for the target', async (t) => {
  const view = { rest: 'show' as const, tools: [{ target: 'a', name: 'tool1' }] };
  await assertWithheld(await start(t, { targets: [dead, other], view }), 'bob');
});

test('the operations of an API keep their names for a caller without a credential for the API', async (t) => {
  const text = `
openapi: 3.1.0
info: { title: Test, version: '1' }
servers: [{ url: 'http://127.0.0.1' }]
paths: { /one: { get: { operationId: tool1, responses: { '200': { description: ok } } } } }`;
  const harness = await start(
    t,
    { targets: [apiTarget(1, text, { name: 'a' }), other] },
    {
      caller: () => ({
        principal: 'bob',
        reach: () => {
          throw new GatewayError('mcp_target_failed', { message: 'target "a" has no credential for bob' });
        },
      }),
    },
  );
  await assertWithheld(harness, 'bob');
});

test('a name of a target that was never seen goes to the next target that lists it', async (t) => {
  const client = await open(await start(t, { targets: [dead, other] }), 'bob');
  assert.deepEqual(await toolsOf(client), ['tool1', 'own']);
  assert.equal(await client.call('tool1'), 'b: tool1');
});
