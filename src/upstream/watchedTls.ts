import { connect as connectPlain, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { tlsSettings, type Address } from './open.ts';
import type { TlsOptions } from './tls.ts';

/** A connection under TLS that tells how it ended. */
export interface WatchedTls {
  readonly socket: TLSSocket;
  /** The connection of TCP below. */
  readonly below: Socket;
  /** Once `socket` has ended: TLS said so itself (by a close_notify), not only the connection below. */
  readonly inOrder: boolean;
}

/**
 * The platform does not tell an end of TLS from a mere end of TCP, which anybody on the way can forge. So here the
 * records of TLS go through our hands: that costs a copy and a few calls, and is for connections where it matters.
 * @param session as for `openTls`
 */
export function openWatchedTls(
  { host, port }: Address,
  tls: TlsOptions,
  session: Buffer | undefined,
): WatchedTls {
  const below = connectPlain({ host, port, noDelay: true });
  const records = new Records(below);
  const socket = connectTls({ socket: records, ...tlsSettings(tls, session) });
  below.once('connect', () => socket.emit('connect'));
  socket.once('close', () => records.destroy());
  // The end of TLS is told in the middle of the record that says it, that of TCP only behind all records.
  const push = socket.push.bind(socket);
  let inOrder = false;
  socket.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null) inOrder = !records.over;
    return push(chunk, encoding);
  };
  return {
    socket,
    below,
    get inOrder() {
      return inOrder;
    },
  };
}

/** The records of TLS, as they come and go. */
class Records extends Duplex {
  /** All were read, and the connection below has ended. */
  over = false;
  private readonly below: Socket;

  constructor(below: Socket) {
    super({ allowHalfOpen: true });
    this.below = below;
    // Heard before TLS hears it.
    this.on('end', () => (this.over = true));
    below.on('data', (bytes) => {
      if (!this.push(bytes)) below.pause();
    });
    below.on('end', () => void this.push(null));
    below.on('error', (error) => void this.destroy(error));
    below.on('close', () => this.close());
  }

  override _read(): void {
    this.below.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.below.write(bytes, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.below.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.below.destroy();
    done(error);
  }

  /** The connection below is gone. What is still to be read is read first. */
  private close(): void {
    if (this.readableEnded || !this.below.readableEnded) this.destroy();
    else this.once('end', () => this.destroy());
  }
}
