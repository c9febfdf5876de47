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

/** Knows the requests of revision 2026-07-28, which need no session. */
export interface ModernRequests {
  /** @returns undefined for a message of an older revision */
  headersOf(line: string): Record<string, string> | undefined;
  /** Learns from a response to `tools/list`. */
  learn(response: string): void;
}

export interface StdioBridgeOptions {
  readonly endpoint: StdioEndpoint;
  readonly client: StdioClient;
  readonly requests: ModernRequests;
  readonly log: Logger;
  readonly maxMessageBytes: number;
}

/** A message, as far as the bridge has to know it. */
interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown };
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

const postHeaders = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
} as const;

/** Carries the messages between a client on standard input and output, and an MCP endpoint over Streamable HTTP. */
export class StdioBridge {
  private readonly options: StdioBridgeOptions;
  private readonly lines: LineSplitter;
  private sessionId: string | undefined;
  private version: string | undefined;
  /** Lines that wait for the answer to initialize; undefined where none is under way. */
  private waiting: string[] | undefined;
  /** Requests of revision 2026-07-28 that are under way, by their ids, with what closes their streams. */
  private readonly modern = new Map<unknown, () => void>();
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
    const headers = this.options.requests.headersOf(line);
    if (headers !== undefined && message !== undefined) {
      this.sendModern(line, message, headers);
      return;
    }
    if (message?.method === 'notifications/cancelled' && this.cancelModern(message)) return;
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

  /** A request of revision 2026-07-28: it needs no session, and closing its stream takes it back. */
  private sendModern(line: string, { id, method }: Message, headers: Record<string, string>): void {
    let isAnswered = false;
    const isOpenEnded = method === 'subscriptions/listen';
    if (!isOpenEnded) this.posts++;
    const cancel = this.options.endpoint.request('POST', { ...postHeaders, ...headers }, line, {
      onMessage: (text) => {
        isAnswered ||= isAnswer(text, id);
        if (method === 'tools/list') this.options.requests.learn(text);
        this.write(text);
      },
      onEnd: (answer) => {
        // Another request may have the id by now.
        const isCancelled = this.modern.get(id) !== cancel;
        if (!isCancelled) this.modern.delete(id);
        if (!isAnswered && !isCancelled) this.unanswered({ id, method }, answer);
        if (!isOpenEnded) this.done();
      },
    });
    this.modern.set(id, cancel);
    this.flow();
  }

  /** @returns false where no request of revision 2026-07-28 is meant */
  private cancelModern({ params }: Message): boolean {
    const cancel = this.modern.get(params?.requestId);
    if (cancel === undefined) return false;
    this.modern.delete(params?.requestId);
    cancel();
    return true;
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
      ...(method === 'GET' ? { accept: 'text/event-stream' } : postHeaders),
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
