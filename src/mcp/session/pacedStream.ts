import type { GatewayError } from '../../errors.ts';
import type { ReplyStream } from '../../http/index.ts';

/** Bytes waiting for a slow client at which its targets are no longer read: as much as the largest event that is kept. */
const usualHighWater = 1_048_576;

/** Told when a stream begins to hold back its session and when it no longer does. */
export interface PressureGauge {
  pressed(): void;
  eased(): void;
}

/** A stream to a client that may not read: it holds back the session, and is cut where the client takes nothing. */
export class PacedStream {
  private readonly stream: ReplyStream;
  private readonly gauge: PressureGauge;
  private readonly highWater: number;
  private full = false;
  /** Bytes pending at the tick before; 0 when the stream was not full then. */
  private pendingBefore = 0;

  constructor(stream: ReplyStream, gauge: PressureGauge, highWater = usualHighWater) {
    this.highWater = highWater;
    this.stream = stream;
    this.gauge = gauge;
    stream.onDrain(() => this.ease());
  }

  get closed(): boolean {
    return this.stream.closed;
  }

  get isFull(): boolean {
    return this.full;
  }

  /** @param release as in `ReplyStream` */
  write(chunk: string | Buffer, release?: () => void): void {
    if (this.stream.closed) {
      release?.();
      return;
    }
    const taken = this.stream.write(chunk, release);
    if (taken || this.full || this.stream.pendingBytes < this.highWater) return;
    this.full = true;
    this.pendingBefore = 0;
    this.gauge.pressed();
  }

  /** Every few seconds: cuts the stream when the client took nothing since the last call. */
  tick(): void {
    if (!this.full || this.stream.closed) return;
    const pending = this.stream.pendingBytes;
    if (pending < this.highWater) this.ease();
    else if (this.pendingBefore !== 0 && pending >= this.pendingBefore) this.destroy();
    else this.pendingBefore = pending;
  }

  end(): void {
    this.ease();
    if (!this.stream.closed) this.stream.end();
  }

  /**
   * Cuts the connection so that the client sees an incomplete answer.
   * @param error as in `ReplyStream`
   */
  destroy(error?: GatewayError): void {
    this.stream.destroy(error);
    this.ease();
  }

  /** The stream holds back nothing any more: the client has read, or has left. */
  ease(): void {
    if (!this.full) return;
    this.full = false;
    this.gauge.eased();
  }
}
