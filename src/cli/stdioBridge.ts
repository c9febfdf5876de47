import { LineSplitter } from '../http/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { EndpointAnswer, StdioEndpoint } from './stdioEndpoint.ts';
import { causeOf, failureOf, refusalOf } from './stdioFailures.ts';

/** The side of the client: its messages come line by line, and it gets one message a line. */
export interface StdioClient {
  /** @returns false where the client does not read: wait for `onDrain` */
  write(line: string): boolean;
  onDrain(listener: () => void): void;
  /** Reads no further lines for now. */
  pause(): void;
  resume(): void;
}

export interface StdioBridgeOptions {
  readonly endpoint: StdioEndpoint;
  readonly client: StdioClient;
  readonly log: Logger;
  readonly maxMessageBytes: number;
}

/** A message, as far as the bridge has to know it. */
interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly result?: { readonly protocolVersion?: unknown };
}

/** Requests under way at which no further lines are read. */
const maxUnderWay = 2_048;
/** The delay before the stream of the server's own messages is opened again, in milliseconds. */
const usualRetryMs = 1_000;
/** The delay where that fails. */
const failedRetryMs = 5_000;
/** Statuses after which the stream is not opened again. */
const final: ReadonlySet<number> = new Set([204, 400, 401, 403, 404, 405, 406]);

/** Carries the messages between a client on standard input and output, and an MCP endpoint over Streamable HTTP. */
export class StdioBridge {
  private readonly options: StdioBridgeOptions;
  private readonly lines: LineSplitter;
  private sessionId: string | undefined;
  private version: string | undefined;
  /** Lines that wait for the answer to initialize; undefined where none is under way. */
  private waiting: string[] | undefined;
  private listening: NodeJS.Timeout | 'open' | undefined;
  private isPaused = false;
  private isFull = false;
  private closed = false;
  private idle: (() => void) | undefined;
  private posts = 0;

  constructor(options: StdioBridgeOptions) {
    this.options = options;
    const { client, endpoint, maxMessageBytes, log } = options;
    this.lines = new LineSplitter(() => maxMessageBytes, {
      onLine: (text) => this.take(text),
      onTooLong: (_head, _tail, bytes) =>
        log.error('Message of the client skipped: longer than limits.maxMcpMessageBytes', { bytes }),
    });
    client.onDrain(() => {
      if (!this.isPaused) return;
      this.isPaused = false;
      endpoint.resume();
    });
  }

  /** Bytes of the client. */
  push(bytes: Buffer): void {
    this.lines.push(bytes);
  }

  /** Resolves when every message of the client is answered, and after that time at the latest. */
  async settled(ms: number): Promise<void> {
    if (this.posts === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.idle = resolve;
    await promise;
    clearTimeout(timer);
  }

  close(): void {
    this.closed = true;
    if (this.listening !== 'open') clearTimeout(this.listening);
    this.options.endpoint.close();
  }

  private take(line: string): void {
    if (line.trim() === '') return;
    if (this.waiting === undefined) this.send(line);
    else this.waiting.push(line);
  }

  private send(line: string): void {
    const message = parsed(line);
    const initializes = message?.method === 'initialize' && message.id !== undefined;
    if (initializes) {
      this.sessionId = undefined;
      this.version = undefined;
      this.waiting = [];
      this.flow();
    }
    let answered = false;
    this.posts++;
    this.options.endpoint.request('POST', this.headersOf('POST'), line, {
      onMessage: (text) => {
        if (isAnswer(text, message?.id)) {
          answered = true;
          if (initializes) this.version = versionIn(text);
        }
        this.write(text);
      },
      onEnd: (answer) => {
        if (initializes) this.begun(answer);
        else if (message?.method === 'notifications/initialized') this.listen(undefined);
        if (!answered) this.unanswered(message, answer);
        this.done();
      },
    });
    this.flow();
  }

  /** The initialize is answered, or has failed. */
  private begun({ headers }: EndpointAnswer): void {
    const id = headers['mcp-session-id'];
    this.sessionId = typeof id === 'string' ? id : undefined;
    const waiting = this.waiting ?? [];
    this.waiting = undefined;
    for (const line of waiting) this.take(line);
  }

  /** A message without a response: a receipt, or a failure that the client must hear of. */
  private unanswered(message: Message | undefined, answer: EndpointAnswer): void {
    const { status, text } = answer;
    // A call that the client cancelled ends without a response.
    if (status === 202 || status === 200 || this.closed) return;
    const isRequest = message?.method !== undefined && message.id !== undefined;
    // The gateway has written a response of its own, with the id of the request.
    if (isRequest && isAnswer(text, message.id)) this.write(refusalOf(text, status));
    else if (message === undefined) this.write(refusalOf(text, status));
    else if (isRequest) {
      this.options.log.warn('Request of the client refused', { status, reason: causeOf(answer) });
      this.write(failureOf(message.id, answer));
    } else this.options.log.warn('Message of the client refused', { status, text: text.slice(0, 300) });
  }

  /** Listens for what servers say on their own. @param lastId the last event that came */
  private listen(lastId: string | undefined): void {
    if (this.closed || this.listening === 'open' || this.sessionId === undefined) return;
    clearTimeout(this.listening);
    this.listening = 'open';
    const session = this.sessionId;
    const headers = this.headersOf('GET');
    if (lastId !== undefined) headers['last-event-id'] = lastId;
    this.options.endpoint.request('GET', headers, undefined, {
      onMessage: (text) => this.write(text),
      onEnd: ({ status, text, lastId: last = lastId, retryMs = usualRetryMs }) => {
        this.listening = undefined;
        if (this.closed || session !== this.sessionId) return;
        if (final.has(status)) {
          if (status >= 400)
            this.options.log.warn('Messages of servers outside of calls are lost', {
              status,
              text: text.slice(0, 300),
            });
          return;
        }
        const delay = status === 200 ? retryMs : failedRetryMs;
        this.listening = setTimeout(() => this.listen(last), delay);
      },
    });
  }

  private headersOf(method: 'POST' | 'GET'): Record<string, string> {
    return {
      accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...(this.sessionId === undefined ? {} : { 'mcp-session-id': this.sessionId }),
      ...(this.version === undefined ? {} : { 'mcp-protocol-version': this.version }),
    };
  }

  /** Writes a message as one line: in JSON text a line break can only be white space. */
  private write(text: string): void {
    if (this.closed || this.options.client.write(`${text.replaceAll(/[\r\n]+/g, ' ')}\n`)) return;
    if (this.isPaused) return;
    this.isPaused = true;
    this.options.endpoint.pause();
  }

  private done(): void {
    this.posts--;
    this.flow();
    if (this.posts === 0) this.idle?.();
  }

  /** Reads lines where there is room for them. */
  private flow(): void {
    const { client } = this.options;
    const isFull = this.waiting !== undefined || this.posts >= maxUnderWay;
    if (isFull === this.isFull) return;
    this.isFull = isFull;
    if (isFull) client.pause();
    else client.resume();
  }
}

function parsed(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Is the text a response to the request with this id? A text of the server may be large: it is parsed once. */
function isAnswer(text: string, id: unknown): boolean {
  if (id === undefined) return false;
  const message = parsed(text);
  return message !== undefined && message.method === undefined && message.id === id;
}

function versionIn(text: string): string | undefined {
  const version = parsed(text)?.result?.protocolVersion;
  return typeof version === 'string' ? version : undefined;
}
