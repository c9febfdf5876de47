import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Role } from './roles.ts';

/** A browser that has logged in. */
export interface ConsoleSession {
  readonly role: Role;
  /** Names the session in the audit stream; it cannot be turned back into the cookie. */
  readonly label: string;
  /** Every request that is no mere reading carries it in `x-portcullis-write`. */
  readonly writeToken: string;
}

interface Kept extends ConsoleSession {
  readonly createdAt: number;
  usedAt: number;
}

/** In milliseconds. */
export const sessionLimits = { most: 32, idleMs: 3_600_000, longestMs: 43_200_000 };

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The sessions of consoles, in memory only: a restart ends them. */
export class ConsoleSessions {
  private readonly kept = new Map<string, Kept>();
  private readonly now: () => number;

  /** @param now milliseconds of a clock that does not jump */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  get size(): number {
    this.removeEnded();
    return this.kept.size;
  }

  /** Begins a session. Where there are too many, the one that was not used for the longest time ends. @returns its id */
  begin(role: Role): string {
    this.removeEnded();
    if (this.kept.size >= sessionLimits.most) {
      const [oldest] = [...this.kept].toSorted(([, a], [, b]) => a.usedAt - b.usedAt);
      if (oldest !== undefined) this.kept.delete(oldest[0]);
    }
    const id = randomBytes(32).toString('base64url');
    const key = digest(id).toString('hex');
    const now = this.now();
    this.kept.set(key, {
      role,
      label: key.slice(0, 12),
      writeToken: randomBytes(32).toString('base64url'),
      createdAt: now,
      usedAt: now,
    });
    return id;
  }

  /** The session of an id, which counts as a use; undefined for an unknown or ended one. */
  use(id: string): ConsoleSession | undefined {
    const session = this.living(id);
    if (session !== undefined) session.usedAt = this.now();
    return session;
  }

  /** Does the session still exist? This is no use of it. */
  isOpen({ label }: ConsoleSession): boolean {
    this.removeEnded();
    return [...this.kept.values()].some((one) => one.label === label);
  }

  end({ label }: ConsoleSession): void {
    for (const [key, one] of this.kept) if (one.label === label) this.kept.delete(key);
  }

  private living(id: string): Kept | undefined {
    this.removeEnded();
    // The digest is looked up, so the time of the search tells nothing about an id.
    return this.kept.get(digest(id).toString('hex'));
  }

  private removeEnded(): void {
    const now = this.now();
    for (const [key, { createdAt, usedAt }] of this.kept)
      if (now - usedAt > sessionLimits.idleMs || now - createdAt > sessionLimits.longestMs)
        this.kept.delete(key);
  }
}

/** Does a text of a request equal a secret of this process? The time of the comparison tells nothing. */
export const isSame = (given: string, secret: string): boolean =>
  timingSafeEqual(digest(given), digest(secret));
