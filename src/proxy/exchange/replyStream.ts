import type { HeaderLine, ReplyStream } from '../../http/index.ts';
import type { LiveExchange } from './liveExchange.ts';
import { localHead } from './reply.ts';

/** Begins an answer whose length is not known: chunked, or until close for HTTP/1.0 (RFC 9112 §6.3). */
export function openStream(x: LiveExchange, status: number, headers: readonly HeaderLine[]): ReplyStream {
  if (x.started || x.closed) return new LocalStream(x, true, false);
  const chunked = !x.head.http10;
  if (!chunked) {
    x.keepAlive = false;
    x.connection.untilClose = true;
  }
  if (!x.begin(status)) return new LocalStream(x, true, false);
  const head = localHead(x, status, headers, chunked ? 'transfer-encoding: chunked\r\n' : '');
  x.responseBytes = head.length;
  x.connection.write(head);
  return new LocalStream(x, false, chunked);
}

class LocalStream implements ReplyStream {
  private readonly x: LiveExchange;
  private readonly chunked: boolean;
  private ended: boolean;

  constructor(x: LiveExchange, ended: boolean, chunked: boolean) {
    this.x = x;
    this.ended = ended;
    this.chunked = chunked;
  }

  get closed(): boolean {
    return this.ended || this.x.closed;
  }

  get pendingBytes(): number {
    return this.x.connection.socket.writableLength;
  }

  write(chunk: string | Buffer): boolean {
    if (this.closed || chunk.length === 0 || this.x.method === 'HEAD') return true;
    const { connection } = this.x;
    const length = typeof chunk === 'string' ? Buffer.byteLength(chunk) : chunk.length;
    this.x.responseBytes += length;
    if (!this.chunked) return connection.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    const size = `${length.toString(16)}\r\n`;
    if (typeof chunk === 'string') return connection.writeText(`${size}${chunk}\r\n`);
    connection.socket.cork();
    connection.write(size);
    connection.write(chunk);
    const more = connection.write('\r\n');
    connection.socket.uncork();
    return more;
  }

  onDrain(listener: () => void): void {
    this.x.drained = listener;
  }

  end(): void {
    if (this.closed) return;
    this.ended = true;
    if (this.chunked && this.x.method !== 'HEAD') this.x.connection.write('0\r\n\r\n');
    this.x.finish();
  }

  destroy(): void {
    if (this.closed) return;
    this.ended = true;
    this.x.connection.destroy();
  }
}
