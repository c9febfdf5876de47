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

  /** @param renew never rejects */
  once(refreshToken: string, now: number, renew: () => Promise<Renewal>): Promise<Renewal> {
    const key = createHash('sha256').update(refreshToken).digest('base64url');
    const known = this.kept.get(key);
    if (known !== undefined && known.until > now) return known.renewal;
    this.forget(now);
    const renewal = renew();
    this.kept.set(key, { renewal, until: now + keptMs });
    // A provider that was down is asked again by the next request.
    void renewal.then(({ kind }) => kind === 'failed' && this.kept.delete(key));
    return renewal;
  }

  private forget(now: number): void {
    for (const [key, { until }] of this.kept) {
      if (until > now && this.kept.size < mostKept) break;
      this.kept.delete(key);
    }
  }
}
