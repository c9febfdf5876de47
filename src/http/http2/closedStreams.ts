/** The number of past streams that are remembered; older ones are unknown. */
const REMEMBERED = 1_024;

/** The known state of a stream that is not open. */
export const STREAM_STATE = {
  /** Not opened yet. */
  idle: 0,
  /** The client passed it over, which closes it (RFC 9113 §5.1.1). */
  skipped: 1,
  /** We ended it: frames of the client may have been under way. */
  ours: 2,
  /** The client has ended its side: whatever comes is against the protocol. */
  theirs: 3,
  /** Too long ago. */
  unknown: 4,
} as const;

/** Remembers how the streams of a connection ended that are not there any more. */
export class ClosedStreams {
  /** The highest stream the client has opened. */
  latest = 0;
  private readonly ends = new Uint8Array(REMEMBERED);

  /** A stream is opened; all that were not opened before it never can be. */
  open(stream: number): void {
    const passed = Math.min((stream - this.latest) / 2, REMEMBERED);
    for (let before = stream - 2, i = 1; i < passed && before > this.latest; before -= 2, i++)
      this.ends[slot(before)] = STREAM_STATE.skipped;
    this.latest = stream;
    this.ends[slot(stream)] = STREAM_STATE.ours;
  }

  /** The client has ended its side of a stream. */
  ended(stream: number): void {
    if (this.remembers(stream)) this.ends[slot(stream)] = STREAM_STATE.theirs;
  }

  /** @returns a value of `STREAM_STATE` */
  of(stream: number): number {
    if (stream > this.latest || (stream & 1) === 0) return STREAM_STATE.idle;
    return this.remembers(stream) ? (this.ends[slot(stream)] as number) : STREAM_STATE.unknown;
  }

  private remembers(stream: number): boolean {
    return stream <= this.latest && this.latest - stream < 2 * REMEMBERED;
  }
}

const slot = (stream: number): number => (stream >>> 1) % REMEMBERED;
