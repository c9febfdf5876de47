import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { startEverything } from '../everythingServer.testing.ts';
import { startEverythingSse } from '../everythingSse.testing.ts';
import {
  everything,
  mcpBackend,
  remoteTarget,
  sseTarget,
  startHarness,
  stdioTarget,
  type Harness,
} from '../harness.testing.ts';
import { until } from '../../until.testing.ts';

/** Real clients, and the server that exercises every part of the protocol: as a child, and over the network. */
const remote = await startEverything();
const old = await startEverythingSse();
const places = {
  stdio: await startHarness({
    backend: mcpBackend({ targets: [stdioTarget({ name: 'everything', args: [everything, 'stdio'] })] }),
  }),
  'Streamable HTTP': await startHarness({ backend: mcpBackend({ targets: [remoteTarget(remote.url)] }) }),
  'HTTP+SSE': await startHarness({ backend: mcpBackend({ targets: [sseTarget(old.url)] }) }),
};
after(async () => {
  for (const harness of Object.values(places)) await harness.close();
  await remote.close();
  await old.close();
});

interface Opened {
  readonly client: Client;
  close(): Promise<void>;
}

/** The transports of the 1.x client. */
const transports = {
  'Streamable HTTP': ({ url }: Harness) => new StreamableHTTPClientTransport(url),
  'HTTP+SSE': ({ url }: Harness) => new SSEClientTransport(new URL('/sse', url)),
};

async function openAt(
  harness: Harness,
  transport: StreamableHTTPClientTransport | SSEClientTransport,
  capabilities: object = {},
  prepare?: (client: Client) => void,
): Promise<Opened> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities });
  prepare?.(client);
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    client,
    close: async () => {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      await client.close();
      await until('the session is ended', () => harness.runtime.view().sessions.length === 0);
    },
  };
}

const firstText = (result: unknown): string =>
  (result as { content: { text: string }[] }).content.map((part) => part.text).join('\n');

for (const [server, harness] of Object.entries(places))
  for (const [transport, make] of Object.entries(transports)) testClient(server, harness, transport, make);

function testClient(
  server: string,
  harness: Harness,
  transport: string,
  make: (harness: Harness) => StreamableHTTPClientTransport | SSEClientTransport,
): void {
  const kind = `${transport} and a server over ${server}`;
  const open = (capabilities?: object, prepare?: (client: Client) => void): Promise<Opened> =>
    openAt(harness, make(harness), capabilities, prepare);

  test(`the 1.x client lists and uses tools, prompts, resources, templates and completions, over ${kind}`, async () => {
    const { client, close } = await open();
    const { tools } = await client.listTools();
    assert.ok(tools.length >= 10);
    assert.equal(
      firstText(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })),
      'Echo: hi',
    );
    const { prompts } = await client.listPrompts();
    assert.ok(prompts.length > 0);
    assert.ok((await client.getPrompt({ name: prompts[0]!.name })).messages.length > 0);
    const { resources } = await client.listResources();
    assert.ok((await client.readResource({ uri: resources[0]!.uri })).contents.length > 0);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.ok(resourceTemplates.length > 0);
    const completable = prompts.find((prompt) => prompt.name.includes('completable'))!;
    const argument = completable.arguments![0]!;
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: completable.name },
      argument: { name: argument.name, value: '' },
    });
    assert.ok(completion.values.length > 0);
    await client.ping();
    await close();
  });

  test(`structured output passes the 1.x client’s check against the output schema, over ${kind}`, async () => {
    const { client, close } = await open();
    await client.listTools();
    const result = await client.callTool({
      name: 'get-structured-content',
      arguments: { location: 'New York' },
    });
    assert.ok(result.structuredContent);
    await close();
  });

  test(`progress of a long call reaches the 1.x client, over ${kind}`, async () => {
    const { client, close } = await open();
    const seen: number[] = [];
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } },
      undefined,
      { onprogress: ({ progress }) => seen.push(progress) },
    );
    // Over HTTP+SSE, the client drops progress that arrives in one piece with the response.
    const atLeast = transport === 'HTTP+SSE' ? 3 : 4;
    assert.deepEqual(seen, [1, 2, 3, 4].slice(0, Math.max(atLeast, seen.length)));
    await close();
  });

  test(`sampling, elicitation and roots reach the 1.x client and come back, over ${kind}`, async () => {
    const { client, close } = await open({ sampling: {}, elicitation: {}, roots: {} }, (one) => {
      one.setRequestHandler(CreateMessageRequestSchema, () => ({
        role: 'assistant',
        model: 'test-model',
        content: { type: 'text', text: 'sampled' },
      }));
      one.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
      one.setRequestHandler(ListRootsRequestSchema, () => ({
        roots: [{ uri: 'file:///somewhere', name: 'somewhere' }],
      }));
    });
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    const sampled = await client.callTool({
      name: 'trigger-sampling-request',
      arguments: { prompt: 'p', maxTokens: 5 },
    });
    assert.match(firstText(sampled), /sampled/);
    const elicited = await client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
    assert.match(firstText(elicited), /declin/i);
    assert.ok(names.includes('get-roots-list'));
    assert.match(
      firstText(await client.callTool({ name: 'get-roots-list', arguments: {} })),
      /file:\/\/\/somewhere/,
    );
    await close();
  });

  test(`a subscription brings updates, and log lines come at the level that was set, over ${kind}`, async () => {
    const updates: string[] = [];
    const { promise: updated, resolve: onUpdate } = Promise.withResolvers<void>();
    const { promise: logged, resolve: onLog } = Promise.withResolvers<void>();
    const { client, close } = await open({}, (one) => {
      one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        updates.push(params.uri);
        onUpdate();
      });
      one.setNotificationHandler(LoggingMessageNotificationSchema, () => onLog());
    });
    const { resources } = await client.listResources();
    const { uri } = resources[0]!;
    await client.subscribeResource({ uri });
    await client.setLoggingLevel('debug');
    await client.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
    await client.callTool({ name: 'toggle-simulated-logging', arguments: {} });
    await updated;
    assert.deepEqual(new Set(updates), new Set([uri]));
    await logged;
    await client.unsubscribeResource({ uri });
    await close();
  });

  test(`aborting a call in the 1.x client cancels it at the server, and the session goes on, over ${kind}`, async () => {
    const { client, close } = await open();
    const abort = new AbortController();
    const call = client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 30, steps: 100 } },
      undefined,
      { signal: abort.signal, onprogress: () => abort.abort('enough') },
    );
    await assert.rejects(call);
    assert.equal(
      firstText(await client.callTool({ name: 'echo', arguments: { message: 'on' } })),
      'Echo: on',
    );
    await close();
  });
}

for (const [server, harness] of Object.entries(places))
  for (const mode of ['legacy', 'auto'] as const)
    test(`the 2.x client works (${mode}), with a server over ${server}`, async () => {
      const client = new Client2({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
      const transport = new Transport2(harness.url);
      await client.connect(transport);
      const { tools } = await client.listTools();
      assert.ok(tools.some((tool) => tool.name === 'echo'));
      assert.equal(
        firstText(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })),
        'Echo: hi',
      );
      await transport.terminateSession();
      await client.close();
    });

test('every session that was ended is ended at the servers over the network, too', async () => {
  for (const server of [remote, old]) await until('no session is left', () => server.sessions() === 0);
});
