/** An MCP session of the page with a route of the gateway. Each message enters the data plane, with all policies. */

import { send, sendStreamed, type Head } from '../api/playground.ts';
import { MessageReader } from './messageReader.ts';
import { McpError, type InputSchema, type Message, type Outgoing, type Tool } from './mcpTypes.ts';
import { askable, Questions, Refused, refusedCode, type Asked, type Question } from './questions.ts';
import { capabilities, clientInfo, repeatedHeaders, withMeta, type Revision } from './revisions.ts';

/** A message of the session, for people. */
export interface Entry {
  readonly id: number;
  readonly at: number;
  readonly direction: 'sent' | 'received';
  /** The method, or the status of the answer. */
  readonly title: string;
  readonly text: string;
}

/** The state of a session, for the page. */
export interface SessionState {
  readonly entries: readonly Entry[];
  readonly questions: readonly Question[];
}

/** Messages that the page keeps. */
const mostEntries = 200;
/** Pages of a list. */
const mostPages = 20;
/** Rounds of questions and answers of one call (2026-07-28, "Multi Round-Trip Requests"). */
const mostRounds = 16;
/** A person may think about a question for this long. */
const timeoutMs = 600_000;
/** Pause before the stream of the server is opened again. */
const reopenMs = 1_000;

export interface SessionOptions {
  /** Id of the route. */
  readonly route: string;
  readonly path: string;
  /** The header with the credential of the caller. */
  readonly credential: Readonly<Record<string, string>>;
  /** Further headers of each request; none that the session writes itself. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly revision: Revision;
  /** Called after each message, and when a question comes or goes. */
  readonly onChange: (state: SessionState) => void;
  /** Called when the server has other tools, prompts or resources. */
  readonly onItems: () => void;
}

export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Hears of the progress of a request, and may cancel it. */
export interface Watch {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

interface Answered {
  readonly head: Head;
  readonly messages: readonly Message[];
  /** The text of an answer without messages. */
  readonly text: string;
}

export class McpSession {
  private readonly options: SessionOptions;
  private readonly closed = new AbortController();
  private readonly questions = new Questions(() => this.changed());
  /** Questions of the server that it may withdraw, by its ids. */
  private readonly asked = new Map<unknown, AbortController>();
  /** Requests whose progress somebody sees, by their id. */
  private readonly watched = new Map<number, Watch>();
  private readonly schemas = new Map<string, InputSchema>();
  private entries: readonly Entry[] = [];
  private session: string | undefined;
  private version: string;
  private lastId = 0;
  private lastEntry = 0;

  constructor(options: SessionOptions) {
    this.options = options;
    this.version = options.revision;
  }

  /** Opens the session. @throws McpError, ApiError */
  async open(): Promise<void> {
    if (this.isModern) {
      await this.exchange('server/discover', {});
      return;
    }
    const { protocolVersion } = await this.exchange('initialize', {
      protocolVersion: this.options.revision,
      capabilities,
      clientInfo,
    });
    if (typeof protocolVersion === 'string') this.version = protocolVersion;
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    void this.listen();
  }

  /** Ends the session, so that its servers end, too. */
  async close(): Promise<void> {
    this.closed.abort();
    this.questions.withdraw();
    if (this.session === undefined) return;
    const { route, path } = this.options;
    await send(route, { method: 'DELETE', path, headers: this.headers() });
  }

  /**
   * Asks for all pages of a list; a server without the ability has none.
   * @param read gives undefined for an entry that is no item
   */
  async list<T>(
    method: string,
    member: string,
    read: (entry: unknown) => T | undefined,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < mostPages; page += 1) {
      const result = await this.request(method, cursor === undefined ? {} : { cursor });
      const entries: unknown = result[member];
      if (Array.isArray(entries)) found.push(...entries.flatMap((entry: unknown) => read(entry) ?? []));
      const next = result['nextCursor'];
      if (typeof next !== 'string') break;
      cursor = next;
    }
    if (method === 'tools/list')
      for (const { name, inputSchema } of found as readonly Tool[]) this.schemas.set(name, inputSchema);
    return found;
  }

  /**
   * Sends a request and waits for its result. A person answers the questions that the server asks meanwhile.
   * @throws McpError for a refusal or an error; Refused where the person refuses; ApiError where the admin API refused
   */
  async request(method: string, params: object, watch?: Watch): Promise<Readonly<Record<string, unknown>>> {
    let answers: object = {};
    for (let round = 0; round < mostRounds; round += 1) {
      const result = await this.exchange(method, { ...params, ...answers }, watch);
      if (result['resultType'] !== 'input_required') return result;
      answers = {
        inputResponses: await this.answersTo(result['inputRequests']),
        ...('requestState' in result && { requestState: result['requestState'] }),
      };
    }
    throw new McpError(`The server asked more than ${mostRounds} rounds of questions.`);
  }

  private get isModern(): boolean {
    return this.options.revision === '2026-07-28';
  }

  /** Sends a request once. */
  private async exchange(
    method: string,
    params: object,
    watch?: Watch,
  ): Promise<Readonly<Record<string, unknown>>> {
    this.lastId += 1;
    const id = this.lastId;
    const asked = watch === undefined ? params : { ...params, _meta: { progressToken: id } };
    if (watch !== undefined) this.watched.set(id, watch);
    const cancel = (): void => void this.cancel(id);
    watch?.signal.addEventListener('abort', cancel);
    try {
      const message = {
        jsonrpc: '2.0',
        id,
        method,
        params: this.isModern ? withMeta(asked) : asked,
      } as const;
      return this.resultIn(await this.post(message, watch?.signal), id);
    } catch (error) {
      if (watch?.signal.aborted === true) throw new McpError('You cancelled the request.');
      throw error;
    } finally {
      watch?.signal.removeEventListener('abort', cancel);
      this.watched.delete(id);
    }
  }

  /** Tells the server that nobody waits any more (2025-11-25); the end of the request says so in 2026-07-28. */
  private async cancel(requestId: number): Promise<void> {
    this.questions.withdraw();
    if (this.isModern) return;
    const params = { requestId, reason: 'the user cancelled the request' };
    await this.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch(() => undefined);
  }

  private resultIn({ head, messages, text }: Answered, id: number): Readonly<Record<string, unknown>> {
    this.session = headerOf(head, 'mcp-session-id') ?? this.session;
    const message = messages.find((each) => each.id === id && each.method === undefined);
    if (message?.error !== undefined) throw new McpError(`${message.error.code}: ${message.error.message}`);
    if (head.status >= 400)
      throw new McpError(`The gateway answered ${head.status}: ${text.trim()}`, head.status);
    if (message === undefined) throw new McpError('The answer has no response to the request.');
    return message.result ?? {};
  }

  /** Asks the person all questions of a round. */
  private async answersTo(requests: unknown): Promise<object> {
    const asked = Object.entries(Object(requests) as Readonly<Record<string, Partial<Asked>>>);
    const answers = await Promise.all(
      asked.map(async ([key, { method = '', params = {} }]) => {
        if (!askable.has(method))
          throw new McpError(`The server asks for ${method}, which the page cannot do.`);
        return [key, await this.questions.ask({ method, params })] as const;
      }),
    );
    return Object.fromEntries(answers);
  }

  private async post(message: Outgoing, signal?: AbortSignal): Promise<Answered> {
    const { route, path } = this.options;
    this.note('sent', message.method ?? 'response', JSON.stringify(message, null, 2));
    const request = {
      method: 'POST',
      path,
      headers: {
        ...this.headers(),
        ...(this.isModern && repeatedHeaders(message, this.schemaOf(message))),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(message),
      timeoutMs,
    };
    return await this.receive(route, request, signal);
  }

  /** Follows the messages that the server sends on its own (2025-11-25). Never rejects. */
  private async listen(): Promise<void> {
    const { route, path } = this.options;
    const headers = { ...this.headers(), accept: 'text/event-stream' };
    while (!this.closed.signal.aborted)
      try {
        const { head } = await this.receive(
          route,
          { method: 'GET', path, headers, timeoutMs },
          this.closed.signal,
        );
        // The server has no such stream, or the session has ended.
        if (head.status >= 400) return;
        await new Promise((resolve) => setTimeout(resolve, reopenMs));
      } catch {
        return;
      }
  }

  private async receive(
    route: string,
    request: Parameters<typeof send>[1],
    signal?: AbortSignal,
  ): Promise<Answered> {
    const messages: Message[] = [];
    let reader: MessageReader | undefined;
    const head = await sendStreamed(route, request, {
      ...(signal && { signal }),
      onHead: (first) => {
        reader = new MessageReader(headerOf(first, 'content-type') ?? '', (message) => {
          messages.push(message);
          this.hear(message);
        });
      },
      onText: (text) => reader?.read(text),
    });
    reader?.end();
    const text = reader?.text ?? '';
    if (messages.length === 0) this.note('received', `status ${head.status}`, text);
    return { head, messages, text };
  }

  private hear(message: Message): void {
    const { id, method, params = {}, error } = message;
    const title = method ?? (error === undefined ? 'response' : `error ${error.code}`);
    this.note('received', title, JSON.stringify(message, null, 2));
    if (method === undefined) return;
    if (id !== undefined) void this.answer(id, { method, params });
    else if (method === 'notifications/progress') this.progressed(params);
    else if (method === 'notifications/cancelled') this.asked.get(params['requestId'])?.abort();
    else if (method.endsWith('/list_changed')) this.options.onItems();
  }

  private progressed({ progressToken, progress, total, message }: Readonly<Record<string, unknown>>): void {
    if (typeof progressToken !== 'number' || typeof progress !== 'number') return;
    this.watched.get(progressToken)?.onProgress({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message }),
    });
  }

  /** Answers a request of the server (2025-11-25). Never rejects. */
  private async answer(id: unknown, request: Asked): Promise<void> {
    const withdrawn = new AbortController();
    this.asked.set(id, withdrawn);
    try {
      const response = await this.responseTo(request, withdrawn.signal);
      if (!withdrawn.signal.aborted && !this.closed.signal.aborted)
        await this.post({ jsonrpc: '2.0', id, ...response });
    } catch (error) {
      this.note('received', 'answer not taken', String(error));
    } finally {
      this.asked.delete(id);
    }
  }

  private async responseTo(request: Asked, withdrawn: AbortSignal): Promise<Partial<Outgoing>> {
    if (request.method === 'ping') return { result: {} };
    if (!askable.has(request.method))
      return { error: { code: -32601, message: `the console does not know ${request.method}` } };
    try {
      return { result: await this.questions.ask(request, withdrawn) };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return { error: { code: refusedCode, message: 'the user refused' } };
    }
  }

  private schemaOf({ params }: Outgoing): InputSchema | undefined {
    const { name } = Object(params) as { readonly name?: unknown };
    return typeof name === 'string' ? this.schemas.get(name) : undefined;
  }

  private headers(): Readonly<Record<string, string>> {
    return {
      ...this.options.headers,
      ...this.options.credential,
      ...(this.session === undefined ? {} : { 'mcp-session-id': this.session }),
      // Requests before the answer to `initialize` name no revision.
      ...(this.isModern || this.session !== undefined ? { 'mcp-protocol-version': this.version } : {}),
    };
  }

  private note(direction: Entry['direction'], title: string, text: string): void {
    this.lastEntry += 1;
    const entry = { id: this.lastEntry, at: Date.now(), direction, title, text };
    this.entries = [...this.entries.slice(1 - mostEntries), entry];
    this.changed();
  }

  private changed(): void {
    this.options.onChange({ entries: this.entries, questions: this.questions.list });
  }
}

/** The value of a header; of several lines, the first one. */
const headerOf = ({ headers }: Pick<Head, 'headers'>, name: string): string | undefined =>
  [headers[name]].flat()[0];
