/** A gateway in front of an HTTP API on loopback, and clients of it, for tests; all of it ends with the test. */

import type { TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OpenApiTarget } from '../../../model/index.ts';
import { mcpBackend, startHarness, type Harness, type HarnessOptions } from '../../harness.testing.ts';
import { RawClient, type Message } from '../../rawClient.testing.ts';
import { apiTarget, petstoreText, startApi, type TestApi } from './api.testing.ts';

export interface Stage {
  readonly api: TestApi;
  readonly harness: Harness;
  /** A client of the SDK with a session. */
  client(): Promise<Client>;
  /** A client that sees every byte, with a session. */
  raw(): Promise<RawClient>;
}

export async function stage(
  t: TestContext,
  text = petstoreText,
  settings: Partial<OpenApiTarget> = {},
  options: HarnessOptions = {},
): Promise<Stage> {
  const api = await startApi();
  const harness = await startHarness({
    backend: mcpBackend({ targets: [apiTarget(api.port, text, settings)] }),
    ...options,
  });
  t.after(async () => {
    await harness.close();
    await api[Symbol.asyncDispose]();
  });
  return {
    api,
    harness,
    client: async () => {
      const client = new Client({ name: 'test', version: '1' });
      const transport = new StreamableHTTPClientTransport(harness.url);
      await client.connect(transport as Parameters<typeof client.connect>[0]);
      t.after(() => client.close());
      return client;
    },
    raw: async () => {
      const client = new RawClient(harness.url);
      await client.initialize();
      return client;
    },
  };
}

export interface Result {
  readonly content: readonly {
    readonly type: string;
    readonly text: string;
    readonly [more: string]: unknown;
  }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** Calls a tool as a client of the SDK does. */
export const call = async (
  client: Client,
  name: string,
  given: Record<string, unknown> = {},
): Promise<Result> => (await client.callTool({ name, arguments: given })) as unknown as Result;

/** The response to one request. */
export async function ask(
  client: RawClient,
  method: string,
  params: object = {},
  id?: number,
): Promise<Message> {
  const { json, events } = await client.post(client.request(method, params, id));
  return events.at(-1) ?? json;
}
