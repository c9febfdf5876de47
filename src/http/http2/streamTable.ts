import { CODE, WINDOW_MOST } from './codes.ts';
import { STREAM_STATE, ClosedStreams } from './closedStreams.ts';
import type { ServerStream } from './stream.ts';

/** The streams of a connection: those under way, and what is known of the others. */
export class StreamTable {
  readonly past = new ClosedStreams();
  /** Streams above are not served any more. */
  last = WINDOW_MOST;
  private readonly open = new Map<number, ServerStream>();

  get size(): number {
    return this.open.size;
  }

  get(id: number): ServerStream | undefined {
    return this.open.get(id);
  }

  all(): Iterable<ServerStream> {
    return this.open.values();
  }

  add(stream: ServerStream): void {
    this.open.set(stream.id, stream);
  }

  remove(stream: ServerStream): void {
    this.open.delete(stream.id);
    if (stream.inbound.ended) this.past.ended(stream.id);
  }

  isIdle(id: number): boolean {
    return this.past.of(id) === STREAM_STATE.idle;
  }

  /**
   * May DATA or HEADERS come for this stream, which is not open? If so they were under way when we ended it.
   * @returns the code of the error, 0 where they may
   */
  lateness(id: number): number {
    switch (this.past.of(id)) {
      case STREAM_STATE.idle:
      case STREAM_STATE.skipped:
        return CODE.protocol;
      case STREAM_STATE.theirs:
        return CODE.streamClosed;
      default:
        return CODE.none;
    }
  }
}
