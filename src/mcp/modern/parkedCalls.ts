/** Calls whose servers wait for an answer of the client, which comes with the next round of the request. */

import { createHash, randomBytes } from 'node:crypto';
import type { SessionSeal } from '../session/sessionId.ts';

/** The request that a call belongs to: the next round must be of the same one. */
export interface ParkedRequest {
  /** The proven identity of the caller; undefined for anonymous ones. */
  readonly principal: string | undefined;
  readonly backend: string;
  readonly method: string;
  /** The params without those that change from round to round. */
  readonly params: string;
}

/** A call that waits. */
export interface Parked {
  /** Ends the call: the client has not answered in time. */
  expired(): void;
}

/** The time for the next round, in milliseconds. */
export const parkedMs = 300_000;
const handleLength = 16;
const digestLength = 32;
const timeLength = 6;
/** Calls of one holder of budgets that may wait. */
const maxEach = 64;
const maxTotal = 4_096;

interface Entry<Call> {
  readonly call: Call;
  readonly holder: string;
  readonly until: number;
}

/**
 * The state is sealed to the principal, the backend, the method and the params, holds an expiry, and is good once. The
 * call itself knows its target.
 */
export class ParkedCalls<Call extends Parked> {
  private readonly entries = new Map<string, Entry<Call>>();
  private readonly seal: SessionSeal;
  private readonly now: () => number;

  constructor(seal: SessionSeal, now: () => number) {
    this.seal = seal;
    this.now = now;
  }

  get size(): number {
    return this.entries.size;
  }

  /**
   * @param holder of the budgets: many callers may be anonymous
   * @returns the `requestState` for the client; undefined where too many calls wait
   */
  park(call: Call, request: ParkedRequest, holder: string): string | undefined {
    let mine = 0;
    for (const entry of this.entries.values()) if (entry.holder === holder) mine++;
    if (mine >= maxEach || this.entries.size >= maxTotal) return undefined;
    const handle = randomBytes(handleLength);
    const until = this.now() + parkedMs;
    const time = Buffer.alloc(timeLength);
    time.writeUIntBE(until, 0, timeLength);
    this.entries.set(handle.toString('hex'), { call, holder, until });
    return this.seal.sealState(Buffer.concat([time, digestOf(request), handle]));
  }

  /**
   * Takes a call out.
   * @returns `foreign` for a state that this gateway did not make; `invalid` for one of another request, of another
   *   caller, an old one and a used one
   */
  take(state: string, request: () => ParkedRequest): Call | 'foreign' | 'invalid' {
    const payload = this.seal.openState(state);
    if (payload?.length !== timeLength + digestLength + handleLength) return 'foreign';
    const digest = payload.subarray(timeLength, timeLength + digestLength);
    const key = payload.toString('hex', timeLength + digestLength);
    const entry = this.entries.get(key);
    const isLate = payload.readUIntBE(0, timeLength) <= this.now();
    if (entry === undefined || isLate || !digest.equals(digestOf(request()))) return 'invalid';
    this.entries.delete(key);
    return entry.call;
  }

  /** A call is over, whatever its client does. */
  drop(call: Call): void {
    for (const [key, entry] of this.entries) if (entry.call === call) this.entries.delete(key);
  }

  /** Every few seconds. */
  tick(): void {
    const now = this.now();
    for (const [key, { call, until }] of this.entries) {
      if (until > now) break;
      this.entries.delete(key);
      call.expired();
    }
  }
}

const digestOf = ({ principal, backend, method, params }: ParkedRequest): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([principal ?? null, backend, method, params]))
    .digest();
