import { createHash } from 'node:crypto';
import { oncePerProcess } from '../oncePerProcess.ts';
import type { Session } from './session.ts';

/** The end of a renewal: a session, a refusal of the provider, or the reason why it could not be asked. */
export type Renewal =
  | { readonly kind: 'renewed'; readonly session: Session }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Requests that were under way with the old cookie get the same answer for this long. */
const keptMs = 30_000;
const mostKept = 4_096;

/**
 * The renewals of a process: one for each refresh token, however many requests need it. Providers refuse a refresh
 * token that comes twice (RFC 9700 §4.14).
 */
export class Renewals {
  /** The renewals of a process. */
  static readonly of = oncePerProcess(() => new Renewals());

  private readonly kept = new Map<string, { readonly renewal: Promise<Renewal>; until: number }>();
  /** Logins that users have ended, and until when requests with these logins may still be in progress. */
  private readonly ended = new Map<string, number>();

  /** @param renew never rejects */
  once(refreshToken: string, now: number, renew: () => Promise<Renewal>): Promise<Renewal> {
    const key = digest(refreshToken);
    const known = this.kept.get(key);
    if (known !== undefined && known.until > now) return known.renewal;
    forget(this.kept, now, ({ until }) => until);
    const renewal = renew();
    this.kept.set(key, { renewal, until: now + keptMs });
    // A provider that was down is asked again by the next request.
    void renewal.then(({ kind }) => kind === 'failed' && this.kept.delete(key));
    return renewal;
  }

  /**
   * Notes that the user has ended the login, so that no renewal continues it.
   * @returns the renewal that is in progress, or was made a moment ago
   */
  end(refreshToken: string, now: number): Promise<Renewal> | undefined {
    const key = digest(refreshToken);
    forget(this.ended, now, (until) => until);
    this.ended.set(key, now + keptMs);
    return this.kept.get(key)?.renewal;
  }

  hasEnded(refreshToken: string, now: number): boolean {
    return (this.ended.get(digest(refreshToken)) ?? 0) > now;
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** Makes room: the oldest entries stand first. */
function forget<Kept>(entries: Map<string, Kept>, now: number, untilOf: (kept: Kept) => number): void {
  for (const [key, kept] of entries) {
    if (untilOf(kept) > now && entries.size < mostKept) break;
    entries.delete(key);
  }
}
