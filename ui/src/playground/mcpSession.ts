/** An MCP session of the page with a route of the gateway. Each message enters the data plane, with all policies. */

import { send } from '../api/playground.ts';
import type { GivenAnswer } from '../api/types.ts';

/** A message of the session, for people. */
export interface Entry {
  readonly id: number;
  readonly at: number;
  readonly direction: 'sent' | 'received';
  /** The method, or the status of the answer. */
  readonly title: string;
  readonly text: string;
}

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: InputSchema;
}

export interface InputSchema {
  readonly properties?: Readonly<Record<string, PropertySchema>>;
  readonly required?: readonly string[];
}

export interface PropertySchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
}

export interface Prompt {
  readonly name: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
}

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
}

/** A JSON-RPC message of the gateway. */
interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A JSON-RPC message of the page; a notification has no id. */
interface Outgoing {
  readonly jsonrpc: '2.0';
  readonly id?: number;
  readonly method: string;
  readonly params?: object;
}

/** A refusal or an error, by HTTP or by JSON-RPC. */
export class McpError extends Error {}

/** The revision that the page asks for. */
const revision = '2025-11-25';
/** Messages that the page keeps. */
const mostEntries = 200;
/** Pages of a list. */
const mostPages = 20;

export class McpSession {
  entries: readonly Entry[] = [];
  /** Called after each message. */
  onEntry: (() => void) | undefined;
  private readonly route: string;
  private readonly path: string;
  private readonly token: string;
  private session: string | undefined;
  private version: string | undefined;
  private lastId = 0;
  private lastEntry = 0;

  constructor(route: string, path: string, token: string) {
    this.route = route;
    this.path = path;
    this.token = token;
  }

  /** Opens the session. @throws McpError, ApiError */
  async open(): Promise<void> {
    const { protocolVersion } = (await this.request('initialize', {
      protocolVersion: revision,
      capabilities: {},
      clientInfo: { name: 'portcullis console', version: '1' },
    })) as { readonly protocolVersion?: string };
    this.version = protocolVersion ?? revision;
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  }

  /** Ends the session, so that its servers end, too. */
  async close(): Promise<void> {
    if (this.session === undefined) return;
    await send(this.route, { method: 'DELETE', path: this.path, headers: this.headers() });
  }

  /** Asks for all pages of a list; a server without the ability has none. */
  async list<T>(method: string, member: string): Promise<readonly T[]> {
    const found: T[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < mostPages; page += 1) {
      const result = (await this.request(method, cursor === undefined ? {} : { cursor })) as Readonly<
        Record<string, unknown>
      >;
      found.push(...((result[member] as readonly T[] | undefined) ?? []));
      const next = result['nextCursor'];
      if (typeof next !== 'string') break;
      cursor = next;
    }
    return found;
  }

  /**
   * Sends a request and waits for its answer.
   * @returns the result
   * @throws McpError for a refusal or an error; ApiError where the admin API refused
   */
  async request(method: string, params: object): Promise<unknown> {
    this.lastId += 1;
    const id = this.lastId;
    const answer = await this.post({ jsonrpc: '2.0', id, method, params });
    this.session = headerOf(answer, 'mcp-session-id') ?? this.session;
    const message = messagesOf(answer).find((each) => each.id === id);
    if (message?.error !== undefined) throw new McpError(`${message.error.code}: ${message.error.message}`);
    if (answer.status >= 400)
      throw new McpError(`The gateway answered ${answer.status}: ${answer.body.trim()}`);
    if (message === undefined) throw new McpError('The answer has no response to the request.');
    return message.result;
  }

  private async post(message: Outgoing): Promise<GivenAnswer> {
    this.note('sent', message.method, JSON.stringify(message, null, 2));
    const answer = await send(this.route, {
      method: 'POST',
      path: this.path,
      headers: {
        ...this.headers(),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(message),
    });
    this.note('received', `${answer.status} after ${Math.round(answer.ms)} ms`, answer.body);
    return answer;
  }

  private headers(): Readonly<Record<string, string>> {
    return {
      ...(this.token === '' ? {} : { authorization: `Bearer ${this.token}` }),
      ...(this.session === undefined ? {} : { 'mcp-session-id': this.session }),
      ...(this.version === undefined ? {} : { 'mcp-protocol-version': this.version }),
    };
  }

  private note(direction: Entry['direction'], title: string, text: string): void {
    this.lastEntry += 1;
    const entry = { id: this.lastEntry, at: Date.now(), direction, title, text };
    this.entries = [...this.entries.slice(1 - mostEntries), entry];
    this.onEntry?.();
  }
}

/** The value of a header; of several lines, the first one. */
const headerOf = ({ headers }: Pick<GivenAnswer, 'headers'>, name: string): string | undefined =>
  [headers[name]].flat()[0];

/** The messages of an answer: JSON, or the events of a stream that has ended. */
export function messagesOf(answer: Pick<GivenAnswer, 'headers' | 'body'>): readonly Message[] {
  const { body } = answer;
  const type = headerOf(answer, 'content-type') ?? '';
  if (type.startsWith('text/event-stream'))
    return body
      .split(/\r?\n\r?\n/)
      .map((event) =>
        event
          .split(/\r?\n/)
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice('data:'.length).trim())
          .join('\n'),
      )
      .filter((data) => data !== '')
      .map((data) => JSON.parse(data) as Message);
  return type.startsWith('application/json') && body !== '' ? [JSON.parse(body) as Message] : [];
}
