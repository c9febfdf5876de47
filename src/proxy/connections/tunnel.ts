import { GatewayError, type ErrorCode } from '../../errors.ts';
import type { Limits } from '../../model/index.ts';
import type { TunnelHandler, UpstreamConnection } from '../../upstream/index.ts';
import { givePage, takePage } from './pages.ts';

/** Pieces up to this size are cheaper to copy as text than to hand over as buffers. */
const SMALL = 2_048;

/** From this size on a piece is worth a buffer of its own. */
const BULK = 16_384;

/** The functions of a socket that a tunnel needs. */
export interface TunnelEnd {
  /** @returns false when no more is taken for now */
  write(text: string, encoding: 'latin1'): boolean;
  write(bytes: Buffer, release?: () => void): boolean;
  pause(): unknown;
  resume(): unknown;
  end(): unknown;
}

/** The owner of the connection that became the client's side of a tunnel. */
export interface TunnelClient {
  readonly socket: TunnelEnd;
  /** Bytes moved: the tunnel is not idle. */
  touch(): void;
  /** The backend's side broke. */
  cut(error: GatewayError): void;
}

/**
 * Bytes in both directions, as they come. Each side is paused while the other cannot take more, and each side ends
 * for itself: who has sent everything may still read.
 */
export class Tunnel implements TunnelHandler {
  /** Bytes from the client. */
  up = 0;
  /** Bytes to the client. */
  down = 0;
  private readonly client: TunnelClient;
  private readonly upstream: UpstreamConnection;
  private readonly lingerMs: number;
  private clientEnded = false;
  private backendEnded = false;

  /** @param lingerMs how long what is left may take to go out when both sides have ended */
  constructor(client: TunnelClient, upstream: UpstreamConnection, lingerMs: number) {
    this.client = client;
    this.upstream = upstream;
    this.lingerMs = lingerMs;
    upstream.tunnel(this);
  }

  /** Both sides have said all they had to say; some of it may still be on its way. */
  get over(): boolean {
    return this.clientEnded && this.backendEnded;
  }

  // The client's side

  fromClient(bytes: Buffer): void {
    this.up += bytes.length;
    this.client.touch();
    if (!this.upstream.write(bytes)) this.client.socket.pause();
  }

  /**
   * The time without a byte after which the tunnel ends, in milliseconds. Who has ended his side is not heard any
   * more: he may wait for the rest, or be gone.
   */
  patience({ tunnelIdleTimeoutMs, tunnelHalfClosedTimeoutMs }: Limits): number {
    return this.clientEnded || this.backendEnded
      ? Math.min(tunnelIdleTimeoutMs, tunnelHalfClosedTimeoutMs)
      : tunnelIdleTimeoutMs;
  }

  endOfClient(): void {
    if (this.clientEnded) return;
    this.clientEnded = true;
    this.client.touch();
    this.upstream.socket.end();
    this.settle();
  }

  /** The client takes bytes again. */
  drained(): void {
    this.client.touch();
    this.upstream.resume();
  }

  /** The client is gone: a backend that has not been told so by an orderly end is told by a reset. */
  close(): void {
    if (!this.clientEnded || !this.backendEnded) this.upstream.reset();
  }

  // TunnelHandler: the backend's side

  onBytes(bytes: Buffer, from: number, to: number): boolean {
    const { socket } = this.client;
    const length = to - from;
    this.down += length;
    this.client.touch();
    if (length === 0) return true;
    if (length <= SMALL) return socket.write(bytes.toString('latin1', from, to), 'latin1');
    const part = bytes.subarray(from, to);
    if (length < BULK) return socket.write(Buffer.from(part));
    const release = this.upstream.lend(bytes);
    if (release !== undefined) return socket.write(part, release);
    const page = takePage(length);
    if (page === undefined) return socket.write(Buffer.from(part));
    part.copy(page);
    return socket.write(page.subarray(0, length), () => givePage(page));
  }

  onEnd(): void {
    this.backendEnded = true;
    this.client.touch();
    this.client.socket.end();
    this.settle();
  }

  onWritable(): void {
    this.client.touch();
    this.client.socket.resume();
  }

  onFailure(code: ErrorCode, detail: string): void {
    this.client.cut(new GatewayError(code, { detail: `${this.upstream.endpoint.name}: ${detail}` }));
  }

  private settle(): void {
    if (this.clientEnded && this.backendEnded) this.upstream.leave(this.lingerMs);
  }
}
