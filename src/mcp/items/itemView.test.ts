import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { McpItemView, StdioTarget } from '../../model/index.ts';
import { catalog, mcpBackend, startHarness, type Harness, rulesBy } from '../harness.testing.ts';
import { RawClient, type Message } from '../rawClient.testing.ts';

const tickets = catalog({
  name: 'tickets',
  tools: ['search_issues', 'close_issue', 'delete_issue', 'seen'],
  prompts: ['triage'],
});
const files = catalog({
  name: 'files',
  tools: ['read_file', 'read_folder', 'write_file'],
  resources: ['file:///a', 'file:///secret/b'],
  templates: ['file:///{path}'],
});

let harness: Harness;
before(async () => {
  harness = await startHarness();
});
after(() => harness.close());

async function open(view: McpItemView, targets = [tickets, files]): Promise<RawClient> {
  harness.use(mcpBackend({ targets, view }));
  const client = new RawClient(harness.url);
  await client.initialize();
  return client;
}

async function list(client: RawClient, method: string): Promise<Record<string, unknown>[]> {
  const { json } = await client.post(client.request(method));
  assert.ok(json.result, JSON.stringify(json.error));
  return Object.values(json.result)[0] as Record<string, unknown>[];
}

const namesOf = async (client: RawClient): Promise<unknown[]> =>
  (await list(client, 'tools/list')).map(({ name }) => name);

const ask = async (client: RawClient, method: string, params: object): Promise<Message> =>
  (await client.post(client.request(method, params))).json;

const search = {
  target: 'tickets',
  name: 'search_issues',
  as: 'find_ticket',
  title: 'Find a ticket',
  description: 'Finds tickets by words.',
};

test('a view chooses tools of several targets, and renames and describes them anew', async () => {
  const client = await open({ rest: 'hide', tools: [search, { target: 'files', name: 'read_*' }] });
  const tools = await list(client, 'tools/list');
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['find_ticket', 'files_read_file', 'files_read_folder'],
  );
  assert.partialDeepStrictEqual(tools[0], {
    title: 'Find a ticket',
    description: 'Finds tickets by words.',
    inputSchema: { type: 'object' },
  });
  assert.equal(tools[1]?.['description'], undefined);
  assert.equal(await client.call('find_ticket'), 'tickets: search_issues');
  assert.equal(await client.call('files_read_file'), 'files: read_file');
});

test('no words of the server are left beside those of the view, however often the server wrote them', async () => {
  const raw = ['"description":"A"', '"description":"A","description":"B"', '"Description":"A","title":"B"'];
  for (const words of raw) {
    const tool = `{"name":"read",${words},"inputSchema":{"type":"object"}}`;
    const client = await open(
      { rest: 'hide', tools: [{ name: 'read', description: 'Ours', title: 'Ours' }] },
      [catalog({ name: 'files', rawTools: tool })],
    );
    const { text } = await client.post(client.request('tools/list'));
    assert.match(text, /"Ours"/);
    assert.doesNotMatch(text, /"[AB]"/, words);
  }
});

test('a renamed tool whose own name looks like a changed one is unknown by it', async () => {
  const odd = catalog({ name: 'files', tools: ['build_deadbeef', 'run_deadbeef'] });
  const view: McpItemView = {
    rest: 'show',
    tools: [{ target: 'files', name: 'build_deadbeef', as: 'builder' }],
  };
  for (const targets of [[odd], [odd, tickets]]) {
    harness.use(mcpBackend({ targets, view, prefixMode: 'always' }));
    const client = new RawClient(harness.url);
    await client.initialize();
    assert.equal(await client.call('builder'), 'files: build_deadbeef');
    assert.equal(await client.call('files_run_deadbeef'), 'files: run_deadbeef');
    const { error } = await ask(client, 'tools/call', { name: 'files_build_deadbeef' });
    assert.equal(error?.message, 'Unknown tool: files_build_deadbeef');
  }
});

test('a tool that the view hides or renames cannot be called by its own name', async () => {
  const client = await open({ rest: 'hide', tools: [search] });
  for (const name of ['tickets_search_issues', 'search_issues', 'tickets_delete_issue', 'files_read_file']) {
    const { error } = await ask(client, 'tools/call', { name });
    assert.deepEqual([error?.code, error?.message], [-32602, `Unknown tool: ${name}`]);
  }
});

test('kinds without a list stay whole, and an empty list hides a kind', async () => {
  const shown = await open({ rest: 'hide', tools: [search] });
  assert.deepEqual(await list(shown, 'prompts/list'), [{ name: 'tickets_triage' }]);
  const hidden = await open({ rest: 'hide', prompts: [] });
  assert.deepEqual(await list(hidden, 'prompts/list'), []);
  assert.equal((await ask(hidden, 'prompts/get', { name: 'tickets_triage' })).error?.code, -32602);
});

test('a view that shows the rest hides what its entries say, whatever way a URI is written', async () => {
  const client = await open({
    rest: 'show',
    tools: [{ name: 'delete_*', hide: true }],
    resources: [
      { target: 'files', name: 'file:///secret/*', hide: true },
      { target: 'files', name: 'file:///@hr/*', hide: true },
    ],
  });
  assert.ok(!(await namesOf(client)).includes('tickets_delete_issue'));
  assert.ok((await namesOf(client)).includes('tickets_close_issue'));
  assert.deepEqual(
    (await list(client, 'resources/list')).map(({ uri }) => uri),
    ['files+file:///a'],
  );
  assert.ok((await ask(client, 'resources/read', { uri: 'files+file:///a' })).result);
  for (const uri of [
    'file:///secret/b',
    'file:///%73ecret/b',
    'file:///x/../secret/b',
    'FILE:///secret/b',
    'file:///a?/../secret/b',
    'file:///%40hr/b',
    'file:///@hr/b',
  ])
    assert.equal((await ask(client, 'resources/read', { uri: `files+${uri}` })).error?.code, -32602, uri);
});

test('a view of a template shows the resources that it stands for', async () => {
  const client = await open({ rest: 'hide', resources: [{ target: 'files', name: 'file:///{path}' }] });
  assert.deepEqual(
    (await list(client, 'resources/templates/list')).map(({ uriTemplate }) => uriTemplate),
    ['files+file:///{path}'],
  );
  assert.ok((await ask(client, 'resources/read', { uri: 'files+file:///any' })).result);
  assert.equal((await ask(client, 'resources/read', { uri: 'files+http://x' })).error?.code, -32602);
});

test('a view works for a single target, too, whose list stays as it is otherwise', async () => {
  const client = await open({ rest: 'show', tools: [search, { name: 'delete_issue', hide: true }] }, [
    tickets,
  ]);
  assert.deepEqual(await namesOf(client), ['find_ticket', 'close_issue', 'seen']);
  assert.equal(await client.call('find_ticket'), 'tickets: search_issues');
  assert.equal(await client.call('close_issue'), 'tickets: close_issue');
  assert.equal((await ask(client, 'tools/call', { name: 'search_issues' })).error?.code, -32602);
});

test('rules see the upstream name, whatever the view shows', async (t) => {
  const seen: string[] = [];
  const judged = await startHarness({
    caller: () => ({
      principal: 'ada',
      ...rulesBy(({ target, name }) => {
        seen.push(`${target}/${name}`);
        return name === 'search_issues';
      }),
    }),
    backend: mcpBackend({ targets: [tickets, files], view: { rest: 'show', tools: [search] } }),
  });
  t.after(() => judged.close());
  const client = new RawClient(judged.url);
  await client.initialize();
  assert.deepEqual(await namesOf(client), ['find_ticket']);
  assert.equal(await client.call('find_ticket'), 'tickets: search_issues');
  assert.ok(seen.includes('tickets/search_issues'));
  assert.ok(!seen.some((one) => one.includes('find_ticket')));
});

const leaky = catalog({
  name: 'leaky',
  tools: ['read', 'update'],
  resources: ['file:///dir', 'file:///a'],
  templates: ['file:///{path}'],
  raw: {
    'resources/read': '{"contents":[{"uri":"file:///dir","text":"a"},{"uri":"file:///a","text":"hidden"}]}',
    'completion/complete': '{"completion":{"values":["a","dir"]}}',
  },
});
const withoutA: McpItemView = { rest: 'show', resources: [{ name: 'file:///a', hide: true }] };

for (const targets of [[leaky], [leaky, tickets]])
  test(`a hidden resource stays hidden in contents, completions and news of ${targets.length} target(s)`, async () => {
    const client = await open(withoutA, targets);
    const prefix = targets.length > 1 ? 'leaky+' : '';
    const { result } = await ask(client, 'resources/read', { uri: `${prefix}file:///dir` });
    assert.deepEqual(result, { contents: [{ uri: `${prefix}file:///dir`, text: 'a' }] });
    const completed = await ask(client, 'completion/complete', {
      ref: { type: 'ref/resource', uri: `${prefix}file:///{path}` },
      argument: { name: 'path', value: '' },
    });
    assert.deepEqual(completed.result, { completion: { values: ['dir'] } });
    const tool = targets.length > 1 ? 'leaky_update' : 'update';
    const { events, json } = await client.post(client.tool(tool));
    assert.deepEqual(
      [...events, json].filter(({ method }) => method !== undefined),
      [],
    );
  });

test('a method that MCP does not know cannot go round a view', async () => {
  const client = await open(withoutA, [leaky]);
  const { error } = await ask(client, 'x/read', { uri: 'file:///a' });
  assert.match(error!.message, /method/i);
  assert.notEqual(error!.message, 'no such thing');
});

test('where a view hides a whole page of one target, the client gets the next one', async () => {
  const paged = catalog({ name: 'paged', tools: ['a', 'b', 'c', 'd'], pageSize: 2 });
  const client = await open({ rest: 'hide', tools: [{ name: 'd' }] }, [paged]);
  assert.deepEqual(await namesOf(client), ['d']);
});

test('without prefixes, a renamed tool is unknown under its old name, which another target may have', async () => {
  const one = catalog({ name: 'one', tools: ['search'] });
  const other = catalog({ name: 'other', tools: ['search'] });
  const view: McpItemView = {
    rest: 'show',
    tools: [
      { target: 'one', name: 'search', as: 'find' },
      { target: 'other', name: 'search' },
    ],
  };
  const never = async (targets: StdioTarget[]): Promise<RawClient> => {
    harness.use(mcpBackend({ targets, view, prefixMode: 'never' }));
    const client = new RawClient(harness.url);
    await client.initialize();
    return client;
  };
  const both = await never([one, other]);
  assert.deepEqual(await namesOf(both), ['find', 'search']);
  assert.equal(await both.call('search'), 'other: search');
  assert.equal(await both.call('find'), 'one: search');
  const third = await never([one, catalog({ name: 'third', tools: ['x'] })]);
  assert.deepEqual(await namesOf(third), ['find', 'x']);
  assert.equal((await ask(third, 'tools/call', { name: 'search' })).error?.message, 'Unknown tool: search');
});

test('a new name that another item of the same target has belongs to the renamed item', async () => {
  const one = catalog({ name: 'one', tools: ['a', 'b'] });
  const alone = await open({ rest: 'show', tools: [{ name: 'a', as: 'b' }] }, [one]);
  assert.deepEqual(await namesOf(alone), ['b']);
  assert.equal(await alone.call('b'), 'one: a');
  for (const prefixMode of ['conditional', 'never'] as const) {
    const as = prefixMode === 'never' ? 'b' : 'one_b';
    const view: McpItemView = { rest: 'show', tools: [{ target: 'one', name: 'a', as }] };
    harness.use(mcpBackend({ targets: [one, tickets], view, prefixMode }));
    const client = new RawClient(harness.url);
    await client.initialize();
    const names = await namesOf(client);
    assert.equal(names.filter((name) => name === as).length, 1, prefixMode);
    assert.equal(await client.call(as), 'one: a');
  }
});

test('an entry that stands behind another one for its item gives no name that a call could use', async () => {
  const tools = [search, { ...search, as: 'other' }];
  const client = await open({ rest: 'show', tools });
  assert.ok((await namesOf(client)).includes('find_ticket'));
  assert.ok(!(await namesOf(client)).includes('other'));
  assert.equal((await ask(client, 'tools/call', { name: 'other' })).error?.message, 'Unknown tool: other');
  const hidden = await open({ rest: 'show', tools: [{ name: 'search_*', hide: true }, search] });
  assert.equal((await ask(hidden, 'tools/call', { name: 'find_ticket' })).error?.code, -32602);
});

test('a resource gets another name, and keeps its URI', async () => {
  const resources = [
    { name: 'file:///a', as: 'Release notes', title: 'Notes' },
    { name: 'file:///{path}', as: 'A file' },
  ];
  for (const targets of [[files], [tickets, files]]) {
    const client = await open({ rest: 'show', resources }, targets);
    const prefix = targets.length > 1 ? 'files+' : '';
    assert.deepEqual(await list(client, 'resources/list'), [
      { title: 'Notes', uri: `${prefix}file:///a`, name: 'Release notes' },
      { uri: `${prefix}file:///secret/b`, name: 'file:///secret/b' },
    ]);
    assert.deepEqual(await list(client, 'resources/templates/list'), [
      { uriTemplate: `${prefix}file:///{path}`, name: 'A file' },
    ]);
    assert.ok((await ask(client, 'resources/read', { uri: `${prefix}file:///a` })).result);
  }
});

test('an entry about a tool that no server lists is logged once', async () => {
  const told = (): unknown[] =>
    harness.log
      .filter(({ message }) => message.startsWith('View names'))
      .map(({ message, fields }) => [message, fields['tool'] ?? fields['prompt'], fields['target']]);
  const tool = 'View names a tool that no server lists';
  const tools = [search, { target: 'files', name: 'search_issues' }, { name: 'read_fil' }, { name: 'x*' }];
  const prompts = [{ name: 'triage' }, { name: 'triag', hide: true }] as const;
  const before = told().length;
  const both = await open({ rest: 'show', tools, prompts });
  for (let i = 0; i < 2; i++) {
    await namesOf(both);
    await list(both, 'prompts/list');
  }
  assert.deepEqual(told().slice(before), [
    [tool, 'search_issues', 'files'],
    [tool, 'read_fil', undefined],
    ['View names a prompt that no server lists', 'triag', undefined],
  ]);
  const alone = await open({ rest: 'show', tools: [{ name: 'close_issues' }, { name: 'seen' }] }, [tickets]);
  for (let i = 0; i < 2; i++) await namesOf(alone);
  assert.deepEqual(told().slice(before + 3), [[tool, 'close_issues', undefined]]);
});
