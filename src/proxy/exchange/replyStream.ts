import type { GatewayError } from '../../errors.ts';
import type { HeaderLine, ReplyStream } from '../../http/index.ts';
import type { LiveExchange } from './liveExchange.ts';
import { localHead } from './reply.ts';
import { sendError } from './sendError.ts';

/** Begins an answer whose length is not known: chunked, or until close for HTTP/1.0 (RFC 9112 §6.3). */
export function openStream(
  exchange: LiveExchange,
  status: number,
  headers: readonly HeaderLine[],
): ReplyStream {
  if (exchange.started || exchange.closed) return new LocalStream(exchange, true, false);
  const chunked = !exchange.head.http10;
  if (!chunked) {
    exchange.keepAlive = false;
    exchange.connection.untilClose = true;
  }
  if (!exchange.begin(status)) return new LocalStream(exchange, true, false);
  const head = localHead(exchange, status, headers, chunked ? 'transfer-encoding: chunked\r\n' : '');
  exchange.responseBytes = head.length;
  exchange.connection.write(head);
  return new LocalStream(exchange, false, chunked);
}

class LocalStream implements ReplyStream {
  private readonly exchange: LiveExchange;
  private readonly chunked: boolean;
  private ended: boolean;

  constructor(exchange: LiveExchange, ended: boolean, chunked: boolean) {
    this.exchange = exchange;
    this.ended = ended;
    this.chunked = chunked;
  }

  get closed(): boolean {
    return this.ended || this.exchange.closed;
  }

  get pendingBytes(): number {
    return this.exchange.connection.socket.writableLength;
  }

  write(chunk: string | Buffer, release?: () => void): boolean {
    if (this.closed || chunk.length === 0 || this.exchange.method === 'HEAD') {
      release?.();
      return true;
    }
    const { connection } = this.exchange;
    const length = typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;
    this.exchange.responseBytes += length;
    if (!this.chunked)
      return writeBytes(connection, typeof chunk === 'string' ? Buffer.from(chunk) : chunk, release);
    const size = `${length.toString(16)}\r\n`;
    if (typeof chunk === 'string') return connection.writeText(`${size}${chunk}\r\n`);
    connection.socket.cork();
    connection.write(size);
    writeBytes(connection, chunk, release);
    const more = connection.write('\r\n');
    connection.socket.uncork();
    return more;
  }

  onDrain(listener: () => void): void {
    this.exchange.drained = listener;
  }

  end(): void {
    if (this.closed) return;
    this.ended = true;
    if (this.chunked && this.exchange.method !== 'HEAD') this.exchange.connection.write('0\r\n\r\n');
    this.exchange.finish();
  }

  destroy(error?: GatewayError): void {
    if (this.closed) return;
    this.ended = true;
    if (error === undefined) this.exchange.connection.destroy();
    else sendError(this.exchange, error);
  }
}

/** Only memory that somebody waits for needs a call when it is written. */
const writeBytes = (
  connection: LiveExchange['connection'],
  bytes: Buffer,
  release: (() => void) | undefined,
): boolean => (release === undefined ? connection.write(bytes) : connection.writeLent(bytes, release));
