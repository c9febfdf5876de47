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
/** A result that came too late for its request is kept for this long, until another request takes it. */
const leftMs = 300_000;
const mostKept = 4_096;

interface Kept {
  readonly renewal: Promise<Renewal>;
  until: number;
  hasResult: boolean;
}

/**
 * The renewals of a process: one for each refresh token, however many requests need it. Providers refuse a refresh
 * token that comes twice (RFC 9700 §4.14).
 */
export class Renewals {
  /** The renewals of a process. */
  static readonly of = oncePerProcess(() => new Renewals());

  private readonly kept = new Map<string, Kept>();
  /** Logins that users have ended, and until when requests with these logins may still be in progress. */
  private readonly ended = new Map<string, number>();

  /** @param renew never rejects */
  once(refreshToken: string, now: number, renew: () => Promise<Renewal>): Promise<Renewal> {
    const key = digest(refreshToken);
    const known = this.kept.get(key);
    if (known !== undefined && known.until > now) {
      if (known.hasResult) shorten(known, now);
      return known.renewal;
    }
    forget(this.kept, now, ({ until }) => until);
    const renewal = renew();
    const kept: Kept = { renewal, until: now + keptMs, hasResult: false };
    this.kept.set(key, kept);
    void renewal.then(({ kind }) => {
      kept.hasResult = true;
      // A provider that was down is asked again by the next request.
      if (kind === 'failed') this.kept.delete(key);
    });
    return renewal;
  }

  /** Has the provider answered? `once` then returns its answer at once. */
  hasResult(refreshToken: string, now: number): boolean {
    const known = this.kept.get(digest(refreshToken));
    return known !== undefined && known.until > now && known.hasResult;
  }

  /** The request goes on without the result. The provider may refuse the old refresh token from now on. */
  leave(refreshToken: string, now: number): void {
    const known = this.kept.get(digest(refreshToken));
    if (known !== undefined && !this.hasEnded(refreshToken, now)) known.until = now + leftMs;
  }

  /**
   * Notes that the user has ended the login, so that no renewal continues it.
   * @returns the renewal that is in progress, or was made a moment ago
   */
  end(refreshToken: string, now: number): Promise<Renewal> | undefined {
    const key = digest(refreshToken);
    forget(this.ended, now, (until) => until);
    this.ended.set(key, now + keptMs);
    const known = this.kept.get(key);
    // A result that outlives the note could log the user in again.
    if (known !== undefined) shorten(known, now);
    return known?.renewal;
  }

  hasEnded(refreshToken: string, now: number): boolean {
    return (this.ended.get(digest(refreshToken)) ?? 0) > now;
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

function shorten(kept: Kept, now: number): void {
  kept.until = Math.min(kept.until, now + keptMs);
}

/** Makes room: the oldest entries stand first. */
function forget<Kept>(entries: Map<string, Kept>, now: number, untilOf: (kept: Kept) => number): void {
  for (const [key, kept] of entries) {
    if (untilOf(kept) > now && entries.size < mostKept) break;
    entries.delete(key);
  }
}
