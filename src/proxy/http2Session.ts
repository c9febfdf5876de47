import { constants, performServerHandshake, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { ClientCertificate, HeadLimits } from '../http/index.ts';
import { clientCertificateOf, type Arrival } from './arrival.ts';
import { Http2Front, type FrontOwner } from './http2Front.ts';
import { Http2Stream } from './http2Stream.ts';
import type { Port } from './port.ts';
import { RelayLines } from './relayLines.ts';
import { peerOf, type ToldEnds } from './toldEnds.ts';

/** Frames that ask for work and bring no request, such as PING: so many at once, and so many a second. */
const NUISANCE_BURST = 200;
const NUISANCE_RATE = 50;

/** Bytes of frames that brought nothing, in the time between two looks. */
const WASTE_MOST = 131_072;

/** A connection of HTTP/2 (RFC 9113): its streams, and the limits that hold for all of them together. */
export class Http2Session implements FrontOwner {
  readonly port: Port;
  readonly socket: Socket;
  readonly arrival: Arrival | undefined;
  readonly told: ToldEnds | undefined;
  readonly remoteAddress: string;
  readonly remotePort: number | undefined;
  readonly forwardedFor: string;
  /** What a head may be. */
  readonly headLimits: HeadLimits;
  draining = false;
  private readonly session: ServerHttp2Session;
  private readonly streams = new Set<Http2Stream>();
  private certificate: { readonly found: ClientCertificate | undefined } | undefined;
  private readonly openedAt = Date.now();
  /** Requests begun. */
  private served = 0;
  private idleSince = Date.now();
  private nuisance = 0;
  private nuisanceAt = Date.now();
  /** Bytes of heads and bodies since the last look, and all bytes read and written up to it. */
  private used = 0;
  private readBefore: number;
  private writtenBefore: number;
  private gone = false;
  private relayLines: RelayLines | undefined;
  /** About to end for what the client does. */
  private calmed = false;
  /** When the last PING of ours was sent, and whether its answer is still to come. */
  private pingedAt = Date.now();
  pinging = false;

  constructor(port: Port, socket: Socket, arrival: Arrival | undefined, told: ToldEnds | undefined) {
    this.port = port;
    this.socket = socket;
    this.arrival = arrival;
    this.told = told;
    this.remoteAddress = told?.address ?? peerOf(socket);
    this.remotePort = socket.remotePort;
    this.forwardedFor = `${this.remoteAddress}\r\n`;
    this.readBefore = socket.bytesRead;
    this.writtenBefore = socket.bytesWritten;
    // The codec ends the connection when the client does.
    socket.allowHalfOpen = false;
    const { limits } = port;
    const { http2 } = limits;
    this.headLimits = { ...limits, maxHeadBytes: http2.maxHeadBytes ?? limits.maxHeadBytes };
    const session = performServerHandshake(
      http2.strictFrames === true ? new Http2Front(socket, this) : socket,
      {
        settings: {
          maxConcurrentStreams: http2.maxStreams,
          initialWindowSize: http2.streamWindow,
          maxFrameSize: http2.frameSize,
          maxHeaderListSize: this.headLimits.maxHeadBytes,
          enablePush: false,
          enableConnectProtocol: true,
        },
        maxHeaderListPairs: limits.maxHeaders + 5,
        maxSessionMemory: 16,
        maxSettings: 16,
        maxSessionInvalidFrames: 100,
        maxSessionRejectedStreams: 100,
        peerMaxConcurrentStreams: http2.maxStreams,
      },
    );
    this.session = session;
    session.setLocalWindowSize(http2.connectionWindow);
    session.on('stream', (stream, _headers, flags, raw) => {
      if (this.calmed) {
        stream.on('error', () => undefined);
        return;
      }
      const bodyless = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      const last = this.port.lastRequest(++this.served);
      if (last !== undefined && !this.draining) {
        this.port.ended(last);
        this.drain();
      }
      const fields = raw ?? [];
      const side = new Http2Stream(this, stream, fields[fields.indexOf(':method') + 1] === 'HEAD');
      this.streams.add(side);
      side.serve(fields, bodyless);
    });
    session.on('ping', () => this.annoyed());
    session.on('remoteSettings', () => this.annoyed());
    session.on('error', (error: NodeJS.ErrnoException) => {
      this.port.log.debug('connection of HTTP/2 ended', {
        client: this.remoteAddress,
        reason: error.code ?? error.message,
      });
    });
    session.on('close', () => this.closed());
    socket.on('close', () => this.closed());
  }

  get lines(): RelayLines {
    return (this.relayLines ??= new RelayLines());
  }

  get clientCertificate(): ClientCertificate | undefined {
    if (this.arrival === undefined) return undefined;
    return (this.certificate ??= { found: clientCertificateOf(this.arrival) }).found;
  }

  /** Bytes that brought a request further. */
  useful(bytes: number): void {
    this.used += bytes;
  }

  /** A stream is over; `code` says how, where the client ended it. */
  ended(stream: Http2Stream, code: number | undefined): void {
    this.streams.delete(stream);
    if (this.streams.size === 0) this.idleSince = Date.now();
    // Streams opened only to be taken back are work without an answer (CVE-2023-44487).
    if (code !== undefined && code !== constants.NGHTTP2_NO_ERROR) this.annoyed();
  }

  /** The look from time to time: slow streams, an idle connection, frames that bring nothing. */
  sweep(now: number): void {
    if (this.calmed) {
      this.destroy();
      return;
    }
    for (const stream of this.streams) stream.look(now);
    this.keepAlive(now);
    if (this.streams.size === 0 && now - this.idleSince > this.port.limits.idleTimeoutMs) this.drain();
    const { maxConnectionAgeMs } = this.port.limits;
    if (maxConnectionAgeMs !== 0 && !this.draining && now - this.openedAt >= maxConnectionAgeMs) {
      this.port.ended('age');
      this.drain();
    }
    const { bytesRead, bytesWritten } = this.socket;
    // A client that reads much says so in many small frames.
    const allowed = WASTE_MOST + this.used * 2 + (bytesWritten - this.writtenBefore) / 10;
    const read = bytesRead - this.readBefore;
    this.readBefore = bytesRead;
    this.writtenBefore = bytesWritten;
    this.used = 0;
    if (read > allowed) this.calm('frames that bring nothing');
  }

  /** Asks a client whether it is still there: a connection that was cut says nothing by itself. */
  private keepAlive(now: number): void {
    const { keepaliveIntervalMs, keepaliveTimeoutMs } = this.port.limits.http2;
    if (keepaliveIntervalMs === 0 || this.gone) return;
    if (this.pinging) {
      if (now - this.pingedAt < keepaliveTimeoutMs) return;
      this.port.ended('keepalive');
      this.destroy();
    } else if (now - this.pingedAt >= keepaliveIntervalMs && !this.session.destroyed) {
      this.pingedAt = now;
      this.pinging = this.session.ping((error) => {
        if (error === null) this.pinging = false;
      });
    }
  }

  /** Takes no further requests (GOAWAY) and ends when those under way have. */
  drain(): void {
    this.draining = true;
    if (!this.session.closed && !this.session.destroyed) this.session.close();
  }

  destroy(): void {
    for (const stream of this.streams) stream.destroy();
    this.session.destroy();
    this.socket.destroy();
    this.closed();
  }

  private annoyed(): void {
    const now = Date.now();
    this.nuisance = Math.max(0, this.nuisance - ((now - this.nuisanceAt) / 1_000) * NUISANCE_RATE) + 1;
    this.nuisanceAt = now;
    if (this.nuisance > NUISANCE_BURST) this.calm('too many frames that ask for nothing');
  }

  malformed(code: number): void {
    if (this.gone || this.calmed) return;
    this.calmed = true;
    this.port.log.debug('connection of HTTP/2 ended', {
      client: this.remoteAddress,
      reason: `frames out of order (${code})`,
    });
    // Not within a call of the codec. The next look ends the connection: until then the code gets out.
    setImmediate(() => {
      if (!this.session.destroyed) this.session.goaway(code);
    });
  }

  private calm(reason: string): void {
    if (this.gone || this.calmed) return;
    this.calmed = true;
    this.port.ended('flood');
    this.port.log.warn('connection of HTTP/2 ended', { client: this.remoteAddress, reason });
    // Not at once: this may be within a call of the codec, which does not survive that what it reads for is gone.
    setImmediate(() => {
      this.session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      // What the client has not read is not waited for.
      this.socket.destroySoon();
      this.destroy();
    });
  }

  private closed(): void {
    if (this.gone) return;
    this.gone = true;
    for (const stream of this.streams) stream.destroy();
    this.relayLines?.close();
    this.port.closed(this);
  }
}
