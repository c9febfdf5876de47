import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import { keyDigest, type Reply, type Script, type Store } from '../../store/index.ts';
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
/** Calls that one script keeps or removes: no other command runs meanwhile. */
const mostAtOnce = 1_000;
/** Calls that are over, and that the store may count. The leases of further ones end by themselves. */
const mostLeft = 10_000;

export interface StoredCallsOptions {
  readonly store: Store;
  /** Counts the calls of this process, which also count while the store cannot. */
  readonly local: CallsInProgress;
  /** Tests hurry. */
  readonly pace?: { readonly leaseMs: number; readonly keepMs: number };
}

interface Call {
  /** The key of the store under which it counts. */
  readonly name: string;
  readonly id: string;
  /** Whether the store may know of it. */
  sent: boolean;
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
  /** Calls in progress. */
  private readonly held = new Set<Call>();
  /**
   * Calls whose end the store did not confirm, and the time when it has forgotten them. A command that had no answer still
   * runs when the store goes on, perhaps after the commands of a new connection.
   */
  private readonly left = new Map<Call, number>();
  /** The connection that knows all calls so far. */
  private connection = 0;
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

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
    // The store may have forgotten the calls of before, or still count calls that are over.
    if (this.store.connection !== this.connection) this.tell();
    const call: Call = { name, id, sent: this.store.connection !== 0 };
    const leave = (): void => {
      leaveLocal();
      this.leave(call);
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
    this.hold(call);
    return leave;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private hold(call: Call): void {
    this.held.add(call);
    this.timer ??= this.tellLater();
  }

  private tellLater(): NodeJS.Timeout | undefined {
    if (this.closed) return undefined;
    return setTimeout(() => {
      this.timer = this.held.size + this.left.size === 0 ? undefined : this.tellLater();
      this.tell();
    }, this.keepMs).unref();
  }

  /** Removes calls that are over from the store, and renews the leases of those in progress. */
  private tell(): void {
    const { connection } = this.store;
    if (connection === 0) return;
    const now = performance.now();
    for (const [call, forgotten] of this.left)
      // A command of the former connection may run from now on.
      if (connection !== this.connection) this.left.set(call, now + this.leaseMs);
      else if (forgotten <= now) this.left.delete(call);
    this.connection = connection;
    for (const calls of portions(this.left.keys())) this.remove(calls);
    for (const calls of portions(this.held)) {
      for (const call of calls) call.sent = true;
      // A call that the store does not keep counts here, and is kept the next time.
      this.run(keepScript, calls, [this.leaseMs]).catch(ignored);
    }
  }

  private leave(call: Call): void {
    this.held.delete(call);
    if (call.sent) this.remove([call]);
  }

  private remove(calls: Portion): void {
    this.run(leaveScript, calls).catch(() => {
      const forgotten = performance.now() + this.leaseMs;
      for (const call of calls) if (this.left.size < mostLeft) this.left.set(call, forgotten);
      this.timer ??= this.tellLater();
    });
  }

  private run(script: Script, calls: Portion, args: readonly number[] = []): Promise<Reply> {
    return this.store.run(script, [calls[0].name], [...args, ...calls.map(({ id }) => id)]);
  }
}

/** Calls under one key of the store. */
type Portion = readonly [Call, ...Call[]];

/** Parts the calls as scripts can take them. */
function portions(calls: Iterable<Call>): Portion[] {
  const all: Portion[] = [];
  const open = new Map<string, [Call, ...Call[]]>();
  for (const call of calls) {
    const portion = open.get(call.name);
    if (portion !== undefined && portion.length < mostAtOnce) portion.push(call);
    else {
      const begun: [Call, ...Call[]] = [call];
      open.set(call.name, begun);
      all.push(begun);
    }
  }
  return all;
}

const ignored = (): void => undefined;
