import { connect, type Socket } from 'node:net';

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * A keep-alive HTTP/1.1 connection, one request at a time, written by hand: the load generator shares its core
 * with the servers, and `fetch` would cost several times as much as the measured work.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #received = '';
  #waiting: { resolve(answer: HttpAnswer): void; reject(error: Error): void } | undefined;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('utf8');
    this.#socket.on('data', (chunk: string) => this.#read(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('connection closed')));
  }

  /** @param message head and body as they go out */
  send(message: string): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(message);
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    this.#received += chunk;
    const answer = parseAnswer(this.#received);
    if (answer === undefined) return;
    this.#received = '';
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(answer);
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

/** The whole answer, or undefined while a part of it is missing. All bodies here are ASCII, so characters are bytes. */
function parseAnswer(text: string): HttpAnswer | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const status = Number(statusLine.split(' ')[1]);
  const rest = text.slice(end + 4);
  if (headers.get('transfer-encoding')?.toLowerCase() === 'chunked') {
    const body = readChunks(rest);
    return body === undefined ? undefined : { status, headers, body };
  }
  const length = status === 204 ? 0 : Number(headers.get('content-length') ?? 0);
  return rest.length < length ? undefined : { status, headers, body: rest.slice(0, length) };
}

function readChunks(text: string): string | undefined {
  let body = '';
  let at = 0;
  for (;;) {
    const line = text.indexOf('\r\n', at);
    if (line < 0) return undefined;
    const size = Number.parseInt(text.slice(at, line), 16);
    at = line + 2;
    if (text.length < at + size + 2) return undefined;
    if (size === 0) return body;
    body += text.slice(at, at + size);
    at += size + 2;
  }
}
