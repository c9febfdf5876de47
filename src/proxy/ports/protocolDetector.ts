import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { HANDSHAKE, readClientHello, readProxyHeader, type Networks } from '../../http/index.ts';
import type { Limits, ProxyProtocol } from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { TlsDetails } from '../connections/tlsDetails.ts';
import type { ProxyHeaderResult } from '../stats/rawStats.ts';
import { bareAnswer } from '../exchange/reply.ts';
import type { HostTable } from '../routing/router.ts';
import type { Handshaking, ServerIdentity } from './serverIdentity.ts';
import type { DetectedTcp } from '../streams/tcpConnection.ts';
import { peerOf, type ReportedEnds } from '../connections/reportedEnds.ts';

/** A listener of connections under TLS. */
export interface SecureListener {
  readonly name: string;
  /** The identity to show; absent if the handshake is passed on to a backend. */
  readonly identity: ServerIdentity | undefined;
  /** Under TLS there is HTTP; otherwise the connection is one of a TCP route. */
  readonly http: boolean;
}

/** The ways in which a port tells what a new connection is. Ports of plain HTTP alone need none. */
export interface Detection {
  /** Connections begin by saying whom they are from. */
  readonly proxy: ProxyProtocol | undefined;
  /** The listener that takes every connection, unseen. */
  readonly tcp: string | undefined;
  /** By the server name that the client asks for; absent where no TLS is spoken. */
  readonly secure: HostTable<SecureListener> | undefined;
  /** Plain HTTP is spoken on this port, too. */
  readonly plain: boolean;
}

/** The result of detecting a connection under TLS, for the metrics. */
export type DetectionResult = 'ok' | 'passed' | 'failed' | 'timeout' | 'no_listener' | 'no_route' | 'not_tls';

/** The functions of its port that a detector needs. */
export interface DetectorPort {
  /** The key of the bind. */
  readonly key: string;
  readonly log: Logger;
  readonly limits: Limits;
  readonly trustedProxies: Networks | undefined;
  /** Records the result for the PROXY header of a connection. @param problem where it was refused */
  proxyHeader(result: ProxyHeaderResult, problem?: string): void;
  /**
   * May a connection for this server name come in to a listener that passes bytes?
   * @param handshake it would begin with a handshake of ours
   */
  routesTcp(listener: string, serverName: string | undefined, handshake: boolean): boolean;
  /** The detector is done with a connection; the caller says where the connection goes. */
  detected(detector: ProtocolDetector, entry: DetectionResult | undefined): void;
  /** Serves a connection whose bytes are HTTP. */
  admit(socket: Socket, tls: TlsDetails | undefined, reported: ReportedEnds | undefined): void;
  /** Passes the bytes of a connection on, and those of a backend back. */
  admitTcp(listener: string, tls: DetectedTcp): void;
  /** Records that a connection has left. */
  connectionClosed(): void;
}

/** A method and a space, as far as they have come. */
const plainHttp = /^(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|TRACE|CONNECT|PRI) /;

/**
 * Detects what a new connection is. A proxy in front first names the client (PROXY protocol). Then the first bytes select
 * the listener: the gateway negotiates TLS with the listener's certificate, or passes the bytes to a backend as they came.
 * The gateway answers nothing before that, so bytes and time are bounded here.
 */
export class ProtocolDetector implements Handshaking {
  /** When `expire` is due, by `Date.now()`. */
  readonly deadline: number;
  /** The start of the idle time: the connection has not been served yet. */
  readonly idleSince = Date.now();
  private readonly port: DetectorPort;
  private readonly socket: Socket;
  private readonly detection: Detection;
  private read: Buffer | undefined;
  private listener: SecureListener | undefined;
  private serverName: string | undefined;
  private reported: ReportedEnds | undefined;
  /** The PROXY header is yet to come. */
  private awaitsProxyHeader: boolean;
  private over = false;

  constructor(port: DetectorPort, socket: Socket, detection: Detection) {
    this.port = port;
    this.socket = socket;
    this.detection = detection;
    this.awaitsProxyHeader = detection.proxy !== undefined;
    this.deadline = this.idleSince + port.limits.handshakeTimeoutMs;
    socket.on('data', this.onData);
    socket.on('error', this.onGone);
    socket.on('end', this.onGone);
    socket.on('close', this.onGone);
  }

  get remoteAddress(): string {
    return this.reported?.address ?? peerOf(this.socket);
  }

  /** Time is up. */
  expire(): void {
    if (this.awaitsProxyHeader) this.refuseProxyHeader('timeout', 'it did not come in time');
    else
      this.leave(this.detection.secure === undefined ? undefined : 'timeout', 'the handshake took too long');
  }

  destroy(reason = ''): void {
    this.leave(undefined, reason);
  }

  // Handshaking

  established(socket: TLSSocket, terms: string): void {
    const { listener } = this;
    if (this.over || listener === undefined) {
      socket.destroy();
      return;
    }
    this.over = true;
    this.port.detected(this, 'ok');
    const { reported, serverName, socket: raw } = this;
    const { name } = listener;
    if (listener.http)
      this.port.admit(socket, { raw, secure: socket, listener: name, terms, serverName }, reported);
    else this.port.admitTcp(name, { socket, raw, serverName, protocol: 'TLS', reported });
  }

  failed(reason: string): void {
    this.leave('failed', reason);
  }

  private readonly onData = (bytes: Buffer): void => {
    this.read = this.read === undefined ? bytes : Buffer.concat([this.read, bytes]);
    if (this.awaitsProxyHeader && !this.takeProxyHeader(this.read)) return;
    const { secure, tcp } = this.detection;
    if (tcp !== undefined) this.passOn(tcp, 'TCP', undefined);
    else if (secure === undefined) this.plain(this.read);
    else if (this.read.length > 0) this.readHello(this.read, secure);
  };

  /** @returns true when the rest of what was read is of the connection itself */
  private takeProxyHeader(read: Buffer): boolean {
    const { proxy } = this.detection;
    if (proxy === undefined) return true;
    const header = readProxyHeader(read, proxy.version);
    if (header === 'incomplete') return false;
    if (header !== 'none' && this.port.trustedProxies?.has(peerOf(this.socket)) === false) {
      this.refuseProxyHeader('refused', 'its sender is not in config.trustedProxies');
      return false;
    }
    if (header === 'none' && proxy.mode === 'strict') {
      this.refuseProxyHeader('refused', 'there is none');
      return false;
    }
    if (header !== 'none' && 'problem' in header) {
      this.refuseProxyHeader('refused', header.problem);
      return false;
    }
    this.awaitsProxyHeader = false;
    if (header === 'none') {
      this.port.proxyHeader('absent');
      return true;
    }
    this.read = read.subarray(header.length);
    this.port.proxyHeader(header.ends === undefined ? 'local' : 'told');
    if (header.ends !== undefined) {
      const peer = { address: peerOf(this.socket), port: this.socket.remotePort ?? 0 };
      this.reported = { ...header.ends, peer };
    }
    return true;
  }

  private readHello(read: Buffer, secure: HostTable<SecureListener>): void {
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
    const { serverName } = hello;
    const listener = secure.find(serverName ?? '');
    if (listener === undefined) {
      this.leave(
        'no_listener',
        serverName === undefined ? 'no server name was asked for' : `no listener for ${serverName}`,
      );
      return;
    }
    if (!listener.http && !this.port.routesTcp(listener.name, serverName, listener.identity !== undefined)) {
      this.leave('no_route', `no route of ${listener.name} for ${serverName ?? 'no server name'}`);
      return;
    }
    this.listener = listener;
    this.serverName = serverName;
    if (listener.identity === undefined) {
      this.passOn(listener.name, 'TLS', serverName);
      return;
    }
    this.handBack(read);
    listener.identity.accept(this.socket, this);
  }

  /** The bytes are for a backend, from the first one on. */
  private passOn(listener: string, protocol: 'TLS' | 'TCP', serverName: string | undefined): void {
    const { read, socket, reported } = this;
    this.over = true;
    if (read !== undefined) this.handBack(read);
    this.port.detected(this, protocol === 'TLS' ? 'passed' : undefined);
    this.port.admitTcp(listener, { socket, raw: undefined, serverName, protocol, reported });
  }

  private readonly onGone = (): void => {
    if (this.awaitsProxyHeader) this.leave(undefined, 'the client left');
    else this.leave(this.detection.secure === undefined ? undefined : 'failed', 'the client left');
  };

  /** No TLS: for the plain listeners where there are any, otherwise told so as far as it will understand. */
  private plain(read: Buffer): void {
    if (this.detection.plain || this.detection.secure === undefined) {
      this.over = true;
      this.handBack(read);
      this.port.detected(this, undefined);
      this.port.admit(this.socket, undefined, this.reported);
      this.socket.resume();
      return;
    }
    if (plainHttp.test(read.toString('latin1', 0, 10))) {
      this.socket.end(bareAnswer('tls_required'), 'latin1');
      this.forget();
      // Bytes that still arrive would turn the answer into a reset; the client has a moment to take it.
      this.socket.on('error', () => this.socket.destroy());
      this.socket.on('end', () => this.socket.destroy());
      const moment = setTimeout(() => this.socket.destroy(), 1_000).unref();
      this.socket.once('close', () => clearTimeout(moment));
      this.socket.resume();
      this.over = true;
      this.port.detected(this, 'not_tls');
      this.port.connectionClosed();
      return;
    }
    this.leave('not_tls', 'no TLS');
  }

  /** The next reader finds the connection as it came. */
  private handBack(read: Buffer): void {
    this.forget();
    this.socket.pause();
    if (read.length > 0) this.socket.unshift(read);
  }

  private forget(): void {
    this.socket.off('data', this.onData);
    this.socket.off('end', this.onGone);
    this.socket.off('close', this.onGone);
    this.socket.off('error', this.onGone);
    this.read = undefined;
  }

  /** Without a header, or with a broken one, nobody knows whom the connection is from. */
  private refuseProxyHeader(result: 'refused' | 'timeout', problem: string): void {
    if (this.over) return;
    this.port.proxyHeader(result, `${peerOf(this.socket)}: ${problem}`);
    this.leave(undefined, `PROXY header: ${problem}`);
  }

  private leave(entry: DetectionResult | undefined, reason: string): void {
    if (this.over) return;
    this.over = true;
    this.forget();
    this.socket.on('error', () => undefined);
    this.socket.destroy();
    if (reason !== '')
      this.port.log.debug('Connection refused before its first request', {
        bind: this.port.key,
        client: this.reported?.address ?? peerOf(this.socket),
        reason,
      });
    this.port.detected(this, entry);
    this.port.connectionClosed();
  }
}
