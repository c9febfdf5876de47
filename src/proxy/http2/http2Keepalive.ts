import type { ServerConnection } from '../../http/index.ts';
import type { Limits } from '../../model/index.ts';

/** The payload of a PING that asks a client whether it is still there. */
export const KEEPALIVE = 1;

/** Looks from time to time whether a client of HTTP/2 is still there, takes what is written, and goes on. */
export class Http2Keepalive {
  /** Bytes handed to the socket. */
  bytesWritten = 0;
  private readonly limits: () => Limits;
  /** The bytes that were out at the last look that saw progress, and its time. */
  private out = 0;
  private outAt = Date.now();
  /** Since when a head is under way. */
  private headSince = Date.now();
  /** When the last PING was sent, and whether its answer is still to come. */
  private pingedAt = Date.now();
  private pinging = false;

  constructor(limits: () => Limits) {
    this.limits = limits;
  }

  /** The PING was answered. */
  answered(): void {
    this.pinging = false;
  }

  /**
   * @param unsent bytes that were handed to the socket and are not out
   * @returns why the connection is to end
   */
  check(now: number, codec: ServerConnection, unsent: number): 'keepalive' | 'stuck' | undefined {
    const { bodyTimeoutMs, headTimeoutMs } = this.limits();
    const out = this.bytesWritten - unsent;
    if (out !== this.out || unsent === 0) {
      this.out = out;
      this.outAt = now;
    }
    if (!codec.inHead) this.headSince = now;
    if (now - this.outAt >= bodyTimeoutMs || now - this.headSince >= headTimeoutMs) return 'stuck';
    return this.isDead(now, codec) ? 'keepalive' : undefined;
  }

  /** Asks a client whether it is still there: a connection that was cut says nothing by itself. */
  private isDead(now: number, codec: ServerConnection): boolean {
    const { keepaliveIntervalMs, keepaliveTimeoutMs } = this.limits().http2;
    if (keepaliveIntervalMs === 0) return false;
    if (this.pinging) return now - this.pingedAt >= keepaliveTimeoutMs;
    if (now - this.pingedAt >= keepaliveIntervalMs) {
      this.pingedAt = now;
      this.pinging = true;
      codec.ping(KEEPALIVE);
    }
    return false;
  }
}
