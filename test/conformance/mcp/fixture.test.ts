import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Eras } from './fixture/eras.ts';
import { serveHttp } from './fixture/http.ts';

const program = fileURLToPath(new URL('fixture.ts', import.meta.url));
const modern = '2026-07-28';
const meta = {
  'io.modelcontextprotocol/protocolVersion': modern,
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
};

type Mode = 'legacy' | 'auto' | { pin: string };
type Transport = Parameters<Client['connect']>[0];

const overStdio = (eras: Eras) =>
  new StdioClientTransport({ command: process.execPath, args: [program, '--era', eras] });

/** Gives the client of a mode to a course, over stdio and over HTTP, and compares what the course saw. */
async function behavesAlike<T>(eras: Eras, course: (transport: Transport) => Promise<T>): Promise<T> {
  const server = await serveHttp(eras);
  try {
    const seen = await course(new StreamableHTTPClientTransport(new URL(server.url)));
    assert.deepEqual(await course(overStdio(eras)), seen);
    return seen;
  } finally {
    await server.close();
  }
}

/** Everything that a client sees in a course over all parts of the fixture. */
async function visit(transport: Transport, mode: Mode) {
  await using stack = new AsyncDisposableStack();
  const client = new Client(
    { name: 'fixture', version: '1.0.0' },
    {
      capabilities: { sampling: {}, elicitation: { form: {} }, roots: {} },
      versionNegotiation: { mode },
    },
  );
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    content: { type: 'text', text: 'sampled' },
    model: 'none',
  }));
  client.setRequestHandler('elicitation/create', ({ params }) => ({
    action: 'accept',
    content: Object.fromEntries(
      Object.entries('requestedSchema' in params ? params.requestedSchema.properties : {}).map(
        ([name, { type }]) => [name, type === 'boolean' ? true : 'given'],
      ),
    ),
  }));
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///srv', name: 'srv' }] }));
  const progress: unknown[] = [];
  stack.defer(() => client.close());
  await client.connect(transport);

  const { tools } = await client.listTools();
  const calls = new Map<string, unknown>();
  for (const { name } of tools)
    calls.set(
      name,
      await client
        .callTool(
          { name, arguments: args[name] ?? {} },
          name === 'test_tool_with_progress' ? { onprogress: (each) => progress.push(each) } : {},
        )
        .catch((error: Error) => error.message),
    );
  return {
    revision: client.getNegotiatedProtocolVersion(),
    tools,
    calls,
    // The client drops a notification that arrives together with the result.
    progress: progress.slice(0, 2),
    prompts: await client.listPrompts(),
    prompt: await client.getPrompt({ name: 'test_input_required_result_prompt' }),
    resources: await client.listResources(),
    resource: await client.readResource({ uri: 'test://template/7/data' }),
    missing: await client.readResource({ uri: 'test://nowhere' }).catch((error: Error) => error.message),
  };
}

const args: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  test_sampling: { prompt: 'Say something' },
  test_elicitation: { message: 'Who are you?' },
  json_schema_2020_12_tool: { contactMethod: 'phone', phone: '1' },
  greet: { name: 'Ada' },
  test_parameter_header: { region: 'north' },
  slow_compute: { seconds: 0 },
  confirm_delete: { filename: 'old.txt' },
};

const rows: readonly { eras: Eras; mode: Mode; revision: string }[] = [
  { eras: 'both', mode: 'legacy', revision: '2025-11-25' },
  { eras: 'both', mode: 'auto', revision: modern },
  { eras: 'both', mode: { pin: modern }, revision: modern },
  { eras: 'legacy', mode: 'auto', revision: '2025-11-25' },
  { eras: 'modern', mode: 'auto', revision: modern },
];

for (const { eras, mode, revision } of rows)
  test(`a client in mode ${JSON.stringify(mode)} sees the same over stdio and HTTP, with eras ${eras}`, async () => {
    const seen = await behavesAlike(eras, (transport) => visit(transport, mode));
    assert.equal(seen.revision, revision);
    const answered = [...seen.calls.values()].map((result) => JSON.stringify(result));
    assert.ok(answered.some((text) => text.includes('LLM response: sampled')));
    assert.ok(answered.some((text) => text.includes('given likes given')));
    assert.equal(seen.progress.length, 2);
  });

test('a server of one era refuses clients of the other', async () => {
  const refused = /protocol version|requires|-32022|2026-07-28/i;
  for (const [eras, mode] of [
    ['legacy', { pin: modern }],
    ['modern', 'legacy'],
  ] as const) {
    const server = await serveHttp(eras);
    for (const transport of [new StreamableHTTPClientTransport(new URL(server.url)), overStdio(eras)])
      await assert.rejects(visit(transport, mode), refused);
    await server.close();
  }
});

test('a subscription hears of a changed list', async () => {
  const heard = await behavesAlike('both', async (transport) => {
    await using stack = new AsyncDisposableStack();
    const client = new Client(
      { name: 'fixture', version: '1.0.0' },
      { versionNegotiation: { mode: 'auto' } },
    );
    stack.defer(() => client.close());
    await client.connect(transport);
    const { promise, resolve } = Promise.withResolvers<string>();
    client.setNotificationHandler('notifications/tools/list_changed', ({ method }) => resolve(method));
    await client.listen({ toolsListChanged: true });
    await client.callTool({ name: 'test_trigger_tool_change', arguments: {} });
    return await promise;
  });
  assert.equal(heard, 'notifications/tools/list_changed');
});

test('the tasks extension answers the same over stdio and HTTP', async () => {
  const seen = await behavesAlike('both', walkTask);
  assert.deepEqual(
    seen.map(({ result, error }) => error?.code ?? result?.['status'] ?? result?.['resultType']),
    [
      'input_required',
      'input_required',
      'complete',
      'input_required',
      'complete',
      'completed',
      'complete',
      -32602,
      -32021,
    ],
  );
});

interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
}

/** Creates a task, answers its questions one after the other, and asks for tasks that do not exist. */
async function walkTask(transport: Transport): Promise<readonly Answer[]> {
  await using stack = new AsyncDisposableStack();
  stack.defer(() => transport.close());
  await transport.start();
  const seen: Answer[] = [];
  const ask = async (
    method: string,
    params: object,
    _meta: Record<string, unknown> = meta,
  ): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    transport.onmessage = (message) => resolve(message as Answer);
    await transport.send({ jsonrpc: '2.0', id: seen.length, method, params: { ...params, _meta } });
    seen.push(await promise);
    return await promise;
  };
  const accept = (content: object) => ({ action: 'accept', content });

  const { result } = await ask('tools/call', { name: 'multi_input', arguments: {} });
  const taskId = result?.['taskId'];
  await ask('tasks/get', { taskId });
  await ask('tasks/update', { taskId, inputResponses: { name: accept({ name: 'Ada' }), other: accept({}) } });
  await ask('tasks/get', { taskId });
  await ask('tasks/update', { taskId, inputResponses: { confirm: accept({ confirm: true }) } });
  await ask('tasks/get', { taskId });
  await ask('tasks/cancel', { taskId });
  await ask('tasks/get', { taskId: 'no-such-task' });
  await ask('tasks/get', { taskId }, { ...meta, 'io.modelcontextprotocol/clientCapabilities': {} });
  const own = JSON.stringify(seen)
    .replaceAll(String(taskId), '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>');
  return JSON.parse(own) as Answer[];
}
