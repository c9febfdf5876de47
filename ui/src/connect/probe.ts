/** Tests a route as a client would use it, and leaves nothing behind. */

import { ask } from '../api/client.ts';
import { EventReader } from '../api/eventReader.ts';
import { send } from '../api/playground.ts';
import type { GivenAnswer, RouteView, Target } from '../api/types.ts';
import { credentialHeader } from './credentials.ts';

const revision = '2025-11-25';

export interface ProbeResult {
  /** The first answer. */
  readonly answer: GivenAnswer;
  /** The error of JSON-RPC in place of a result. */
  readonly error?: string;
  /** The number of tools that the caller may list; undefined for a route of no MCP server. */
  readonly tools?: number;
  /** The servers of the route after the test. */
  readonly targets: readonly Target[];
}

/** @throws ApiError where the gateway did not take a request */
export async function probe(route: RouteView, credential: string): Promise<ProbeResult> {
  const headers = credentialHeader(route, credential);
  const path = route.path ?? '/';
  if (route.kind !== 'mcp')
    return { answer: await send(route.id, { method: 'GET', path, headers }), targets: [] };
  const post = (message: object, more: Readonly<Record<string, string>> = {}): Promise<GivenAnswer> =>
    send(route.id, {
      method: 'POST',
      path,
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...more,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const clientInfo = { name: 'portcullis console', version: '1' };
  const params = { protocolVersion: revision, capabilities: {}, clientInfo };
  const answer = await post({ id: 1, method: 'initialize', params });
  const id = answer.headers['mcp-session-id'];
  const session: Record<string, string> =
    typeof id === 'string' ? { 'mcp-session-id': id, 'mcp-protocol-version': revision } : {};
  try {
    const opened = answer.status < 400 ? responseIn(answer) : undefined;
    if (opened?.error !== undefined)
      return { answer, error: opened.error.message, targets: await targetsOf(route) };
    if (opened?.result === undefined) return { answer, targets: [] };
    await post({ method: 'notifications/initialized' }, session);
    const listed = responseIn(await post({ id: 2, method: 'tools/list' }, session));
    const tools = Array.isArray(listed?.result?.['tools']) ? listed.result['tools'].length : 0;
    return {
      answer,
      ...(listed?.error && { error: listed.error.message }),
      tools,
      targets: await targetsOf(route),
    };
  } finally {
    if (typeof id === 'string')
      await send(route.id, { method: 'DELETE', path, headers: { ...headers, ...session } });
  }
}

const targetsOf = async ({ id }: RouteView): Promise<readonly Target[]> =>
  (await ask<readonly Target[]>('targets')).filter(({ route }) => route === id);

interface Response {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** The response in an answer: JSON, or an event of a stream. */
function responseIn({ headers, body }: GivenAnswer): Response | undefined {
  const texts: string[] = [];
  if (String(headers['content-type']).startsWith('text/event-stream'))
    new EventReader(({ data }) => texts.push(data)).read(`${body}\n\n`);
  else texts.push(body);
  for (const text of texts) {
    const message = JSON.parse(text) as Response;
    if (message.result !== undefined || message.error !== undefined) return message;
  }
  return undefined;
}
