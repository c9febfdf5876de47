import type { RestartPolicy } from '../kind/targetRuntime.ts';

export const defaultRestart: RestartPolicy = {
  firstDelayMs: 100,
  maxDelayMs: 800,
  maxFailures: 5,
  windowMs: 60_000,
  coolDownMs: 30_000,
};

/** For streams of what a server says by itself: no client waits for an answer. */
export const streamRestart: RestartPolicy = {
  firstDelayMs: 1_000,
  maxDelayMs: 60_000,
  maxFailures: 8,
  windowMs: 600_000,
  coolDownMs: 60_000,
};

export class Backoff {
  private readonly policy: RestartPolicy;
  private readonly now: () => number;
  private failures: number[] = [];
  private coldUntil = 0;

  constructor(policy: RestartPolicy, now: () => number) {
    this.policy = policy;
    this.now = now;
  }

  /** Notes a failure; answers how long to wait in milliseconds, or undefined to give up. */
  failure(): number | undefined {
    const now = this.now();
    this.failures = this.failures.filter((at) => now - at < this.policy.windowMs);
    this.failures.push(now);
    if (this.failures.length >= this.policy.maxFailures) {
      this.coldUntil = now + this.policy.coolDownMs;
      return undefined;
    }
    return Math.min(this.policy.firstDelayMs * 2 ** (this.failures.length - 1), this.policy.maxDelayMs);
  }

  /** After giving up: may the next call try again? */
  get mayTry(): boolean {
    return this.now() >= this.coldUntil;
  }
}
