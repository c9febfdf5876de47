/**
 * The memory that sessions keep for their clients: events that a client may come back for, messages that wait for a
 * stream, what a restarted server must be told. Each of these is bounded for a session; a client may have many sessions.
 */

/** Characters that one holder's sessions may keep together, and those of all holders. */
export interface RetainedMemoryLimits {
  readonly each: number;
  readonly total: number;
}

const usual: RetainedMemoryLimits = { each: 16_777_216, total: 134_217_728 };

/** Everything that the sessions of a process keep. */
export class RetainedMemoryPool {
  private readonly limits: RetainedMemoryLimits;
  private readonly holders = new Map<string, number>();
  private total = 0;

  constructor(limits: RetainedMemoryLimits = usual) {
    this.limits = limits;
  }

  /** Characters that a holder's sessions keep. */
  of(holder: string): number {
    return this.holders.get(holder) ?? 0;
  }

  isOver(holder: string): boolean {
    return this.of(holder) > this.limits.each || this.total > this.limits.total;
  }

  change(holder: string, by: number): void {
    const now = this.of(holder) + by;
    if (now === 0) this.holders.delete(holder);
    else this.holders.set(holder, now);
    this.total += by;
  }
}

/** The memory that a session keeps. */
export class RetainedMemory {
  private readonly room: RetainedMemoryPool;
  private readonly holder: string;
  private length = 0;
  private closed = false;

  constructor(room: RetainedMemoryPool, holder: string) {
    this.room = room;
    this.holder = holder;
  }

  /** More is kept than there is room for: the session must let go of something. */
  get isOverLimit(): boolean {
    return this.length > 0 && this.room.isOver(this.holder);
  }

  add(length: number): void {
    if (this.closed) return;
    this.length += length;
    this.room.change(this.holder, length);
  }

  remove(length: number): void {
    this.add(-length);
  }

  /** The session is over: nothing of it is kept. */
  close(): void {
    this.remove(this.length);
    this.closed = true;
  }
}
