import assert from 'node:assert/strict';
import type { GatewayProcess } from './gateway.testing.ts';
import { until } from '../../src/until.testing.ts';

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** An MCP session by bare requests, for what no client library would do. */
export interface RawSession {
  readonly id: string;
  /** The message goes out with this session's id; `token` replaces the session's own. */
  send(method: 'POST' | 'GET' | 'DELETE', message?: Message, token?: string): Promise<Response>;
  /** Resolves to the answer, result or error. */
  request(method: string, params?: object): Promise<Message>;
  /** Calls a tool and resolves to the answer, result or error. */
  call(name: string, args?: object): Promise<Message>;
  close(): Promise<void>;
}

export const revision = '2025-11-25';

/** A connection for each request, as a balancer in front may do it: each may be another worker's. */
export const apart: typeof fetch = (url, init) => {
  const headers = new Headers(init?.headers);
  headers.set('connection', 'close');
  return fetch(url, { ...init, headers });
};

/** The headers of a POST to a session that a test sends by itself. */
export const postHeaders = (sessionId: string): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-session-id': sessionId,
});

export interface SessionOptions {
  readonly fetch?: typeof fetch;
  /** The abilities of the client. */
  readonly capabilities?: object;
  readonly protocolVersion?: string;
}

/** Opens a session: initialize and notifications/initialized. */
export async function openSession(
  url: string,
  token?: string,
  { capabilities = {}, protocolVersion = revision, fetch: ask = fetch }: SessionOptions = {},
): Promise<RawSession> {
  let id = '';
  let lastId = 100;
  const send: RawSession['send'] = (method, message, other = token) =>
    ask(url, {
      method,
      headers: {
        ...(other === undefined ? {} : { authorization: `Bearer ${other}` }),
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...(id === '' ? {} : { 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion }),
        accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      },
      ...(method === 'POST' ? { body: JSON.stringify({ jsonrpc: '2.0', ...message }) } : {}),
    });
  const opened = await send('POST', {
    id: 1,
    method: 'initialize',
    params: { protocolVersion, capabilities, clientInfo: { name: 'e2e', version: '1' } },
  });
  const text = await opened.text();
  assert.equal(opened.status, 200, text);
  id = opened.headers.get('mcp-session-id') ?? '';
  assert.notEqual(id, '', text);
  const initialized = await send('POST', { method: 'notifications/initialized' });
  assert.equal(initialized.status, 202, await initialized.text());
  const request: RawSession['request'] = async (method, params = {}) => {
    const response = await send('POST', { id: ++lastId, method, params });
    return answerOf(await response.text());
  };
  return {
    id,
    send,
    request,
    call: (name, args = {}) => request('tools/call', { name, arguments: args }),
    async close() {
      const ended = await send('DELETE');
      assert.ok(ended.ok, await ended.text());
    },
  };
}

/** Waits until so many calls are with their servers: requests on connections of their own may overtake each other. */
export const callsUnderWay = (gateway: GatewayProcess, count: number): Promise<boolean> =>
  until(`${count} calls to be under way`, async () => {
    const { sessions } = (await gateway.configDump()).mcp as {
      sessions: { targets: { pending: number }[] }[];
    };
    const pending = sessions.flatMap(({ targets }) => targets.map((target) => target.pending));
    return pending.reduce((sum, each) => sum + each, 0) === count;
  });

/** The response in a JSON body or at the end of an event stream. */
export function answerOf(text: string): Message {
  const messages = text.startsWith('{')
    ? [text]
    : Array.from(text.matchAll(/^data: ?(\{.*)$/gm), ([, data]) => data ?? '');
  const answer = messages
    .map((one) => JSON.parse(one) as Message)
    .find((message) => message.method === undefined);
  if (answer === undefined) throw new Error(`no answer in: ${text}`);
  return answer;
}

/** Text of the content of a tool's result. */
export const resultText = ({ result }: Message): string =>
  ((result?.['content'] ?? []) as { text?: string }[]).map(({ text }) => text ?? '').join('\n');
