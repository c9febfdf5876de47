import type { Body, Head } from '../../http/index.ts';
import type { Destination, UpstreamConnection, ExchangeHandler } from '../../upstream/index.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { requestHead } from './forward.ts';
import type { RouteStats } from '../stats/stats.ts';

/** From the beginning of a copy to the end of its answer. */
const LIMIT_MS = 15_000;

/** Bytes of one copy that may wait for a mirror; whoever is slower gets no further copy of this request. */
const PENDING_MOST = 1_048_576;

/** Copies under way to one mirror: one that hangs must not use up our sockets. */
const UNDER_WAY_MOST = 256;

/** The destination of copies of requests. */
export class Mirror {
  private readonly destination: Destination;
  private underWay = 0;

  constructor(destination: Destination) {
    this.destination = destination;
  }

  /** Begins a copy of the request; undefined where the mirror has enough to do. */
  begin(exchange: LiveExchange, stats: RouteStats): MirroredRequest | undefined {
    if (this.underWay >= UNDER_WAY_MOST) {
      stats.mirrorsFailed++;
      return undefined;
    }
    const upstream = this.destination.take();
    if (upstream === undefined) {
      stats.mirrorsFailed++;
      return undefined;
    }
    this.underWay++;
    return new MirroredRequest(exchange, this.destination, upstream, (delivered) => {
      this.underWay--;
      if (delivered) stats.mirrored++;
      else stats.mirrorsFailed++;
    });
  }
}

/**
 * A copy of a request. Nothing that happens to it touches the exchange: its answer is read and thrown away, its
 * slowness is not waited for, its failure is only counted.
 */
export class MirroredRequest implements ExchangeHandler {
  private readonly upstream: UpstreamConnection;
  private readonly timer: NodeJS.Timeout;
  private readonly ended: (delivered: boolean) => void;
  private complete = false;
  private over = false;

  constructor(
    exchange: LiveExchange,
    destination: Destination,
    upstream: UpstreamConnection,
    ended: (delivered: boolean) => void,
  ) {
    this.ended = ended;
    this.timer = setTimeout(() => this.giveUp(), LIMIT_MS);
    this.timer.unref();
    this.upstream = upstream;
    this.upstream.begin(this, exchange.method === 'HEAD', false);
    this.upstream.write(requestHead(exchange, destination, undefined));
    if (!exchange.hasBody) this.sent();
    // A client that leaves, or is answered early, leaves a copy that cannot be completed.
    else exchange.onClose(() => this.giveUpUnlessComplete());
  }

  /** The next part of the request body, framing included. */
  take(bytes: Buffer, from: number, to: number, done: boolean): void {
    if (this.over) return;
    this.upstream.write(bytes.subarray(from, to));
    if (this.upstream.socket.writableLength > PENDING_MOST) this.giveUp();
    else if (done) this.sent();
  }

  onInformational(): void {
    // The mirror has no client to tell.
  }

  onSwitch(): void {
    this.giveUp();
  }

  onAnswer(_head: Head, _bytes: Buffer, _from: number, _to: number, body: Body): boolean {
    if (body.done) this.end(true);
    return true;
  }

  onBody(_bytes: Buffer, _from: number, _to: number, done: boolean): boolean {
    if (done) this.end(true);
    return true;
  }

  onFailure(): void {
    this.end(false);
  }

  onWritable(): void {
    // The client is never paused for a mirror.
  }

  private sent(): void {
    this.complete = true;
    this.upstream.sent();
  }

  private giveUpUnlessComplete(): void {
    if (!this.complete) this.giveUp();
  }

  private giveUp(): void {
    if (this.over) return;
    this.end(false);
    this.upstream.abandon();
  }

  private end(delivered: boolean): void {
    if (this.over) return;
    this.over = true;
    clearTimeout(this.timer);
    this.ended(delivered);
  }
}
