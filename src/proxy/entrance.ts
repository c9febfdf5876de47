import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { catalogue } from '../errors.ts';
import { HANDSHAKE, httpDate, readClientHello, statusLine } from '../http/index.ts';
import type { Port } from './port.ts';
import type { HostTable } from './router.ts';
import type { Handshaking, ServerIdentity } from './serverIdentity.ts';

/** A listener that speaks TLS. */
export interface SecureListener {
  readonly name: string;
  readonly identity: ServerIdentity;
}

/** What a port does with a connection before it is one of HTTP; ports of plain HTTP alone have none. */
export interface Door {
  /** By the server name that the client asks for. */
  readonly secure: HostTable<SecureListener>;
  /** Plain HTTP is spoken on this port, too. */
  readonly plain: boolean;
}

/** How the way in ended, for the metrics. */
export type Entry = 'ok' | 'failed' | 'timeout' | 'no_listener' | 'not_tls';

/** A method and a space, as far as they have come. */
const plainHttp = /^(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT|PRI) /;

/**
 * A connection on its way in: its first bytes say which listener it is for, then TLS is negotiated with that
 * listener's certificate. Nothing is answered before that, so everything here is bounded in bytes and time.
 */
export class Entrance implements Handshaking {
  /** When `expire` is due, by `Date.now()`. */
  readonly deadline: number;
  private readonly port: Port;
  private readonly socket: Socket;
  private readonly door: Door;
  private read: Buffer | undefined;
  private listener: SecureListener | undefined;
  private over = false;

  constructor(port: Port, socket: Socket, door: Door) {
    this.port = port;
    this.socket = socket;
    this.door = door;
    this.deadline = Date.now() + port.limits.handshakeTimeoutMs;
    socket.on('data', this.onData);
    socket.on('error', this.onGone);
    socket.on('end', this.onGone);
    socket.on('close', this.onGone);
  }

  /** Time is up. */
  expire(): void {
    this.leave('timeout', 'the handshake took too long');
  }

  destroy(): void {
    this.leave(undefined, '');
  }

  // Handshaking

  established(socket: TLSSocket): void {
    const { listener } = this;
    if (this.over || listener === undefined) {
      socket.destroy();
      return;
    }
    this.over = true;
    this.port.entered(this, 'ok');
    this.port.admit(socket, { raw: this.socket, secure: socket, listener: listener.name }, undefined);
  }

  failed(reason: string): void {
    this.leave('failed', reason);
  }

  private readonly onData = (bytes: Buffer): void => {
    this.read = this.read === undefined ? bytes : Buffer.concat([this.read, bytes]);
    const { read } = this;
    if (read[0] !== HANDSHAKE) {
      this.plain(read);
      return;
    }
    const hello = readClientHello(read);
    if (hello === 'incomplete') return;
    if (hello === undefined) {
      this.leave('failed', 'no sound ClientHello');
      return;
    }
    const { serverName = '' } = hello;
    const listener = this.door.secure.find(serverName);
    if (listener === undefined) {
      this.leave(
        'no_listener',
        serverName === '' ? 'no server name was asked for' : `no listener for ${serverName}`,
      );
      return;
    }
    this.listener = listener;
    this.handBack(read);
    listener.identity.accept(this.socket, this);
  };

  private readonly onGone = (): void => this.leave('failed', 'the client left');

  /** No TLS: for the plain listeners where there are any, otherwise told so as far as it will understand. */
  private plain(read: Buffer): void {
    if (this.door.plain) {
      this.over = true;
      this.handBack(read);
      this.port.entered(this, undefined);
      this.port.admit(this.socket, undefined, undefined);
      this.socket.resume();
      return;
    }
    if (plainHttp.test(read.toString('latin1', 0, 10))) {
      const { status, message } = catalogue.tls_required;
      this.socket.end(
        `${statusLine(status)}content-type: text/plain; charset=utf-8\r\ncontent-length: ${message.length + 1}\r\n` +
          `date: ${httpDate(Date.now())}\r\nconnection: close\r\n\r\n${message}\n`,
        'latin1',
      );
      this.forget();
      // What is still coming in would turn the answer into a reset; the client has a moment to take it.
      this.socket.on('error', () => this.socket.destroy());
      this.socket.on('end', () => this.socket.destroy());
      this.socket.setTimeout(1_000, () => this.socket.destroy());
      this.socket.resume();
      this.over = true;
      this.port.entered(this, 'not_tls');
      this.port.departed();
      return;
    }
    this.leave('not_tls', 'no TLS');
  }

  /** The next reader finds the connection as it came. */
  private handBack(read: Buffer): void {
    this.forget();
    this.socket.pause();
    this.socket.unshift(read);
  }

  private forget(): void {
    this.socket.off('data', this.onData);
    this.socket.off('end', this.onGone);
    this.socket.off('close', this.onGone);
    this.socket.off('error', this.onGone);
    this.read = undefined;
  }

  private leave(entry: Entry | undefined, reason: string): void {
    if (this.over) return;
    this.over = true;
    this.forget();
    this.socket.on('error', () => undefined);
    this.socket.destroy();
    if (reason !== '')
      this.port.log.debug('connection refused before its first request', {
        bind: this.port.key,
        client: this.socket.remoteAddress ?? '',
        reason,
      });
    this.port.entered(this, entry);
    this.port.departed();
  }
}
