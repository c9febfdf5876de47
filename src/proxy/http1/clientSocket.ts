import type { Socket } from 'node:net';
import type { ErrorCode } from '../../errors.ts';
import { stackOf } from '../../errorText.ts';
import type { ClientCertificate, HeadPool } from '../../http/index.ts';
import type { Limits } from '../../model/index.ts';
import { clientCertificateOf, type TlsDetails } from '../connections/tlsDetails.ts';
import type { ExchangePort } from '../exchange/liveExchange.ts';
import { Deadline, PHASE } from '../connections/deadline.ts';
import type { OpenConnection } from '../connections/openConnection.ts';
import { RelayLines } from '../connections/relayLines.ts';
import type { EndReason } from '../stats/stats.ts';
import { peerOf, type ReportedEnds } from '../connections/reportedEnds.ts';

/** The functions of its port that the connection of a client needs. */
export interface ConnectionPort extends ExchangePort {
  readonly heads: HeadPool;
  /** The reason why a connection gets no further request after its `served`th one. */
  lastRequest(served: number): EndReason | undefined;
  /** Memory more, or less, of answers waits for clients to take them. */
  unread(bytes: number): void;
  /** The gateway ends a connection. */
  ended(reason: EndReason): void;
  /** Bytes that are no request were answered with an error; `status` is 0 where a stream was reset instead. */
  refused(
    connection: { readonly remoteAddress: string },
    code: ErrorCode,
    reason: string,
    status?: number,
  ): void;
  tunnelOpened(): void;
  tunnelClosed(): void;
  /** A connection turned out to be one of HTTP/2, which takes its place. */
  admitHttp2(
    connection: OpenConnection & { readonly reported: ReportedEnds | undefined },
    socket: Socket,
  ): void;
  closed(connection: OpenConnection): void;
}

/**
 * The time that a connection may be silent before its first request: a peer that connects and says nothing is
 * soon gone.
 */
export const firstRequestMs = ({ firstRequestTimeoutMs, idleTimeoutMs }: Limits): number =>
  Math.min(firstRequestTimeoutMs, idleTimeoutMs);

/** A refused or answered-early request: how much of it is read so that the client sees the answer, and how long. */
export const LINGER_BYTES = 262_144;
export const LINGER_MS = 2_000;

/**
 * The socket of a client: who it is, what was written and whether it was taken, and the ways in which it ends. What
 * its bytes mean is left to `ClientConnection`.
 */
export abstract class ClientSocket {
  readonly port: ConnectionPort;
  readonly socket: Socket;
  /** Absent where the connection is plain TCP. */
  readonly tls: TlsDetails | undefined;
  readonly reported: ReportedEnds | undefined;
  readonly remoteAddress: string;
  /** The end of an X-Forwarded-For line for this client. */
  readonly forwardedFor: string;
  /** The end of the connection is the end of the present answer: cutting it short takes a reset. */
  untilClose = false;
  protected readonly deadline: Deadline;
  /** The client has not yet taken what was written. */
  protected full = false;
  protected gone = false;
  /** Bytes the client had not taken when that was last looked at. */
  private unflushed = 0;
  /** Bytes read that belong to no request any more. */
  private lingered = 0;
  private readonly reader: (bytes: Buffer) => void;
  private relayLines: RelayLines | undefined;
  private certificate: { readonly found: ClientCertificate | undefined } | undefined;

  constructor(
    port: ConnectionPort,
    socket: Socket,
    tls: TlsDetails | undefined,
    reported: ReportedEnds | undefined,
  ) {
    this.port = port;
    this.socket = socket;
    this.tls = tls;
    this.reported = reported;
    this.remoteAddress = reported?.address ?? peerOf(socket);
    this.forwardedFor = `${this.remoteAddress}\r\n`;
    this.deadline = new Deadline(firstRequestMs(port.limits));
    // An error that is thrown in here ends this connection, not the process.
    this.reader = (bytes: Buffer) => {
      try {
        if (!this.deadline.closing) this.onData(bytes);
        else if (this.lingers(bytes.length)) this.destroy();
      } catch (error) {
        this.broken(error);
      }
    };
    socket.on('data', this.reader);
    socket.on('drain', () => {
      try {
        this.onDrain();
      } catch (error) {
        this.broken(error);
      }
    });
    // A client that hangs up does not wait for its answer (Envoy and nginx see it the same way).
    socket.on('end', () => this.onEnd());
    socket.on('error', () => this.clientLeft());
    socket.on('close', () => this.clientLeft());
  }

  abstract get idleSince(): number | undefined;
  /** Runs at every tick of the coarse clock. */
  abstract sweep(now: number): void;
  /** Asks for the end, after what is under way. */
  abstract drain(): void;
  /** Records why the work under way ends. */
  protected abstract noteReason(reason: string): void;
  /** Tells whether work is under way that the end would cut short. */
  protected abstract get busy(): boolean;
  protected abstract onData(bytes: Buffer): void;
  protected abstract onDrain(): void;
  /** The client keeps its end open and is silent, or has hung up. */
  protected abstract onEnd(): void;
  /** Drops all work under way and all unread bytes. */
  protected abstract forget(): void;
  /** The client ends the connection. */
  protected abstract clientLeft(): void;
  /** The connection is gone, and whoever works for it has to know. */
  protected abstract lost(): void;

  /** The certificate that the client showed in the handshake, verified; read on demand. */
  get clientCertificate(): ClientCertificate | undefined {
    if (this.tls === undefined) return undefined;
    return (this.certificate ??= { found: clientCertificateOf(this.tls) }).found;
  }

  get lines(): RelayLines {
    return (this.relayLines ??= new RelayLines());
  }

  /** @returns false when the client reads slower than we write */
  write(data: string | Buffer): boolean {
    const { socket } = this;
    return (typeof data === 'string' ? socket.write(data, 'latin1') : socket.write(data)) || this.isDrained();
  }

  /** The same for text outside latin1. */
  writeText(text: string): boolean {
    return this.socket.write(text, 'utf8') || this.isDrained();
  }

  /** The same for bytes that belong to somebody else, who gets them back when they are written. */
  writeLent(bytes: Buffer, release: () => void): boolean {
    return this.socket.write(bytes, release) || this.isDrained();
  }

  /** The stream says false of every large write, also where the system has taken all of it at once. */
  private isDrained(): boolean {
    if (this.socket.writableLength === 0) return true;
    this.full = true;
    this.deadline.expect(PHASE.stalled, this.port.limits.bodyTimeoutMs);
    return false;
  }

  /** @param reason why the gateway cuts a tunnel, for the log */
  destroy(reason?: string): void {
    if (this.gone) return;
    this.gone = true;
    if (reason !== undefined) this.noteReason(reason);
    if (this.untilClose && (this.busy || this.socket.writableLength > 0)) this.reset();
    else this.socket.destroy();
    this.lost();
    this.relayLines?.close();
    this.port.closed(this);
  }

  /** The client sees that what it got is not all. */
  private reset(): void {
    const { tls, socket } = this;
    // The platform resets TCP only; under TLS the connection below is reset.
    if (this.port.inner) socket.destroy();
    else if (tls?.secure === undefined) socket.resetAndDestroy();
    else {
      tls.raw.resetAndDestroy();
      socket.destroy();
    }
  }

  /** A defect of ours: it ends this connection and nothing else. */
  broken(error: unknown): void {
    this.port.log.error('internal error', { stack: stackOf(error) });
    this.destroy();
  }

  /** Ends our side and reads on for a moment: a reset would take the answer from the client (RFC 9112 §9.6). */
  protected closeGracefully(): void {
    if (this.gone || this.deadline.closing) return;
    this.forget();
    this.flush();
    this.socket.end(() => this.deadline.extend(LINGER_MS));
    this.socket.resume();
  }

  /** Time is up while our side ends. Slow is not dead: as long as the client takes something, it gets the rest. */
  protected expireClosing(): void {
    const { writableLength } = this.socket;
    if (writableLength > 0 && writableLength < this.unflushed) this.flush();
    else this.destroy();
  }

  /** Delivers the written bytes to the client. */
  private flush(): void {
    this.unflushed = this.socket.writableLength;
    this.deadline.phase = PHASE.closing;
    this.deadline.extend(this.port.limits.bodyTimeoutMs);
  }

  /** So many bytes more were read that belong to no request. @returns true where that is too much */
  protected lingers(bytes: number): boolean {
    this.lingered += bytes;
    return this.lingered > LINGER_BYTES;
  }

  protected lingerEnds(): void {
    this.lingered = 0;
  }

  /** Leaves the socket to somebody else, who finds it with these bytes unread. */
  protected release(bytes: Buffer): Socket {
    const { socket } = this;
    this.gone = true;
    socket.off('data', this.reader);
    socket.pause();
    socket.unshift(bytes);
    return socket;
  }
}
