/** Clients of both versions of the TypeScript SDK that answer the questions of servers. */
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CourseClient } from './course.ts';

export type Era = 'legacy' | 'modern';

export interface CourseRow {
  readonly name: string;
  /** The eras that the client speaks. */
  readonly eras: readonly Era[];
  connect(url: string, token: string): Promise<CourseClient>;
}

const info = { name: 'clients', version: '1.0.0' };
const bearer = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });
const capabilities = { sampling: {}, elicitation: { form: {} } };
const answers = {
  elicit: { action: 'accept' as const, content: { name: 'Ada' } },
  sample: {
    role: 'assistant' as const,
    model: 'm',
    content: { type: 'text' as const, text: 'sampled' },
  },
};

async function connect1(url: string, token: string): Promise<CourseClient> {
  const client = new Client1(info, { capabilities });
  const updates: string[] = [];
  client.setRequestHandler(ElicitRequestSchema, () => answers.elicit);
  client.setRequestHandler(CreateMessageRequestSchema, () => answers.sample);
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void updates.push(params.uri),
  );
  const transport = new Transport1(new URL(url), bearer(token));
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    listTools: () => client.listTools(),
    readResource: (params) => client.readResource(params),
    getPrompt: (params) => client.getPrompt(params as Parameters<typeof client.getPrompt>[0]),
    callTool: (call, options) =>
      client.callTool({ name: call.name, arguments: { ...call.arguments } }, undefined, options),
    follow: async (uri) => {
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    updates,
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

async function connect2(
  url: string,
  token: string,
  mode: 'legacy' | 'auto' | { pin: string },
): Promise<CourseClient> {
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  const updates: string[] = [];
  client.setRequestHandler('elicitation/create', () => answers.elicit);
  client.setRequestHandler('sampling/createMessage', () => answers.sample);
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void updates.push(params.uri),
  );
  const transport = new StreamableHTTPClientTransport(new URL(url), bearer(token));
  await client.connect(transport);
  return {
    listTools: () => client.listTools(),
    readResource: (params) => client.readResource(params),
    getPrompt: (params) => client.getPrompt(params as Parameters<typeof client.getPrompt>[0]),
    callTool: (call, options) =>
      client.callTool({ name: call.name, arguments: { ...call.arguments } }, options),
    follow: async (uri) => {
      if (client.getProtocolEra() === 'modern') {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    updates,
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

export const courseClients: readonly CourseRow[] = [
  { name: 'TypeScript SDK v1', eras: ['legacy'], connect: connect1 },
  { name: 'TypeScript SDK v2, legacy', eras: ['legacy'], connect: (...at) => connect2(...at, 'legacy') },
  {
    name: 'TypeScript SDK v2, auto',
    eras: ['legacy', 'modern'],
    connect: (...at) => connect2(...at, 'auto'),
  },
  {
    name: 'TypeScript SDK v2, modern',
    eras: ['modern'],
    connect: (...at) => connect2(...at, { pin: '2026-07-28' }),
  },
];
