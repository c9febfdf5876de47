import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import { keyDigest, type Store } from '../../store/index.ts';
import {
  retryAfter,
  type CallCounter,
  type CallEnd,
  type CallLimit,
  type CallsInProgress,
} from './callsInProgress.ts';
import { enterScript, keepScript, leaveScript } from './callScripts.ts';

/** The store forgets a call that its gateway has not kept for so long: the gateway has died. */
const leaseMs = 30_000;
/** Between two times that a gateway keeps its calls. */
const keepMs = leaseMs / 3;
/** Calls that one script keeps: no other command runs meanwhile. */
const mostAtOnce = 1_000;

export interface StoredCallsOptions {
  readonly store: Store;
  /** Counts the calls of this process, which also count while the store cannot. */
  readonly local: CallsInProgress;
  /** Tests hurry. */
  readonly pace?: { readonly leaseMs: number; readonly keepMs: number };
}

/**
 * Counts the calls in progress of all replicas in the store that they share. Each call has a lease, which its gateway
 * renews, so the calls of a gateway that died make room again.
 */
export class StoredCalls implements CallCounter {
  private readonly store: Store;
  private readonly local: CallsInProgress;
  private readonly leaseMs: number;
  private readonly keepMs: number;
  /** Tells the calls of this process from those of others. */
  private readonly process = randomUUID();
  private calls = 0;
  /** The ids of the calls under each key of the store. */
  private readonly held = new Map<string, Set<string>>();
  /** The connection that knows all calls so far. */
  private connection = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor({ store, local, pace }: StoredCallsOptions) {
    this.store = store;
    this.local = local;
    this.leaseMs = pace?.leaseMs ?? leaseMs;
    this.keepMs = pace?.keepMs ?? keepMs;
  }

  async enter(budget: string, key: string, limit: CallLimit): Promise<CallEnd | undefined> {
    const leaveLocal = this.local.enter(budget, key, limit);
    if (leaveLocal === undefined) return undefined;
    const name = `calls:${keyDigest(budget)}:${keyDigest(key)}`;
    const id = `${this.process}.${++this.calls}`;
    // The store may have forgotten the calls of before: it was restarted, or away for longer than a lease.
    if (this.store.connection !== this.connection) this.keep();
    const leave = (): void => {
      leaveLocal();
      this.leave(name, id);
    };
    let allowed: boolean;
    try {
      allowed = (await this.store.run(enterScript, [name], [this.leaseMs, limit.most, id])) === 1;
    } catch (error) {
      if (limit.failsClosed) {
        leave();
        throw new GatewayError('mcp_budget_unavailable', {
          detail: messageOf(error),
          retryAfter,
          by: limit.by,
        });
      }
      allowed = true;
    }
    if (!allowed) {
      leaveLocal();
      return undefined;
    }
    this.hold(name, id);
    return leave;
  }

  close(): void {
    clearTimeout(this.timer);
  }

  private hold(name: string, id: string): void {
    const ids = this.held.get(name);
    if (ids === undefined) this.held.set(name, new Set([id]));
    else ids.add(id);
    this.timer ??= this.keepLater();
  }

  private keepLater(): NodeJS.Timeout {
    return setTimeout(() => {
      this.timer = this.held.size === 0 ? undefined : this.keepLater();
      this.keep();
    }, this.keepMs).unref();
  }

  /** Renews the leases of all calls. */
  private keep(): void {
    this.connection = this.store.connection;
    if (this.connection === 0) return;
    for (const [name, held] of this.held) {
      const ids = [...held];
      for (let at = 0; at < ids.length; at += mostAtOnce)
        // A call that the store does not keep counts here, and is kept the next time.
        this.store.run(keepScript, [name], [this.leaseMs, ...ids.slice(at, at + mostAtOnce)]).catch(ignored);
    }
  }

  private leave(name: string, id: string): void {
    const ids = this.held.get(name);
    ids?.delete(id);
    if (ids?.size === 0) this.held.delete(name);
    // The lease ends by itself.
    this.store.run(leaveScript, [name], [id]).catch(ignored);
  }
}

const ignored = (): void => undefined;
