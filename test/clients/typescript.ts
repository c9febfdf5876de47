/** Clients of both versions of the TypeScript SDK. */
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { ClientRow, Seen, Wanted } from './client.ts';

/** The common part of the clients of both versions, as far as the steps use it. */
export interface SdkClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: object): Promise<object>;
  readResource(params: { uri: string }): Promise<object>;
  getPrompt(params: { name: string }): Promise<object>;
}

const textOf = ({ text }: { text?: string }): string => text ?? '';

export async function takeSteps(client: SdkClient, wanted: Wanted): Promise<Seen> {
  const { tools } = await client.listTools();
  const call = (await client.callTool({
    name: wanted.tool,
    arguments: { message: wanted.message },
  })) as { content: { text?: string }[] };
  const { contents } = (await client.readResource({ uri: wanted.resource })) as {
    contents: { text?: string }[];
  };
  const { messages } = (await client.getPrompt({ name: wanted.prompt })) as {
    messages: { content: { text?: string } }[];
  };
  return {
    tools: tools.map(({ name }) => name),
    call: textOf(call.content[0]!),
    resource: textOf(contents[0]!),
    prompt: textOf(messages[0]!.content),
  };
}

const info = { name: 'clients', version: '1.0.0' };
const bearer = (token: string): object => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});

const version1: ClientRow = {
  name: 'TypeScript SDK v1',
  async visit(wanted) {
    const client = new Client1(info);
    const transport = new Transport1(new URL(wanted.url), bearer(wanted.token));
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    try {
      return await takeSteps(client, wanted);
    } finally {
      await transport.terminateSession();
      await client.close();
    }
  },
};

const version2 = (name: string, mode: 'legacy' | 'auto' | { pin: string }): ClientRow => ({
  name: `TypeScript SDK v2, ${name}`,
  async visit(wanted) {
    const client = new Client(info, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(new URL(wanted.url), bearer(wanted.token));
    try {
      await client.connect(transport);
      return await takeSteps(client as SdkClient, wanted);
    } finally {
      await transport.terminateSession();
      await client.close();
    }
  },
});

export const typescriptClients: readonly ClientRow[] = [
  version1,
  version2('legacy', 'legacy'),
  version2('auto', 'auto'),
  version2('modern', { pin: '2026-07-28' }),
];
