import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { McpBackend } from '../../model/index.ts';
import type { Caller } from '../contract.ts';
import { catalog, mcpBackend, startHarness, stdioTarget, type Harness, rulesBy } from '../harness.testing.ts';
import { changeable } from './toolsFile.testing.ts';
import { RawClient, type Events, type Message } from '../rawClient.testing.ts';

const two = [
  catalog({
    name: 'files',
    tools: ['read', 'links', 'sample', 'seen', 'update', 'hold', 'release', 'progress', 'setTools', 'pid'],
    resources: ['file:///a'],
    templates: ['file:///{path}'],
    prompts: ['greet'],
    instructions: 'Read files.',
    pageSize: 3,
  }),
  catalog({ name: 'my_db', tools: ['read', 'query', 'seen', 'sample', 'pid'], resources: ['file:///a'] }),
];

let caller: Caller = { principal: undefined };
let harness: Harness;
let folder: string;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'portcullis-federation-'));
  harness = await startHarness({ caller: () => caller, runtime: { version: '9.9' } });
});
after(async () => {
  await harness.close();
  rmSync(folder, { recursive: true });
});

async function open(settings: Partial<McpBackend> = {}): Promise<RawClient> {
  harness.use(mcpBackend({ targets: two, ...settings }));
  const client = new RawClient(harness.url);
  await client.initialize();
  return client;
}

type Named = { readonly name: string; readonly uri: string; readonly uriTemplate: string };

async function list(client: RawClient, method: string, params: object = {}): Promise<Named[]> {
  const { result, error } = await ask(client, method, params);
  assert.ok(result, JSON.stringify(error));
  return Object.values(result)[0] as Named[];
}

const namesOf = async (client: RawClient): Promise<string[]> =>
  (await list(client, 'tools/list')).map(({ name }) => name);

async function ask(client: RawClient, method: string, params: object = {}): Promise<Message> {
  const { events, json } = await client.post(client.request(method, params));
  // News of targets may come first, on the stream of the response.
  return events.at(-1) ?? json;
}

/** Reads the list of tools again with each piece of news, until it has the tool. */
async function untilListed(client: RawClient, events: Events, tool: string): Promise<void> {
  do assert.equal((await events.next())?.method, 'notifications/tools/list_changed');
  while (!(await namesOf(client)).includes(tool));
}

test('initialize answers for all targets: the union of capabilities, and instructions by name', async () => {
  harness.use(mcpBackend({ targets: two }));
  const client = new RawClient(harness.url);
  const { json } = await client.initialize('2025-06-18');
  assert.deepEqual(json.result, {
    protocolVersion: '2025-06-18',
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
    },
    serverInfo: { name: 'portcullis', title: 'files, my_db', version: '9.9' },
    instructions: 'files: Read files.',
  });
});

test('the list of tools has every page of every target, under names with prefixes', async () => {
  const names = await namesOf(await open());
  assert.deepEqual(names, [
    ...['read', 'links', 'sample', 'seen', 'update', 'hold', 'release', 'progress', 'setTools', 'pid'].map(
      (name) => `files_${name}`,
    ),
    ...['read', 'query', 'seen', 'sample', 'pid'].map((name) => `my_db_${name}`),
  ]);
});

test('a call goes to the one target that its name tells, under the own name of the tool', async () => {
  const client = await open();
  assert.equal(await client.call('files_read'), 'files: read');
  assert.equal(await client.call('my_db_read'), 'my_db: read');
  assert.equal(await client.call('my_db_query'), 'my_db: query');
  for (const name of ['read', 'db_query', 'files_query', 'other_read', 'my_read'])
    assert.equal((await ask(client, 'tools/call', { name })).error?.code, -32602, name);
});

test('a separator of the configuration stands between target and tool', async () => {
  const client = await open({ prefixSeparator: '.' });
  assert.ok((await namesOf(client)).includes('my_db.query'));
  assert.equal(await client.call('my_db.query'), 'my_db: query');
});

test('prompts get the prefix of their target', async () => {
  const client = await open();
  assert.deepEqual(await list(client, 'prompts/list'), [{ name: 'files_greet' }]);
  const { result } = await ask(client, 'prompts/get', { name: 'files_greet' });
  assert.deepEqual(result?.['messages'], [{ role: 'user', content: { type: 'text', text: 'files: greet' } }]);
});

test('equal URIs of two targets stay apart in lists, reads, links, subscriptions and completions', async () => {
  const client = await open();
  assert.deepEqual(
    (await list(client, 'resources/list')).map(({ uri }) => uri),
    ['files+file:///a', 'my-db+file:///a'],
  );
  assert.deepEqual(
    (await list(client, 'resources/templates/list')).map(({ uriTemplate }) => uriTemplate),
    ['files+file:///{path}'],
  );
  for (const [uri, text] of [
    ['files+file:///a', 'files: read'],
    ['my-db+file:///a', 'my_db: read'],
  ] as const)
    assert.deepEqual((await ask(client, 'resources/read', { uri })).result, { contents: [{ uri, text }] });
  const links = await ask(client, 'tools/call', { name: 'files_links' });
  assert.deepEqual(links.result?.['content'], [
    { type: 'resource_link', uri: 'files+file:///a', name: 'a' },
    { type: 'resource', resource: { uri: 'files+file:///b', text: 'see file:///b' } },
  ]);
  assert.deepEqual((await ask(client, 'resources/subscribe', { uri: 'my-db+file:///a' })).result, {});
  assert.match(await client.call('my_db_seen'), /"resources\/subscribe","params":\{"uri":"file:\/\/\/a"\}/);
  assert.doesNotMatch(await client.call('files_seen'), /resources\/subscribe/);
  const ref = { type: 'ref/resource', uri: 'files+file:///{path}' };
  const { result } = await ask(client, 'completion/complete', {
    ref,
    argument: { name: 'path', value: 'a' },
  });
  assert.deepEqual(result, {
    completion: { values: ['files: {"type":"ref/resource","uri":"file:///{path}"}'] },
  });
  for (const uri of ['file:///a', 'other+file:///a'])
    assert.equal((await ask(client, 'resources/read', { uri })).error?.message, `Unknown resource: ${uri}`);
});

test('the name of the backend is in the answer to initialize, and the page of an app has every form', async () => {
  const rawTools =
    '{"name":"x","inputSchema":{"type":"object"},"_meta":{"openai/outputTemplate":"ui://page","ui/resourceUri":"ui://page"}}';
  harness.use(mcpBackend({ name: 'tools', targets: [catalog({ name: 'a', rawTools }), two[1]!] }));
  const client = new RawClient(harness.url);
  const { json } = await client.initialize();
  assert.deepEqual(json.result?.['serverInfo'], { name: 'tools', title: 'a, my_db', version: '9.9' });
  const [tool] = (await list(client, 'tools/list')) as unknown as { _meta: object }[];
  assert.deepEqual(tool?._meta, {
    'openai/outputTemplate': 'ui://a+page',
    'ui/resourceUri': 'ui://a+page',
  });
});

test('the page of an app and news of a resource carry the client’s URIs', async () => {
  const client = await open();
  const [tool] = (await list(client, 'tools/list')) as unknown as { _meta: object }[];
  assert.deepEqual(tool?._meta, { ui: { resourceUri: 'ui://files+page' } });
  const events = await client.get();
  await client.call('files_update');
  assert.deepEqual((await events.next())?.params, { uri: 'files+file:///a' });
  await events.cancel();
});

test('questions of two servers with the same ids and tokens go back to the server that asked', async () => {
  const client = await open();
  const asked = [];
  for (const name of ['files', 'my_db']) {
    const events = await client.stream(client.tool(`${name}_sample`));
    asked.push({ name, events, question: await events.next() });
  }
  assert.notEqual(asked[0]!.question?.id, asked[1]!.question?.id);
  for (const { name, events, question } of asked.toReversed()) {
    const params = question?.params as {
      _meta: { progressToken: string };
      messages: [{ content: { resource: { uri: string } } }];
    };
    assert.equal(
      params.messages[0].content.resource.uri,
      name === 'files' ? 'files+file:///a' : 'my-db+file:///a',
    );
    await client.post({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: params._meta.progressToken, progress: 1 },
    });
    await client.post({ jsonrpc: '2.0', id: question?.id, result: { answered: name } });
    const response = await events.next();
    assert.deepEqual(response?.result?.['content'], [{ type: 'text', text: `{"answered":"${name}"}` }]);
    const progress = (JSON.parse(await client.call(`${name}_seen`)) as Message[]).filter(
      ({ method }) => method === 'notifications/progress',
    );
    assert.deepEqual(
      progress.map(({ params: sent }) => sent),
      [{ progressToken: 'same', progress: 1 }],
    );
  }
});

test('progress and cancellation keep their call, and a ping is answered by the gateway', async () => {
  const client = await open();
  const { events } = await client.post(
    client.tool('files_progress', {}, { _meta: { progressToken: 'mine' } }),
  );
  assert.deepEqual(events[0]?.params, { progressToken: 'mine', progress: 1, message: 'files' });
  const holding = client.post(client.request('tools/call', { name: 'files_hold' }, 'held'));
  await client.post({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: 'held' },
  });
  assert.deepEqual((await holding).events, []);
  assert.match(await client.call('files_seen'), /notifications\/cancelled/);
  assert.doesNotMatch(await client.call('my_db_seen'), /notifications\/cancelled/);
  assert.deepEqual((await ask(client, 'ping')).result, {});
});

test('the level of logs goes to every target', async () => {
  const client = await open();
  assert.deepEqual((await ask(client, 'logging/setLevel', { level: 'error' })).result, {});
  for (const name of ['files', 'my_db'])
    assert.match(await client.call(`${name}_seen`), /"logging\/setLevel","params":\{"level":"error"\}/);
});

test('rules see the target and its own names, in lists and calls', async () => {
  caller = {
    principal: 'ada',
    ...rulesBy(({ kind, target, name }) => kind === 'tool' && target === 'my_db' && name === 'query'),
  };
  try {
    const client = await open();
    assert.deepEqual(await namesOf(client), ['my_db_query']);
    assert.equal(await client.call('my_db_query'), 'my_db: query');
    assert.equal(
      (await ask(client, 'tools/call', { name: 'files_read' })).error?.message,
      'Unknown tool: files_read',
    );
    assert.deepEqual(await list(client, 'resources/list'), []);
  } finally {
    caller = { principal: undefined };
  }
});

test('prefixMode never gives a name to the first target that has it, and tells of the other item', async () => {
  const client = await open({ prefixMode: 'never' });
  assert.equal(await client.call('query'), 'my_db: query');
  const names = await namesOf(client);
  assert.equal(names.filter((name) => name === 'read').length, 1);
  assert.equal(await client.call('read'), 'files: read');
  assert.equal((await ask(client, 'tools/call', { name: 'nothing' })).error?.code, -32602);
  const hidden = harness.runtime.view().hidden.filter(({ name }) => name === 'read');
  assert.deepEqual(hidden, [
    { backend: 'backend-1', kind: 'tool', name: 'read', owner: 'files', target: 'my_db' },
  ]);
  assert.equal(harness.metrics().get('mcp_hidden_items_total{target="my_db"}'), 4);
  assert.equal(
    harness.log.filter(({ message, fields }) => /^Item hidden/.test(message) && fields['name'] === 'read')
      .length,
    1,
  );
});

test('the longer of two prefixes wins, and the log tells of the hidden item', async () => {
  const client = await open({
    targets: [catalog({ name: 'a', tools: ['b_x', 'y'] }), catalog({ name: 'a_b', tools: ['x'] })],
  });
  assert.deepEqual(await namesOf(client), ['a_y', 'a_b_x']);
  assert.equal(await client.call('a_b_x'), 'a_b: x');
  assert.ok(harness.runtime.view().hidden.some(({ name, target }) => name === 'b_x' && target === 'a'));
});

test('a name that is too long with its prefix is cut, and still reaches its tool', async () => {
  const long = (letter: string): string => 'n'.repeat(123) + letter.repeat(5);
  const client = await open({
    targets: [catalog({ name: 'long', tools: [long('a'), long('b')] }), two[1]!],
  });
  const names = (await namesOf(client)).slice(0, 2);
  assert.deepEqual(
    names.map((name) => name.length),
    [128, 128],
  );
  assert.notEqual(names[0], names[1]);
  assert.equal(await client.call(names[1]!), `long: ${long('b')}`);
});

test('tools get names that MCP allows, and still answer to them', async () => {
  const allowed = /^[A-Za-z0-9._-]{1,128}$/;
  const tools = ['bad name!', 'bad name?', 'näme', 'n'.repeat(140), 'x_0123abcd', 'plain'];
  const odd = catalog({ name: 'odd', tools, prompts: ['Sum up this'] });
  for (const targets of [[odd, two[1]!], [odd]]) {
    const client = await open({ targets, prefixMode: 'always' });
    const names = (await namesOf(client)).slice(0, tools.length);
    assert.deepEqual(
      names.filter((name) => !allowed.test(name)),
      [],
    );
    assert.match(names[0]!, /^odd_bad_name__[0-9a-f]{8}$/);
    assert.deepEqual(names.slice(-2), ['odd_x_0123abcd', 'odd_plain']);
    assert.equal(new Set(names).size, tools.length);
    for (const [at, name] of names.entries()) assert.equal(await client.call(name), `odd: ${tools[at]}`);
    assert.deepEqual(await list(client, 'prompts/list'), [{ name: 'odd_Sum up this' }]);
    assert.equal((await ask(client, 'tools/call', { name: 'odd_gone_0123abcd' })).error?.code, -32602);
  }
});

test('a long list comes in pages with a cursor that stays good while tools come and go', async () => {
  const many = Array.from({ length: 1_500 }, (_, i) => `t${i}`);
  const client = await open({ targets: [two[0]!, catalog({ name: 'many', tools: [...many, 'setTools'] })] });
  const first = (await ask(client, 'tools/list')).result as { tools: Named[]; nextCursor: string };
  assert.equal(first.tools.length, 1_000);
  assert.equal(first.tools.at(-1)?.name, 'many_t989');
  await client.call('many_setTools', { tools: ['new', ...many] });
  const second = (await ask(client, 'tools/list', { cursor: first.nextCursor })).result as {
    tools: Named[];
    nextCursor?: string;
  };
  assert.equal(second.tools[0]?.name, 'many_t990');
  assert.equal(second.tools.length, 510);
  assert.equal(second.nextCursor, undefined);
  for (const cursor of ['', 'made up', Buffer.from('["gone","x",0]').toString('base64url')])
    assert.equal((await ask(client, 'tools/list', { cursor })).error?.code, -32602, cursor);
});

test('a cursor stays good when its target fails between two pages', async (t) => {
  const many = Array.from({ length: 1_500 }, (_, i) => `t${i}`);
  const failing = changeable(t, 'many', [...many, 'crash']);
  const client = await open({ targets: [failing.target, two[1]!], failOpen: true });
  const { result: first } = await ask(client, 'tools/list');
  assert.equal((first?.['tools'] as Named[]).at(-1)?.name, 'many_t999');
  failing.remove();
  assert.match((await ask(client, 'tools/call', { name: 'many_crash' })).error!.message, /target "many"/);
  const { result: second } = await ask(client, 'tools/list', { cursor: first?.['nextCursor'] });
  assert.deepEqual(
    (second?.['tools'] as Named[]).map(({ name }) => name),
    ['my_db_read', 'my_db_query', 'my_db_seen', 'my_db_sample', 'my_db_pid'],
  );
});

test('a list that changes is read again, and one that does not is not', async () => {
  const client = await open();
  const reads = async (): Promise<number> =>
    (await client.call('files_seen')).split('"method":"tools/list"').length - 1;
  await namesOf(client);
  const once = await reads();
  await namesOf(client);
  assert.equal(await reads(), once);
  const events = await client.get();
  await client.call('files_setTools', { tools: ['only', 'seen'] });
  assert.equal((await events.next())?.method, 'notifications/tools/list_changed');
  assert.deepEqual((await namesOf(client)).slice(0, 2), ['files_only', 'files_seen']);
  await events.cancel();
});

const dead = stdioTarget({ name: 'dead', cmd: '/nowhere/program' });

test('under failClosed, a dead target fails initialize with its name and the setting', async () => {
  harness.use(mcpBackend({ targets: [...two, dead] }));
  const { json } = await new RawClient(harness.url).initialize();
  assert.match(json.error!.message, /^target "dead" .*failureMode failClosed/);
});

test('under failOpen, a dead target is left out, and its tools fail with its name', async () => {
  const client = await open({ targets: [dead, ...two], failOpen: true });
  assert.equal(await client.call('files_read'), 'files: read');
  assert.ok((await namesOf(client)).every((name) => !name.startsWith('dead')));
  assert.match((await ask(client, 'tools/call', { name: 'dead_x' })).error!.message, /target "dead"/);
  assert.ok(harness.metrics().get('mcp_target_failures_total{target="dead"}')! >= 1);
  const [session] = harness.runtime.view().sessions.slice(-1);
  assert.deepEqual(
    session?.targets.map(({ name, state }) => [name, state]),
    [
      ['dead', 'failed'],
      ['files', 'ready'],
      ['my_db', 'ready'],
    ],
  );
});

test('initialize fails under failOpen if every target is dead, and names all of them', async () => {
  harness.use(mcpBackend({ targets: [dead, { ...dead, name: 'gone' }], failOpen: true }));
  const { json } = await new RawClient(harness.url).initialize();
  assert.match(json.error!.message, /^target "(dead|gone)" .* \(all targets failed: dead, gone\)$/);
  const many = Array.from({ length: 10 }, (_, index) => ({ ...dead, name: `dead${index}` }));
  harness.use(mcpBackend({ targets: many, failOpen: true }));
  const failed = await new RawClient(harness.url).initialize();
  assert.match(failed.json.error!.message, /failed: dead0, .*, dead7 and 2 more\)$/);
});

test('a target that lacks a feature is no failure', async () => {
  const client = await open({
    targets: [
      two[0]!,
      catalog({
        name: 'plain',
        tools: ['x'],
        capabilities: { tools: {}, prompts: {}, resources: {} },
        errors: { 'prompts/list': -32601, 'resources/list': -32601 },
      }),
    ],
  });
  assert.deepEqual(await list(client, 'prompts/list'), [{ name: 'files_greet' }]);
  assert.equal((await list(client, 'resources/list')).length, 1);
});

test('a list that never ends is a failure of its target', async () => {
  const targets = [two[1]!, catalog({ name: 'endless', endless: true })];
  const closed = await open({ targets });
  assert.match((await ask(closed, 'tools/list')).error!.message, /target "endless" .*same cursor/);
  const opened = await open({ targets, failOpen: true });
  assert.ok((await namesOf(opened)).every((name) => name.startsWith('my_db_')));
});

test('a slow target is left out for a while, and joins with list_changed', async () => {
  const file = join(folder, 'slow-may-start');
  const client = await open({
    targets: [two[1]!, catalog({ name: 'slow', tools: ['x'], waitsFor: { method: 'initialize', file } })],
    failOpen: true,
    targetWaitMs: 50,
  });
  assert.ok((await namesOf(client)).every((name) => name.startsWith('my_db_')));
  const events = await client.get();
  writeFileSync(file, '');
  await untilListed(client, events, 'slow_x');
  assert.equal(await client.call('slow_x'), 'slow: x');
  assert.match(await client.call('my_db_seen'), /notifications\/initialized/);
  await events.cancel();
});

test('a slow list is left out once, and comes with the next one', async () => {
  const file = join(folder, 'list-may-come');
  const client = await open({
    targets: [
      two[1]!,
      catalog({
        name: 'slow',
        tools: ['x'],
        capabilities: { tools: {} },
        waitsFor: { method: 'tools/list', file },
      }),
    ],
    failOpen: true,
    targetWaitMs: 50,
  });
  assert.ok((await namesOf(client)).every((name) => name.startsWith('my_db_')));
  const events = await client.get();
  writeFileSync(file, '');
  await untilListed(client, events, 'slow_x');
  await events.cancel();
});

test('a changed configuration reaches a live session: new targets join, others leave, the rest go on', async () => {
  const third = catalog({ name: 'third', tools: ['x'] });
  const client = await open();
  const pid = await client.call('my_db_pid');
  const events = await client.get();
  harness.use(mcpBackend({ targets: [two[1]!, third] }));
  assert.equal(await client.call('my_db_pid'), pid);
  assert.equal((await events.next())?.method, 'notifications/tools/list_changed');
  assert.equal(await client.call('third_x'), 'third: x');
  assert.equal((await ask(client, 'tools/call', { name: 'files_read' })).error?.code, -32602);
  assert.deepEqual(await namesOf(client), [
    ...['read', 'query', 'seen', 'sample', 'pid'].map((name) => `my_db_${name}`),
    'third_x',
  ]);
  harness.use(mcpBackend({ targets: [two[1]!, catalog({ name: 'third', tools: ['y'] })] }));
  assert.equal(await client.call('my_db_pid'), pid);
  assert.equal(await client.call('third_y'), 'third: y');
  await events.cancel();
});

test('a session with one target gets more of them, and keeps its server', async () => {
  harness.use(mcpBackend({ targets: [two[1]!] }));
  const client = new RawClient(harness.url);
  await client.initialize();
  const pid = await client.call('pid');
  const events = await client.get();
  harness.use(mcpBackend({ targets: two }));
  assert.equal(await client.call('my_db_pid'), pid);
  assert.equal((await events.next())?.method, 'notifications/tools/list_changed');
  assert.equal(await client.call('files_read'), 'files: read');
  harness.use(mcpBackend({ targets: [two[1]!] }));
  assert.equal(await client.call('pid'), pid);
  await events.cancel();
});

test('a client hears of changed lists only of the kinds that its initialize has named', async () => {
  const [tools, more] = ['one', 'two'].map((name) => catalog({ name, tools: ['x'] }));
  for (const before of [[tools!], [tools!, more!]]) {
    harness.use(mcpBackend({ targets: before, failOpen: true }));
    const client = new RawClient(harness.url);
    await client.initialize();
    const events = await client.get();
    harness.use(mcpBackend({ targets: [tools!, two[0]!], failOpen: true }));
    await ask(client, 'prompts/list');
    await untilListed(client, events, 'files_read');
    await client.call('files_update', { uri: 'file:///a' });
    let heard = await events.next();
    while (heard?.method === 'notifications/tools/list_changed') heard = await events.next();
    assert.equal(heard?.method, 'notifications/resources/updated');
    await events.cancel();
  }
});

test('names of a target that is away stay its own under prefixMode never', async () => {
  const targets = [catalog({ name: 'first', tools: ['read', 'crash'] }), two[1]!];
  const client = await open({ prefixMode: 'never', targets, failOpen: true });
  assert.equal(await client.call('read'), 'first: read');
  harness.use(
    mcpBackend({
      prefixMode: 'never',
      targets: [{ ...dead, name: 'first' }, two[1]!],
      failOpen: true,
    }),
  );
  assert.match((await ask(client, 'tools/call', { name: 'read' })).error!.message, /target "first"/);
});
