/** A server of revision 2026-07-28 over HTTP that does exactly what it is told, behind a gateway. */

import type { TestContext } from 'node:test';
import type { RemoteTarget } from '../../../model/index.ts';
import type { HarnessOptions } from '../../harness.testing.ts';
import type { Message, RawClient } from '../../rawClient.testing.ts';
import { stage, type Stage } from '../../remote.testing.ts';
import type { Incoming } from '../../remoteServer.testing.ts';

const capabilities = {
  tools: { listChanged: true },
  prompts: {},
  resources: { subscribe: true },
  logging: {},
};

/** Answers a request with a result; `complete` unless the result has a type. */
export const answer = (x: Incoming, result: object): void =>
  x.json({ jsonrpc: '2.0', id: x.id, result: { resultType: 'complete', ...result } });

/** The result that asks the client. */
export const asks = (x: Incoming, members: object): void =>
  x.json({ jsonrpc: '2.0', id: x.id, result: { resultType: 'input_required', ...members } });

export const question = {
  name: {
    method: 'elicitation/create',
    params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
  },
};

/** Acknowledges a stream with everything that was asked for. */
export function acknowledge(x: Incoming, notifications: unknown = filterOf(x)): void {
  x.stream();
  event(x, 'notifications/subscriptions/acknowledged', { notifications });
}

export const filterOf = (x: Incoming): Record<string, unknown> =>
  x.seen.message.params!['notifications'] as Record<string, unknown>;

/** A notification on a stream. */
export const event = (x: Incoming, method: string, params: object = {}): void =>
  x.event({
    jsonrpc: '2.0',
    method,
    params: { ...params, _meta: { 'io.modelcontextprotocol/subscriptionId': x.id } },
  });

/** Streams are acknowledged, and calls are answered as `tools` says. */
export async function modernStage(
  t: TestContext,
  target: Partial<RemoteTarget> = {},
  options: HarnessOptions = {},
): Promise<Stage & { readonly streams: Set<Incoming> }> {
  const made = await stage(t, target, options);
  const { server } = made;
  const streams = new Set<Incoming>();
  server.stateful = false;
  server.methods['initialize'] = (x) =>
    x.json({ jsonrpc: '2.0', id: x.id, error: { code: -32022, message: 'no', data: {} } }, 400);
  server.methods['server/discover'] = (x) =>
    answer(x, { supportedVersions: ['2026-07-28'], capabilities, ttlMs: 0, cacheScope: 'private' });
  server.methods['subscriptions/listen'] = (x) => {
    streams.add(x);
    void x.left.then(() => streams.delete(x));
    acknowledge(x);
  };
  return { ...made, streams };
}

/** Calls a tool; answers the last message. */
export async function calling(client: RawClient, name: string, rest: object = {}): Promise<Message> {
  const { json, events } = await client.post(client.tool(name, {}, rest));
  return events.at(-1) ?? json;
}

/** The text of the result of a tool that failed. */
export function toolError({ result, error }: Message): string {
  if (result?.['isError'] !== true) throw new Error(`no tool error: ${JSON.stringify(result ?? error)}`);
  return (result['content'] as { text: string }[])[0]!.text;
}
