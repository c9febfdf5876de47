/** A start of a target that failed, where no later one worked. */
export interface FailedStart {
  /** Key of the backend. */
  readonly backend: string;
  readonly target: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly reason: string;
  /** The last lines that a child wrote to its standard error. */
  readonly stderr: readonly string[];
}

/** The reason why a start failed, and the last lines of its child. */
export type StartFailure = Pick<FailedStart, 'reason'> & Partial<Pick<FailedStart, 'stderr'>>;

/** Targets that are remembered; the oldest failures are forgotten first. */
const maxRemembered = 1_000;

/** The last start of each target: a target that does not start has no session that could show its state. */
export class TargetStarts {
  private readonly now: () => number;
  private readonly onFailure: (target: string) => void;
  private readonly failed = new Map<string, FailedStart>();

  /** @param onFailure hears of each start that failed */
  constructor(now: () => number, onFailure: (target: string) => void) {
    this.now = now;
    this.onFailure = onFailure;
  }

  /** Notes the end of a start. @param failure absent: it worked */
  note(backend: string, target: string, failure?: StartFailure): void {
    const key = JSON.stringify([backend, target]);
    this.failed.delete(key);
    if (failure === undefined) return;
    const { reason, stderr = [] } = failure;
    this.failed.set(key, { backend, target, at: this.now(), reason, stderr });
    if (this.failed.size > maxRemembered) {
      const [oldest] = this.failed.keys();
      this.failed.delete(oldest!);
    }
    this.onFailure(target);
  }

  get all(): Iterable<FailedStart> {
    return this.failed.values();
  }

  /** After a reload: forgets the backends whose key is not in the set. */
  retire(liveKeys: ReadonlySet<string>): void {
    for (const [key, { backend }] of [...this.failed]) if (!liveKeys.has(backend)) this.failed.delete(key);
  }
}
