import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { DevIdp } from '../../apps/dev-idp/src/index.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { everything, mcpRoute, node, startIdp } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

/** The common part of the clients of both SDK generations, as far as these tests use it. */
export interface McpClient {
  getServerVersion(): { name: string } | undefined;
  getServerCapabilities(): object | undefined;
  getInstructions(): string | undefined;
  ping(): Promise<unknown>;
  listTools(params?: Page): Promise<{ tools: Named[]; nextCursor?: string | undefined }>;
  callTool(params: object, options?: CallOptions): Promise<ToolResult>;
  listPrompts(params?: Page): Promise<{ prompts: Named[]; nextCursor?: string | undefined }>;
  getPrompt(params: object): Promise<{ messages: { content: unknown }[] }>;
  listResources(
    params?: Page,
  ): Promise<{ resources: (Named & { uri: string })[]; nextCursor?: string | undefined }>;
  listResourceTemplates(
    params?: Page,
  ): Promise<{ resourceTemplates: (Named & { uriTemplate: string })[]; nextCursor?: string | undefined }>;
  readResource(params: { uri: string }): Promise<{ contents: Record<string, unknown>[] }>;
  subscribeResource(params: { uri: string }): Promise<unknown>;
  unsubscribeResource(params: { uri: string }): Promise<unknown>;
  complete(params: object): Promise<{ completion: { values: string[] } }>;
  setLoggingLevel(level: string): Promise<unknown>;
  sendRootsListChanged(): Promise<void>;
}

type Page = { cursor: string };
type Named = { name: string };

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { progress: number; total?: number | undefined }) => void;
}

export interface ToolResult {
  readonly isError?: boolean;
  readonly content: { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
}

export interface Connected {
  readonly client: McpClient;
  /** Notifications of the server that no call of the client consumes, in order. */
  readonly notifications: readonly { readonly method: string; readonly params?: unknown }[];
  /** Roots that the client tells; may be changed. */
  readonly roots: { uri: string; name: string }[];
  /** Ends the session (DELETE) and the connection. */
  close(): Promise<void>;
}

/** Connects with the bearer token, able to answer sampling, elicitation and roots. */
export type Connect = (url: URL, token: string) => Promise<Connected>;

/** The answers of a client with all abilities to the questions of a server. */
export const answers = {
  sampling: { model: 'test-model', role: 'assistant', content: { type: 'text', text: 'a sampled answer' } },
  elicitation: { action: 'accept', content: { name: 'Ada Lovelace', check: true } },
} as const;

const textOf = (result: ToolResult): string => result.content.map(({ text }) => text ?? '').join('\n');

const pages = fileURLToPath(new URL('./fixtures/pages.ts', import.meta.url));

/**
 * Everything a server may do, through the real program, with a token and a group rule: the same for each client.
 * @param workers that share the port
 */
export function testFeatures(name: string, connect: Connect, workers = 1): void {
  describe(name, () => {
    let idp: DevIdp;
    let gateway: GatewayProcess;
    let token: string;
    let session: Connected;
    let paged: Connected;

    before(async () => {
      idp = await startIdp();
      token = await idp.issueToken({ user: 'alice' });
      gateway = await startGateway(`
config: { workers: ${workers} }
binds:
- port: 0
  listeners:
  - routes:
${mcpRoute({ idp, path: '/mcp', target: { cmd: node, args: [everything, 'stdio'] } })}
${mcpRoute({ idp, path: '/pages', target: { cmd: node, args: [pages] } })}
`);
      session = await connect(new URL('/mcp', gateway.url), token);
      paged = await connect(new URL('/pages', gateway.url), token);
    });
    after(async () => {
      await session?.close();
      await paged?.close();
      await gateway?.stop();
      await idp?.close();
    });

    test('initialize tells the server’s own name, capabilities and instructions', async () => {
      assert.equal(session.client.getServerVersion()?.name, 'mcp-servers/everything');
      assert.partialDeepStrictEqual(session.client.getServerCapabilities(), {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
      });
      assert.match(session.client.getInstructions() ?? '', /Everything/);
      await session.client.ping();
    });

    test('tools are listed and called', async () => {
      const { tools } = await session.client.listTools();
      const names = tools.map((tool) => tool.name);
      for (const tool of ['echo', 'get-sum', 'get-structured-content', 'trigger-sampling-request'])
        assert.ok(names.includes(tool), `${tool} is not in ${names.join(', ')}`);
      const echo = await session.client.callTool({ name: 'echo', arguments: { message: 'Grüße, 世界 🌍' } });
      assert.deepEqual(echo.content, [{ type: 'text', text: 'Echo: Grüße, 世界 🌍' }]);
      const sum = await session.client.callTool({ name: 'get-sum', arguments: { a: 2, b: 40 } });
      assert.match(textOf(sum), /42/);
    });

    test('content of every type comes as the server made it', async () => {
      const image = await session.client.callTool({ name: 'get-tiny-image' });
      assert.deepEqual(
        image.content.map(({ type }) => type),
        ['text', 'image', 'text'],
      );
      const links = await session.client.callTool({ name: 'get-resource-links', arguments: { count: 2 } });
      assert.deepEqual(
        links.content.map(({ type }) => type),
        ['text', 'resource_link', 'resource_link'],
      );
    });

    test('structured output fits its schema', async () => {
      const result = await session.client.callTool({
        name: 'get-structured-content',
        arguments: { location: 'Chicago' },
      });
      assert.deepEqual(result.structuredContent, {
        temperature: 36,
        conditions: 'Light rain / drizzle',
        humidity: 82,
      });
    });

    test('an error of a tool is a result, an unknown tool is an error', async () => {
      const wrong = await session.client.callTool({ name: 'get-sum', arguments: { a: 'one' } });
      assert.equal(wrong.isError, true);
      const unknown = session.client.callTool({ name: 'no-such-tool' }).then((result) => {
        // The server may put it either way.
        assert.equal(result.isError, true);
        throw new Error(textOf(result));
      });
      await assert.rejects(unknown, /no-such-tool/);
    });

    test('a long call reports its progress in order', async () => {
      const seen: number[] = [];
      const result = await session.client.callTool(
        { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } },
        { onprogress: ({ progress }) => void seen.push(progress) },
      );
      assert.match(textOf(result), /completed/);
      assert.deepEqual(seen, [1, 2, 3, 4]);
    });

    test('calls of one session run side by side', async () => {
      const order: string[] = [];
      const slow = session.client
        .callTool({ name: 'trigger-long-running-operation', arguments: { duration: 0.5, steps: 1 } })
        .then(() => order.push('slow'));
      const quick = session.client
        .callTool({ name: 'echo', arguments: { message: 'quick' } })
        .then(() => order.push('quick'));
      await Promise.all([slow, quick]);
      assert.deepEqual(order, ['quick', 'slow']);
    });

    test('prompts are listed and got, with their arguments', async () => {
      const { prompts } = await session.client.listPrompts();
      assert.ok(prompts.some((prompt) => prompt.name === 'args-prompt'));
      const { messages } = await session.client.getPrompt({
        name: 'args-prompt',
        arguments: { city: 'Turin', state: 'Piedmont' },
      });
      assert.deepEqual(messages[0]?.content, { type: 'text', text: "What's weather in Turin, Piedmont?" });
    });

    test('resources are listed and read, also those of templates', async () => {
      const { resources } = await session.client.listResources();
      const uri = resources.find(({ name: file }) => file === 'architecture.md')?.uri ?? '';
      const { contents } = await session.client.readResource({ uri });
      assert.match(String(contents[0]?.['text']), /Everything/);

      const { resourceTemplates } = await session.client.listResourceTemplates();
      assert.ok(
        resourceTemplates.some(
          ({ uriTemplate }) => uriTemplate === 'demo://resource/dynamic/text/{resourceId}',
        ),
      );
      const dynamic = await session.client.readResource({ uri: 'demo://resource/dynamic/text/7' });
      assert.match(String(dynamic.contents[0]?.['text']), /^Resource 7/);
      await assert.rejects(session.client.readResource({ uri: 'demo://nowhere' }));
    });

    test('a subscription brings updates until it is given up', async () => {
      const uri = 'demo://resource/dynamic/text/1';
      const updates = () =>
        session.notifications.filter(({ method }) => method === 'notifications/resources/updated');
      await session.client.subscribeResource({ uri });
      await session.client.callTool({ name: 'toggle-subscriber-updates' });
      const update = await until('an update', () => updates().at(0));
      assert.deepEqual(update.params, { uri });
      await session.client.unsubscribeResource({ uri });
      await session.client.callTool({ name: 'toggle-subscriber-updates' });
      const before = updates().length;
      await session.client.callTool({ name: 'toggle-subscriber-updates' });
      await session.client.callTool({ name: 'toggle-subscriber-updates' });
      assert.equal(updates().length, before);
    });

    test('arguments are completed', async () => {
      const { completion } = await session.client.complete({
        ref: { type: 'ref/prompt', name: 'completable-prompt' },
        argument: { name: 'name', value: 'E' },
        context: { arguments: { department: 'Sales' } },
      });
      assert.deepEqual(completion.values, ['Eve']);
    });

    test('log messages of the server arrive from the level that was set', async () => {
      const logged = () => session.notifications.filter(({ method }) => method === 'notifications/message');
      await session.client.setLoggingLevel('debug');
      const before = logged().length;
      await session.client.callTool({ name: 'toggle-simulated-logging' });
      await until('a log message', () => logged().length > before);
      await session.client.callTool({ name: 'toggle-simulated-logging' });
    });

    test('the server asks the client for a sample', async () => {
      const result = await session.client.callTool({
        name: 'trigger-sampling-request',
        arguments: { prompt: 'say something', maxTokens: 10 },
      });
      assert.match(textOf(result), /a sampled answer/);
    });

    test('the server asks the user through the client', async () => {
      const result = await session.client.callTool({ name: 'trigger-elicitation-request' });
      assert.match(textOf(result), /Name: Ada Lovelace/);
    });

    test('the server learns the roots of the client, and their changes', async () => {
      const rootsSeen = async (): Promise<string> =>
        textOf(await session.client.callTool({ name: 'get-roots-list' }));
      assert.match(await rootsSeen(), /file:\/\/\/srv\/first/);
      session.roots.push({ uri: 'file:///srv/second', name: 'second' });
      await session.client.sendRootsListChanged();
      await until('the new root', async () => (await rootsSeen()).includes('file:///srv/second'));
    });

    test('every list is walked page by page', async () => {
      const walk = async (
        list: (page: Page | undefined) => Promise<readonly [Named[], string | undefined]>,
      ): Promise<string[]> => {
        const names: string[] = [];
        let cursor: string | undefined;
        // Some clients walk by themselves when they are asked without a cursor: then the first page is all.
        for (let turn = 0; turn < 10; turn++) {
          const [items, next] = await list(cursor === undefined ? undefined : { cursor });
          names.push(...items.map((item) => item.name));
          if (next === undefined) return names;
          cursor = next;
        }
        throw new Error('the pages do not end');
      };
      const seven = (kind: string): string[] => Array.from({ length: 7 }, (_, index) => `${kind}-${index}`);
      const { client } = paged;
      const own = ['wait', 'cancelled', 'announce'];
      assert.deepEqual(
        await walk(async (page) => {
          const { tools, nextCursor } = await client.listTools(page);
          return [tools, nextCursor];
        }),
        [...seven('tool'), ...own],
      );
      assert.deepEqual(
        await walk(async (page) => {
          const { prompts, nextCursor } = await client.listPrompts(page);
          return [prompts, nextCursor];
        }),
        seven('prompt'),
      );
      assert.deepEqual(
        await walk(async (page) => {
          const { resources, nextCursor } = await client.listResources(page);
          return [resources, nextCursor];
        }),
        seven('resource'),
      );
      assert.deepEqual(
        await walk(async (page) => {
          const { resourceTemplates, nextCursor } = await client.listResourceTemplates(page);
          return [resourceTemplates, nextCursor];
        }),
        seven('template'),
      );
    });

    test('a cancelled call is cancelled at the server, and the session goes on', async () => {
      const cancelling = new AbortController();
      const waiting = paged.client.callTool(
        { name: 'wait', arguments: { label: 'first' } },
        { signal: cancelling.signal },
      );
      const refused = assert.rejects(waiting);
      // An answer to a later call means that the server has the first one.
      await paged.client.callTool({ name: 'tool-0' });
      cancelling.abort('changed my mind');
      await refused;
      await until('the server to hear of it', async () =>
        textOf(await paged.client.callTool({ name: 'cancelled' })).includes('first'),
      );
    });

    test('a change of every list is told', async () => {
      const told = () =>
        paged.notifications.map(({ method }) => method).filter((method) => method.endsWith('/list_changed'));
      await paged.client.callTool({ name: 'announce' });
      await until('three notifications', () => told().length >= 3);
      assert.deepEqual(told().toSorted(), [
        'notifications/prompts/list_changed',
        'notifications/resources/list_changed',
        'notifications/tools/list_changed',
      ]);
    });

    test('ending the session ends its child process', async () => {
      const before = gateway.children().length;
      const third = await connect(new URL('/pages', gateway.url), token);
      await until('a child more', () => gateway.children().length === before + 1);
      await third.close();
      await until('a child less', () => gateway.children().length === before);
    });
  });
}
