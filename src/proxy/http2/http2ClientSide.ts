import type { ClientCertificate, ServerStream } from '../../http/index.ts';
import type { TlsDetails } from '../connections/tlsDetails.ts';
import type { ClientSide } from '../exchange/liveExchange.ts';
import type { ConnectionPort } from '../http1/clientSocket.ts';
import type { RelayLines } from '../connections/relayLines.ts';
import type { ReportedEnds } from '../connections/reportedEnds.ts';

/** The connection of a stream, as its exchange sees it. */
export interface StreamConnection extends Pick<
  ClientSide,
  'tls' | 'reported' | 'remoteAddress' | 'forwardedFor' | 'clientCertificate' | 'lines' | 'draining'
> {
  readonly port: ConnectionPort;
  readonly socket: Pick<ClientSide['socket'], 'remotePort' | 'localAddress' | 'localPort'>;
}

/** The connection's state that an HTTP/2 stream answers for, and the functions of a socket. */
export abstract class Http2ClientSide {
  readonly http2 = true;
  readonly port: ConnectionPort;
  readonly tls: TlsDetails | undefined;
  readonly reported: ReportedEnds | undefined;
  readonly remoteAddress: string;
  readonly forwardedFor: string;
  untilClose = false;
  protected abstract readonly session: StreamConnection;
  protected readonly stream: ServerStream;

  constructor(session: StreamConnection, stream: ServerStream) {
    this.port = session.port;
    this.tls = session.tls;
    this.reported = session.reported;
    this.remoteAddress = session.remoteAddress;
    this.forwardedFor = session.forwardedFor;
    this.stream = stream;
  }

  get socket(): ClientSide['socket'] {
    return this;
  }

  get writableLength(): number {
    return this.stream.pending;
  }

  get remotePort(): number | undefined {
    return this.session.socket.remotePort;
  }

  get localAddress(): string | undefined {
    return this.session.socket.localAddress;
  }

  get localPort(): number | undefined {
    return this.session.socket.localPort;
  }

  /** All that is written in one turn goes out together anyway. */
  cork(): void {}

  uncork(): void {}

  get clientCertificate(): ClientCertificate | undefined {
    return this.session.clientCertificate;
  }

  get lines(): RelayLines {
    return this.session.lines;
  }

  get draining(): boolean {
    return this.session.draining;
  }
}
