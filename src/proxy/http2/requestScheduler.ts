/** Time of one turn of the event loop that goes to new requests of HTTP/2, in milliseconds. */
const SHARE_MS = 10;

/** A connection with requests that have come in and are not begun. */
export interface RequestQueue {
  /** Begins its next request. @returns true where it has more */
  startNext(): boolean;
}

/**
 * Shares the turns of the event loop among connections of HTTP/2. One read can bring a hundred requests, and a hundred
 * connections ten thousand: begun at once, they would keep every other client waiting for seconds. What does not fit
 * into a turn waits for the next one, and connections take turns with one request each.
 */
export class RequestScheduler {
  private readonly now: () => number;
  private readonly defer: (run: () => void) => unknown;
  private readonly ring: RequestQueue[] = [];
  private armed = false;
  private beganAt = 0;

  /** @param defer runs something when all that is to be read in this turn was read */
  constructor(
    now: () => number = () => performance.now(),
    defer: (run: () => void) => unknown = (run) => setImmediate(run),
  ) {
    this.now = now;
    this.defer = defer;
  }

  /** May a request be begun at once? Otherwise its connection has to `wait`. */
  get mayStart(): boolean {
    if (!this.armed) this.arm();
    return this.ring.length === 0 && this.now() - this.beganAt < SHARE_MS;
  }

  /** Once for each connection that has requests waiting. */
  enqueue(starter: RequestQueue): void {
    this.ring.push(starter);
    if (!this.armed) this.arm();
  }

  private arm(): void {
    this.armed = true;
    this.beganAt = this.now();
    this.defer(this.next);
  }

  private readonly next = (): void => {
    this.armed = false;
    if (this.ring.length === 0) return;
    this.arm();
    do {
      const starter = this.ring.shift() as RequestQueue;
      if (starter.startNext()) this.ring.push(starter);
    } while (this.ring.length > 0 && this.now() - this.beganAt < SHARE_MS);
  };
}

/** The turns of this process, which has one event loop. */
export const requestScheduler = new RequestScheduler();
