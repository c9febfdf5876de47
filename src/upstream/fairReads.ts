/**
 * Reads of one connection in the middle of a large body before all others get their turn. The platform reads up to 32
 * times from one socket before it looks at the next: with 64 KB each, one download would keep everybody else waiting
 * for the time of two megabytes. All of them at once would cost some 6 % less CPU per megabyte.
 */
export const MAX_READS = 4;

/** A connection that has read enough for now. */
interface PausedReader {
  continueReading(): void;
}

/** Turns of the event loop, counted while somebody asks. */
class Turns {
  private turn = 0;
  private armed = false;
  private resting: PausedReader[] = [];

  get current(): number {
    this.arm();
    return this.turn;
  }

  /** `continueReading` is called when the others have had their turn. */
  rest(connection: PausedReader): void {
    this.resting.push(connection);
    this.arm();
  }

  private arm(): void {
    if (this.armed) return;
    this.armed = true;
    setImmediate(this.next);
  }

  private readonly next = (): void => {
    this.armed = false;
    this.turn++;
    const { resting } = this;
    this.resting = [];
    for (const connection of resting) connection.continueReading();
  };
}

export const fairReads = new Turns();

/** A stream that can be told to wait. */
interface Pausable {
  readonly destroyed: boolean;
  pause(): unknown;
  resume(): unknown;
}

/** Pauses and resumes a stream for its user, who may have to wait, and for the others, who want their turn. */
export class FairReader implements PausedReader {
  private readonly stream: Pausable;
  /** The user cannot take more. */
  private held = false;
  /** The others have their turn. */
  private resting = false;
  /** The last turn, in which the stream was read so many times. */
  private turn = -1;
  private reads = 0;
  /** Goes on with what was read already; returns false when that is done. */
  private work: (() => boolean) | undefined;
  private isScheduled = false;

  constructor(stream: Pausable) {
    this.stream = stream;
  }

  get isHeld(): boolean {
    return this.held;
  }

  /** The user cannot take more. */
  pause(): void {
    this.held = true;
    this.stream.pause();
  }

  resume(): void {
    this.held = false;
    if (!this.resting) this.stream.resume();
    else this.schedule();
  }

  /**
   * Reads no further until what was read is worked off.
   * @param work is called once in each turn in which the user can take more; it returns false when all is done
   */
  workOff(work: () => boolean): void {
    this.work = work;
    this.rest();
  }

  /** Counts a read in the middle of a large body. The others come first when there were enough for now. */
  noteRead(): void {
    if (this.held || this.resting || this.stream.destroyed) return;
    const turn = fairReads.current;
    if (this.turn !== turn) {
      this.turn = turn;
      this.reads = 0;
    }
    if (++this.reads >= MAX_READS) this.rest();
  }

  private rest(): void {
    this.resting = true;
    this.stream.pause();
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    fairReads.rest(this);
  }

  continueReading(): void {
    this.isScheduled = false;
    if (this.work !== undefined && !this.stream.destroyed) {
      if (this.held) return;
      if (this.work()) {
        this.schedule();
        return;
      }
    }
    this.work = undefined;
    this.resting = false;
    if (!this.held && !this.stream.destroyed) this.stream.resume();
  }
}
