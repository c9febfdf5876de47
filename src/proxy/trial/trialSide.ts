import type { ClientSide, ExchangePort } from '../exchange/liveExchange.ts';
import type { ReportedTls } from '../connections/tlsDetails.ts';
import { RelayLines } from '../connections/relayLines.ts';

const nothing = (): never => {
  throw new Error('a request that is explained has no connection');
};

/** The client's side of a request that is explained: there is no connection, and nothing is written. */
export class TrialSide implements ClientSide {
  readonly port: ExchangePort;
  readonly socket = {
    cork: nothing,
    uncork: nothing,
    writableLength: 0,
    remotePort: 0,
    localAddress: '127.0.0.1',
    localPort: 0,
  };
  readonly tls: ReportedTls | undefined;
  readonly reported = undefined;
  readonly http2 = false;
  readonly remoteAddress: string;
  readonly clientCertificate = undefined;
  readonly forwardedFor: string;
  readonly lines = new RelayLines();
  readonly draining = false;
  untilClose = false;
  readonly write = nothing;
  readonly writeText = nothing;
  readonly writeLent = nothing;
  readonly consume = nothing;
  readonly tunnelTo = nothing;

  constructor(port: ExchangePort, remoteAddress: string, tls: ReportedTls | undefined) {
    this.port = port;
    this.remoteAddress = remoteAddress;
    this.forwardedFor = remoteAddress;
    this.tls = tls;
  }

  pauseBody(): void {}

  resumeBody(): void {}

  answered(): void {}

  restIsTooMuch(): boolean {
    return false;
  }

  destroy(): void {}

  broken(error: unknown): void {
    this.port.log.error('Request could not be explained', { problem: String(error) });
  }
}
