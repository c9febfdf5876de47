import { createHash, randomBytes } from 'node:crypto';
import type { Role } from './roles.ts';

/** In milliseconds. */
export const linkLimits = { most: 16, livesMs: 3_600_000 };

const keyOf = (code: string): string => createHash('sha256').update(code).digest('hex');

interface Link {
  readonly role: Role;
  readonly until: number;
  readonly onUse: (() => void) | undefined;
}

/** Codes of one-time links. Each opens one session. */
export class LoginLinks {
  private readonly kept = new Map<string, Link>();
  private readonly now: () => number;

  /** @param now milliseconds of a clock that does not jump */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Makes a code. Where there are too many, the oldest one ends. @param onUse hears that the code was used */
  make(role: Role, onUse?: () => void): string {
    this.removeEnded();
    const [oldest] = this.kept.keys();
    if (this.kept.size >= linkLimits.most && oldest !== undefined) this.kept.delete(oldest);
    const code = randomBytes(32).toString('base64url');
    this.kept.set(keyOf(code), { role, until: this.now() + linkLimits.livesMs, onUse });
    return code;
  }

  /** Takes a code, which ends it. @returns the role that it grants; undefined for an unknown or ended one */
  take(code: string): Role | undefined {
    this.removeEnded();
    const key = keyOf(code);
    const found = this.kept.get(key);
    this.kept.delete(key);
    found?.onUse?.();
    return found?.role;
  }

  private removeEnded(): void {
    const now = this.now();
    for (const [key, { until }] of this.kept) if (until < now) this.kept.delete(key);
  }
}
