/** Requests as texts, as on the wire. */

import type { RequestRecord, RouteView } from '../api/types.ts';

/** The text of a tool call; the gateway completes the length of the body. */
export const toolCall = (host: string, path: string, tool: string, args: object = {}): string =>
  `POST ${path} HTTP/1.1
Host: ${host}
Content-Type: application/json
Accept: application/json, text/event-stream

${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } })}
`;

/** A first request for a route. */
export function exampleFor(route: RouteView | undefined): string {
  if (route === undefined) return 'GET / HTTP/1.1\nHost: localhost\n';
  const host = `${route.hostnames[0] ?? 'localhost'}${route.port === null ? '' : `:${route.port}`}`;
  const path = route.path ?? '/';
  return route.kind === 'mcp' ? toolCall(host, path, 'NAME') : `GET ${path} HTTP/1.1\nHost: ${host}\n`;
}

/** A recorded request; values of arguments are never recorded, so a tool call has none. */
export function textOf(record: RequestRecord): string {
  const tool = record.extra?.['mcp.tool'];
  if (record.extra?.['mcp.method'] === 'tools/call' && tool !== undefined)
    return toolCall(record.host, record.path, String(tool));
  return `${record.method} ${record.path} HTTP/1.1\nHost: ${record.host}\n`;
}

interface ToolCall {
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly arguments?: unknown };
}

/** The head and the message of a tool call; undefined where the text is none. */
function callIn(text: string): { readonly head: string; readonly message: ToolCall } | undefined {
  const [, head, body] = /^([^]*?\n\r?\n)([^]*)$/.exec(text) ?? [];
  if (head === undefined || body === undefined) return undefined;
  try {
    const message = JSON.parse(body) as ToolCall;
    return message.method === 'tools/call' ? { head, message } : undefined;
  } catch {
    return undefined;
  }
}

/** The same request with another tool; undefined where the text is no tool call. */
export function withTool(text: string, tool: string): string | undefined {
  const call = callIn(text);
  if (call === undefined) return undefined;
  const { head, message } = call;
  return head + JSON.stringify({ ...message, params: { ...message.params, name: tool } });
}

/** The arguments of a tool call; empty where the text is none. */
export function argumentsIn(text: string): object {
  const given = callIn(text)?.message.params?.arguments;
  return typeof given === 'object' && given !== null ? given : {};
}
