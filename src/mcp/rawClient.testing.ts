/** A client for tests that sends exactly what it is told and shows exactly what came back. */

export interface Message {
  readonly jsonrpc?: string;
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The message of a JSON answer. */
  readonly json: Message;
  /** The messages of an event stream. */
  readonly events: readonly Message[];
}

/** Reads an event stream message by message. */
export class Events {
  /** Every byte so far. */
  raw = '';
  /** Id of the last event that was read. */
  lastId = '';
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly decoder = new TextDecoder();
  private buffer = '';

  constructor(body: ReadableStream<Uint8Array>) {
    this.reader = body.getReader();
  }

  /** The next message, or undefined at the end of the stream. Comments are passed over. */
  async next(): Promise<Message | undefined> {
    for (;;) {
      const block = await this.nextBlock();
      if (block === undefined) return undefined;
      const data = block.split('\n').filter((line) => line.startsWith('data:'));
      if (data.some((line) => line.slice(5).trim() !== ''))
        return JSON.parse(data.map((line) => line.slice(5).trimStart()).join('\n')) as Message;
    }
  }

  /** The next event or comment as it was written, or undefined at the end of the stream. */
  async nextBlock(): Promise<string | undefined> {
    for (;;) {
      const end = this.buffer.indexOf('\n\n');
      if (end >= 0) {
        const block = this.buffer.slice(0, end);
        this.buffer = this.buffer.slice(end + 2);
        const id = block.split('\n').find((line) => line.startsWith('id:'));
        if (id !== undefined) this.lastId = id.slice(3).trim();
        return block;
      }
      const { done, value } = await this.reader.read();
      if (done) return undefined;
      const text = this.decoder.decode(value, { stream: true });
      this.raw += text;
      this.buffer += text;
    }
  }

  async rest(): Promise<Message[]> {
    const all: Message[] = [];
    for (let one = await this.next(); one !== undefined; one = await this.next()) all.push(one);
    return all;
  }

  async cancel(): Promise<void> {
    await this.reader.cancel();
  }
}

export type HeaderMap = Readonly<Record<string, string>>;

export class RawClient {
  sessionId: string | undefined;
  private readonly url: URL;
  private readonly extra: HeaderMap;
  /** The id of the last request that had none of its own. */
  lastId = 0;

  constructor(url: URL, headers: HeaderMap = {}) {
    this.url = url;
    this.extra = headers;
  }

  headers(extra: HeaderMap = {}): Record<string, string> {
    return {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(this.sessionId === undefined ? {} : { 'mcp-session-id': this.sessionId }),
      ...this.extra,
      ...extra,
    };
  }

  fetch(body: string | object, extra: HeaderMap = {}, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: this.headers(extra),
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  async post(body: string | object, extra: HeaderMap = {}): Promise<Answered> {
    const response = await this.fetch(body, extra);
    const text = await response.text();
    const type = response.headers.get('content-type') ?? '';
    const events = type.startsWith('text/event-stream')
      ? await new Events(new Blob([text]).stream()).rest()
      : [];
    const json = (type.startsWith('application/json') ? JSON.parse(text) : {}) as Message;
    return { status: response.status, headers: response.headers, text, json, events };
  }

  /** A POST whose answer is read as a stream while it goes on. */
  async stream(body: string | object, extra: HeaderMap = {}, signal?: AbortSignal): Promise<Events> {
    const response = await this.fetch(body, extra, signal);
    return new Events(response.body!);
  }

  async get(extra: HeaderMap = {}, signal?: AbortSignal): Promise<Events> {
    const response = await fetch(this.url, {
      headers: this.headers({ accept: 'text/event-stream', ...extra }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.status !== 200) throw new Error(`GET answered ${response.status}`);
    return new Events(response.body!);
  }

  async delete(): Promise<number> {
    const response = await fetch(this.url, { method: 'DELETE', headers: this.headers() });
    await response.text();
    return response.status;
  }

  request(method: string, params?: object, id: string | number = ++this.lastId): object {
    return { jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) };
  }

  tool(name: string, args: object = {}, rest: object = {}): object {
    return this.request('tools/call', { name, arguments: args, ...rest });
  }

  /** Calls a tool and answers the text of its result. */
  async call(name: string, args: object = {}): Promise<string> {
    const answer = await this.post(this.tool(name, args));
    const message = answer.events.at(-1) ?? answer.json;
    if (message.result === undefined) throw new Error(message.error?.message ?? answer.text);
    return (message.result['content'] as { text: string }[])[0]!.text;
  }

  /** Opens a session and says so; answers the result of initialize. */
  async initialize(
    protocolVersion = '2025-11-25',
    capabilities: object = { sampling: {}, elicitation: {}, roots: {} },
  ): Promise<Answered> {
    const params = { protocolVersion, capabilities, clientInfo: { name: 'raw', version: '1' } };
    const answer = await this.post(this.request('initialize', params));
    this.sessionId = answer.headers.get('mcp-session-id') ?? undefined;
    if (this.sessionId !== undefined)
      await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer;
  }
}
