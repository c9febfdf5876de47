/** Targets that fail, as all sessions of a caller see them: a new session does not wait for a dead server again. */

/** The wait after the first failure; it doubles with each further one. Milliseconds. */
const firstWaitMs = 1_000;
const maxWaitMs = 60_000;
/** Callers and targets that are remembered; the oldest are forgotten first. */
const maxCircuits = 10_000;

/** A target that new sessions of a caller do not try for a while. */
export interface OpenCircuit {
  /** Key of the backend. */
  readonly backend: string;
  readonly target: string;
  /** Milliseconds since the epoch. */
  readonly retryAt: number;
  readonly reason: string;
}

interface Circuit {
  /** The name of the target when it failed. */
  readonly target: string;
  readonly backend: string;
  readonly failures: number;
  /** Milliseconds since the epoch. */
  readonly retryAt: number;
  readonly why: string;
}

/** The circuits of a process. A circuit belongs to a caller, because the credentials of one caller say nothing of another's. */
export class Circuits {
  private readonly now: () => number;
  private readonly open = new Map<string, Circuit>();

  constructor(now: () => number) {
    this.now = now;
  }

  /**
   * The reason why the target is not to be tried now; undefined where it is.
   * @param keyOf is not asked while no circuit is open
   */
  refusal(keyOf: () => string): string | undefined {
    const circuit = this.open.size === 0 ? undefined : this.open.get(keyOf());
    return circuit !== undefined && this.now() < circuit.retryAt ? circuit.why : undefined;
  }

  /** The targets that are not to be tried now, for some caller: the last retry of each. */
  get all(): readonly OpenCircuit[] {
    const now = this.now();
    const found = new Map<string, OpenCircuit>();
    for (const { backend, target, retryAt, why: reason } of this.open.values()) {
      const key = JSON.stringify([backend, target]);
      if (retryAt > Math.max(now, found.get(key)?.retryAt ?? 0))
        found.set(key, { backend, target, retryAt, reason });
    }
    return [...found.values()];
  }

  /** @param of the place of the target in the configuration */
  failed(key: string, why: string, { backend, target }: Pick<OpenCircuit, 'backend' | 'target'>): void {
    const known = this.open.get(key);
    // A start that began before is no news.
    if (known !== undefined && this.now() < known.retryAt) return;
    const failures = (known?.failures ?? 0) + 1;
    const wait = Math.min(firstWaitMs * 2 ** Math.min(failures - 1, 16), maxWaitMs);
    this.open.delete(key);
    this.open.set(key, { backend, target, failures, retryAt: this.now() + wait, why });
    if (this.open.size > maxCircuits) {
      const [oldest] = this.open.keys();
      this.open.delete(oldest!);
    }
  }

  worked(key: string): void {
    this.open.delete(key);
  }
}
