/** Clients that begin with `initialize` in front of a server that speaks revision 2026-07-28 only. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { until } from '../../../until.testing.ts';
import { mcpBackend, remoteTarget, startHarness, type Harness } from '../../harness.testing.ts';
import { modernTarget, startModern } from '../../modernServer.testing.ts';

const remote = await startModern();
const places = {
  stdio: await startHarness({ backend: mcpBackend({ targets: [modernTarget()] }) }),
  'Streamable HTTP': await startHarness({ backend: mcpBackend({ targets: [remoteTarget(remote.url)] }) }),
};
after(async () => {
  for (const harness of Object.values(places)) await harness.close();
  await remote.close();
});

const everyCapability = { sampling: {}, elicitation: { form: {}, url: {} }, roots: {} };

interface Opened {
  readonly client: Client;
  close(): Promise<void>;
}

async function open(
  harness: Harness,
  capabilities: object = everyCapability,
  prepare: (client: Client) => void = () => undefined,
): Promise<Opened> {
  const client = new Client({ name: 'old', version: '0.1' }, { capabilities });
  prepare(client);
  const transport = new StreamableHTTPClientTransport(harness.url);
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    client,
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** Answers every question of a server. */
function answering(client: Client): void {
  client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
    'url' in params
      ? { action: 'accept', content: { id: typeof params.elicitationId } }
      : { action: 'accept', content: { name: 'Ada' } },
  );
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant',
    model: 'm',
    content: { type: 'text', text: 'sampled' },
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///home' }] }));
}

const textOf = (result: unknown): string =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join('\n');
const call = async (client: Client, name: string, args: object = {}): Promise<string> =>
  textOf(await client.callTool({ name, arguments: { ...args } }));
const read = async (client: Client, name: string): Promise<unknown> => JSON.parse(await call(client, name));

for (const [place, harness] of Object.entries(places)) {
  test(`a legacy client learns what a modern server over ${place} is, and uses its items`, async () => {
    const { client, close } = await open(harness);
    assert.equal(client.getServerVersion()?.title, 'Modern');
    assert.equal(client.getInstructions(), 'Be kind.');
    assert.equal(client.getServerCapabilities()?.resources?.subscribe, true);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'region'));
    const echoed = await client.callTool({ name: 'echo', arguments: { text: 'hi' } });
    assert.equal(textOf(echoed), 'hi');
    assert.equal(echoed['resultType'], undefined);
    const { prompts } = await client.listPrompts();
    assert.deepEqual(
      prompts.map(({ name }) => name),
      ['greet', 'ask'],
    );
    const prompt = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
    assert.deepEqual(prompt.messages[0]?.content, { type: 'text', text: 'Hello Ada' });
    const listed = await client.listResources();
    assert.deepEqual(
      [listed.resources[0]?.uri, listed['ttlMs'], listed['cacheScope']],
      ['test://a', undefined, undefined],
    );
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 1);
    const { contents } = await client.readResource({ uri: 'test://item/7' });
    assert.deepEqual(contents, [{ uri: 'test://item/7', text: 'item 7' }]);
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'name', value: 'A' },
    });
    assert.deepEqual(completion.values, ['Ada', 'Alan']);
    await client.ping();
    await close();
  });

  test(`a modern server over ${place} hears in each request what the legacy client said in the beginning`, async () => {
    const { client, close } = await open(harness);
    const { envelope } = (await read(client, 'envelope')) as { envelope: Record<string, unknown> };
    assert.deepEqual(envelope, {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'old', version: '0.1' },
      'io.modelcontextprotocol/clientCapabilities': everyCapability,
    });
    await close();
  });

  test(`the questions of a modern server over ${place} reach the legacy client, and the answers the server`, async () => {
    const { client, close } = await open(harness, everyCapability, answering);
    assert.deepEqual(await read(client, 'ask-all'), {
      answers: {
        name: { action: 'accept', content: { name: 'Ada' } },
        completion: { role: 'assistant', model: 'm', content: { type: 'text', text: 'sampled' } },
        roots: { roots: [{ uri: 'file:///home' }] },
      },
      state: 'state of "all" é',
    });
    // 2025-11-25 wants an id for each URL, which the modern era does not have.
    const { answers } = (await read(client, 'ask-url')) as { answers: { consent: { content: object } } };
    assert.deepEqual(answers.consent.content, { id: 'string' });
    assert.deepEqual(await read(client, 'ask-twice'), {
      answers: { roots: { roots: [{ uri: 'file:///home' }] } },
    });
    assert.equal(await call(client, 'busy'), 'done');
    const { messages } = await client.getPrompt({ name: 'ask' });
    assert.match(JSON.stringify(messages), /Ada/);
    await close();
  });

  test(`a question that the legacy client refuses ends the call of a modern server over ${place}`, async () => {
    const { client, close } = await open(harness, { elicitation: {} }, (one) => {
      one.setRequestHandler(ElicitRequestSchema, () => {
        throw new Error('not today');
      });
    });
    const refused = await client.callTool({ name: 'ask-name' });
    assert.equal(refused.isError, true);
    assert.match(textOf(refused), /answered with an error: .*not today/);
    await assert.rejects(client.getPrompt({ name: 'ask' }), /not today/);
    // The SDK's server refuses by itself what the client did not declare.
    await assert.rejects(client.callTool({ name: 'ask-model' }), /-32602.*capabilit/i);
    assert.equal(await call(client, 'echo', { text: 'on' }), 'on');
    await close();
  });

  test(`a legacy client hears progress of a call, over ${place}`, async () => {
    const { client, close } = await open(harness);
    const heard: number[] = [];
    await client.callTool({ name: 'progress' }, undefined, {
      onprogress: ({ progress }) => void heard.push(progress),
    });
    assert.deepEqual(heard, [1, 2]);
    await close();
  });

  test(`a legacy client hears log lines at the level that it set, and none before, over ${place}`, async () => {
    const lines: unknown[] = [];
    const { client, close } = await open(harness, {}, (one) => {
      one.setNotificationHandler(
        LoggingMessageNotificationSchema,
        ({ params }) => void lines.push(params.data),
      );
    });
    await call(client, 'log');
    assert.deepEqual(lines, []);
    await client.setLoggingLevel('warning');
    await call(client, 'log');
    assert.deepEqual(lines, ['large']);
    await client.setLoggingLevel('debug');
    await call(client, 'log');
    assert.deepEqual(lines, ['large', 'small', 'large']);
    await assert.rejects(client.setLoggingLevel('loud' as 'debug'), /-32602/);
    await close();
  });

  test(`a modern server over ${place} learns that a legacy client cancels a call`, async () => {
    const { client, close } = await open(harness);
    const before = Number(await call(client, 'cancelled'));
    const abort = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, undefined, {
      signal: abort.signal,
      onprogress: () => abort.abort('enough'),
    });
    await assert.rejects(hanging);
    await until('the server knows', async () => Number(await call(client, 'cancelled')) === before + 1);
    await close();
  });

  test(`a legacy client hears of resources that it subscribed to and of changed lists, over ${place}`, async () => {
    const updated: string[] = [];
    const { promise: changed, resolve: onChange } = Promise.withResolvers<void>();
    const { client, close } = await open(harness, {}, (one) => {
      one.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void updated.push(params.uri),
      );
      one.setNotificationHandler(ToolListChangedNotificationSchema, () => onChange());
    });
    await client.subscribeResource({ uri: 'test://a' });
    await client.subscribeResource({ uri: 'test://b' });
    for (const uri of ['test://a', 'test://c', 'test://b']) await call(client, 'touch', { uri });
    await until('both updates came', () => updated.length === 2);
    await client.unsubscribeResource({ uri: 'test://a' });
    await client.subscribeResource({ uri: 'test://d' });
    for (const uri of ['test://a', 'test://d']) await call(client, 'touch', { uri });
    await until('the third update came', () => updated.length === 3);
    assert.deepEqual(updated, ['test://a', 'test://b', 'test://d']);
    const name = `added-over-${place.replaceAll(' ', '-')}`;
    await client.listTools();
    await call(client, 'add', { name });
    await changed;
    await close();
  });

  test(`two legacy clients at once keep their questions and answers apart, over ${place}`, async () => {
    const named = async (name: string): Promise<unknown> => {
      const { client, close } = await open(harness, everyCapability, (one) =>
        one.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name } })),
      );
      const results = await Promise.all(Array.from({ length: 4 }, () => read(client, 'ask-name')));
      await close();
      return results.map((result) => JSON.stringify(result).includes(`"name":"${name}"`));
    };
    const [ada, alan] = await Promise.all([named('Ada'), named('Alan')]);
    assert.deepEqual([ada, alan], [Array(4).fill(true), Array(4).fill(true)]);
  });

  test(`errors of a modern server over ${place} keep their codes and their words`, async () => {
    const { client, close } = await open(harness);
    await assert.rejects(client.readResource({ uri: 'test://none' }), /-32602.*not found/i);
    await assert.rejects(client.callTool({ name: 'none' }), /-32602.*none/);
    await assert.rejects(client.getPrompt({ name: 'greet', arguments: {} }), /-32602/);
    await close();
  });
}

test('a modern server over HTTP gets the headers of its era, and neither GET nor DELETE', async () => {
  const { client, close } = await open(places['Streamable HTTP']);
  remote.seen.length = 0;
  await call(client, 'echo', { text: 'x' });
  await client.readResource({ uri: 'test://item/é' });
  await close();
  assert.deepEqual(remote.others, []);
  const headersOf = (method: string) => {
    const { headers } = remote.of(method)[0]!;
    return ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id'].map((name) => headers[name]);
  };
  assert.deepEqual(headersOf('tools/call'), ['2026-07-28', 'tools/call', 'echo', undefined]);
  const encoded = `=?base64?${Buffer.from('test://item/é').toString('base64')}?=`;
  assert.deepEqual(headersOf('resources/read'), ['2026-07-28', 'resources/read', encoded, undefined]);
});

test('annotated parameters become headers, whether the client has listed the tools or not', async () => {
  const { client, close } = await open(places['Streamable HTTP']);
  remote.seen.length = 0;
  const result = {
    where: 'Zürich',
    count: 3,
    header: `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
  };
  assert.deepEqual(JSON.parse(await call(client, 'region', { region: 'Zürich', count: 3 })), result);
  assert.deepEqual(
    remote.seen.map(({ message }) => message.method).filter((method) => method?.startsWith('tools')),
    ['tools/call', 'tools/list', 'tools/call'],
  );
  assert.deepEqual(JSON.parse(await call(client, 'region', { region: 'plain' })), {
    where: 'plain',
    header: 'plain',
  });
  assert.equal(remote.of('tools/list').length, 1);
  await close();
});

test('a child that dies is started again, and told again what its client wants to hear', async () => {
  const harness = places.stdio;
  const updated: string[] = [];
  const { client, close } = await open(harness, {}, (one) => {
    one.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void updated.push(params.uri),
    );
  });
  await client.subscribeResource({ uri: 'test://a' });
  await client.setLoggingLevel('error');
  const pid = await call(client, 'pid');
  await assert.rejects(client.callTool({ name: 'crash' }));
  assert.notEqual(await call(client, 'pid'), pid);
  await call(client, 'touch', { uri: 'test://a' });
  // The first is for the time in which nobody listened.
  await until('the update came', () => updated.length === 2);
  const [target] = harness.runtime.view().sessions.at(-1)!.targets;
  assert.deepEqual([target?.era, target?.restarts, target?.pending], ['modern', 1, 0]);
  await close();
});

test('a call that waits for the client fails when its child dies, and the client is told', async () => {
  const { client, close } = await open(places.stdio, everyCapability, (one) => {
    one.setRequestHandler(ElicitRequestSchema, async (_request, { signal }) => {
      void one.callTool({ name: 'crash' }).catch(() => undefined);
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      return { action: 'cancel' };
    });
  });
  await assert.rejects(client.callTool({ name: 'ask-name' }), /ended while it waited for the client/);
  await close();
});
