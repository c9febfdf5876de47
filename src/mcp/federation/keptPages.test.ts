import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { McpBackend } from '../../model/index.ts';
import type { Caller, RulesBasis } from '../contract.ts';
import { catalog, mcpBackend, startHarness, type Harness, rulesBy } from '../harness.testing.ts';
import { noRules } from '../items/itemRules.ts';
import { Naming } from '../items/naming.ts';
import { RetainedMemory, RetainedMemoryPool } from '../limits/retainedMemory.ts';
import { RawClient } from '../rawClient.testing.ts';
import { KeptPages, type PageBasis } from './keptPages.ts';

const targets = [
  catalog({ name: 'files', tools: ['read', 'setTools'] }),
  catalog({ name: 'db', tools: ['read', 'query'] }),
];

const rules = {};
const ada = {};
let harness: Harness;
let caller: Caller;
/** Items that the rules have decided on. */
let asked = 0;

before(async () => {
  harness = await startHarness({ caller: () => caller });
});
after(() => harness.close());
beforeEach(() => {
  caller = callerWith(() => true);
  asked = 0;
});

const callerWith = (
  allows: (name: string) => boolean,
  rulesBasis: () => RulesBasis | undefined = () => ({ rules, identity: ada }),
): Caller => ({
  principal: 'ada',
  ...rulesBy(({ name }) => {
    asked++;
    return allows(name);
  }),
  rulesBasis,
});

async function open(settings: Partial<McpBackend> = {}): Promise<RawClient> {
  harness.use(mcpBackend({ targets, ...settings }));
  const client = new RawClient(harness.url);
  await client.initialize();
  return client;
}

/** The names in the list of tools, and the number of decisions that the rules made for it. */
async function listed(client: RawClient): Promise<{ names: string[]; decisions: number }> {
  asked = 0;
  const request = client.request('tools/list');
  const { events, json } = await client.post(request);
  // News of targets may come first, on the stream of the response.
  const response = events.at(-1) ?? json;
  assert.equal(response.id, (request as { id: unknown }).id);
  const { tools } = response.result as { tools: { name: string }[] };
  return { names: tools.map(({ name }) => name), decisions: asked };
}

const all = ['files_read', 'files_setTools', 'db_read', 'db_query'];

test('an unchanged list is decided on once, and each response has the id of its request', async () => {
  const client = await open();
  assert.deepEqual(await listed(client), { names: all, decisions: 4 });
  assert.deepEqual(await listed(client), { names: all, decisions: 0 });
});

test('another caller of the session gets a list of its own, and so does the first one again', async () => {
  const client = await open();
  await listed(client);
  caller = callerWith(
    (name) => name !== 'query',
    () => ({ rules, identity: {} }),
  );
  assert.deepEqual((await listed(client)).names, all.slice(0, 3));
  caller = callerWith(() => true);
  assert.deepEqual((await listed(client)).names, all);
});

test('changed rules decide anew for the same caller', async () => {
  const client = await open();
  await listed(client);
  caller = callerWith(
    (name) => name !== 'read',
    () => ({ rules: {}, identity: ada }),
  );
  assert.deepEqual((await listed(client)).names, ['files_setTools', 'db_query']);
});

test('rules that look at more than the caller decide on every request', async () => {
  const client = await open();
  let isOpen = true;
  caller = callerWith(
    () => isOpen,
    () => undefined,
  );
  assert.deepEqual((await listed(client)).names, all);
  isOpen = false;
  assert.deepEqual((await listed(client)).names, []);
});

test('a list that the rules could not decide on to its end is not kept', async () => {
  const client = await open();
  let isSpent = false;
  caller = callerWith(
    (name) => {
      isSpent ||= name === 'query';
      return !isSpent;
    },
    () => (isSpent ? undefined : { rules, identity: ada }),
  );
  assert.deepEqual((await listed(client)).names, all.slice(0, 3));
  caller = callerWith(() => true);
  assert.deepEqual((await listed(client)).names, all);
});

test('a changed list of one target is in the next list of all', async () => {
  const client = await open();
  await listed(client);
  const events = await client.get();
  await client.call('files_setTools', { tools: ['only'] });
  assert.equal((await events.next())?.method, 'notifications/tools/list_changed');
  assert.deepEqual((await listed(client)).names, ['files_only', 'db_read', 'db_query']);
  await events.cancel();
});

test('a changed configuration is in the next list: its view, its names and its targets', async () => {
  const client = await open();
  await listed(client);
  const next = async (settings: Partial<McpBackend>): Promise<string[]> => {
    harness.use(mcpBackend({ targets, ...settings }));
    return (await listed(client)).names;
  };
  const view = { rest: 'show', tools: [{ target: 'db', name: 'query', hide: true }] } as const;
  assert.deepEqual(await next({ view }), all.slice(0, 3));
  assert.deepEqual(await next({}), all);
  assert.deepEqual(await next({ prefixSeparator: '.' }), [
    'files.read',
    'files.setTools',
    'db.read',
    'db.query',
  ]);
  assert.deepEqual(await next({ targets: targets.toReversed() }), [...all.slice(2), ...all.slice(0, 2)]);
});

test('two sessions of one caller keep lists of their own', async () => {
  const [one, other] = [await open(), await open()];
  await listed(one);
  await listed(other);
  const events = await one.get();
  await one.call('files_setTools', { tools: ['only'] });
  await events.next();
  assert.deepEqual((await listed(one)).names, ['files_only', 'db_read', 'db_query']);
  assert.deepEqual((await listed(other)).names, all);
  await events.cancel();
});

// The parts of a basis

const naming = new Naming({ targets, prefixMode: 'conditional' });
const items = [{ name: 'a', text: '{"name":"a"}' }];
const basis: PageBasis = {
  parts: [{ target: 'files', items }],
  naming,
  owners: 1,
  view: undefined,
  rules: noRules,
};

test('a page is good for its own basis only', () => {
  const pages = new KeptPages(new RetainedMemory(new RetainedMemoryPool(), 'ada'));
  pages.put('tools/list', basis, '{}');
  assert.equal(pages.get('tools/list', { ...basis, parts: [{ target: 'files', items }] }), '{}');
  const others: readonly Partial<PageBasis>[] = [
    { parts: [] },
    { parts: [{ target: 'db', items }] },
    { parts: [{ target: 'files', items: [...items] }] },
    { naming: new Naming({ targets, prefixMode: 'conditional' }) },
    { owners: 2 },
    { view: {} as NonNullable<PageBasis['view']> },
    { rules: { ...noRules, rules: {} } },
    { rules: { ...noRules, identity: {} } },
  ];
  for (const other of others) assert.equal(pages.get('tools/list', { ...basis, ...other }), undefined);
  assert.equal(pages.get('prompts/list', basis), undefined);
});

test('pages count for their caller, and none is kept where there is no room', () => {
  const room = new RetainedMemoryPool({ each: 10, total: 100 });
  const pages = new KeptPages(new RetainedMemory(room, 'ada'));
  pages.put('tools/list', basis, '12345678');
  pages.put('tools/list', basis, '1234');
  assert.equal(room.of('ada'), 4);
  pages.put('prompts/list', basis, '1234567');
  assert.equal(room.of('ada'), 4);
  assert.equal(pages.get('prompts/list', basis), undefined);
  pages.forget();
  assert.equal(room.of('ada'), 0);
  assert.equal(pages.get('tools/list', basis), undefined);
});
