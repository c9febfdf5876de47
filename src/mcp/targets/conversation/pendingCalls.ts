import { GatewayError } from '../../../errors.ts';
import type { HeaderLine } from '../../../http/index.ts';
import type { ChildEnvironment, Reach } from '../../contract.ts';
import type { Envelope, RpcId } from '../../json/envelope.ts';
import type { Era } from '../../messages/eras.ts';
import { TransientMap } from '../../limits/transientMap.ts';
import type { Waiter } from '../kind/target.ts';

/** A request that waits for the server to be restarted. */
export interface Delayed {
  readonly line: string;
  readonly method: string;
  /** Further header lines of the request, for a server over HTTP. */
  readonly headers?: readonly HeaderLine[] | undefined;
  /** The way of its own caller to a server over the network. */
  readonly reach?: Reach | undefined;
  /** The values of its own caller for a child. */
  readonly environment?: ChildEnvironment | undefined;
  readonly wireId: number;
  readonly waiter: Waiter;
}

/**
 * The calls of one session that may wait for one server over HTTP/1.1, where each has a connection of its own. A session
 * that the gateway holds may serve many clients of the modern era: the budgets of the callers limit their calls.
 */
export const maxPendingOf = ({ era }: { readonly era: Era }): number => (era === 'modern' ? 16_384 : 128);

/** Calls that were given up and are remembered; the server answers only a few of them. */
const maxUnanswered = 64;

/** Ids for the wire that several connections share, so that an id tells the connection of its call. */
export interface IdSequence {
  last: number;
}

/** The calls of one connection: those its server was asked, and those that wait for the next server. */
export class PendingCalls {
  private readonly sent = new TransientMap<number, Waiter>();
  /** Calls that were given up: a server may answer them all the same. */
  private readonly unanswered = new Set<number>();
  private delayed: Delayed[] = [];
  private delayedSince = 0;
  /** The actions to run once the request with this id on the wire succeeds. */
  private readonly notes = new TransientMap<number, () => void>();
  private readonly ids: IdSequence;

  /** @param before ids up to this one are not used */
  constructor(before: number | IdSequence = 0) {
    this.ids = typeof before === 'number' ? { last: before } : before;
  }

  get size(): number {
    return this.sent.size + this.delayed.length;
  }

  /** The server has a call to answer that ends by itself. */
  get isBusy(): boolean {
    for (const { standing } of this.sent.values()) if (standing !== true) return true;
    return false;
  }

  get delayedSize(): number {
    return this.delayed.length;
  }

  /** The time that the oldest delayed call has waited, in milliseconds; 0 if there is none. */
  get delayedFor(): number {
    return this.delayed.length === 0 ? 0 : performance.now() - this.delayedSince;
  }

  /** An id for the wire that was never used on this connection. */
  nextId(): number {
    return ++this.ids.last;
  }

  add(wireId: number, waiter: Waiter): void {
    this.sent.set(wireId, waiter);
  }

  /** Keeps a request until there is a server again. */
  delay(request: Delayed): void {
    if (this.delayed.length === 0) this.delayedSince = performance.now();
    this.delayed.push(request);
  }

  note(wireId: number, note: () => void): void {
    this.notes.set(wireId, note);
  }

  get(wireId: RpcId): Waiter | undefined {
    return typeof wireId === 'number' ? this.sent.get(wireId) : undefined;
  }

  /** The same for a call that may wait for the next server. */
  find(wireId: number): Waiter | undefined {
    return this.sent.get(wireId) ?? this.delayed.find((one) => one.wireId === wireId)?.waiter;
  }

  *all(): Iterable<[number, Waiter]> {
    yield* this.sent.entries();
    for (const { wireId, waiter } of this.delayed) yield [wireId, waiter];
  }

  /** Takes out the call that a response answers, and notes what the server has accepted. */
  settle({ id, isError }: Envelope): Waiter | undefined {
    return typeof id === 'number' ? this.settleAs(id, isError) : undefined;
  }

  settleAs(wireId: number, isError: boolean): Waiter | undefined {
    if (this.notes.size > 0) {
      if (!isError) this.notes.get(wireId)?.();
      this.notes.delete(wireId);
    }
    const waiter = this.take(wireId);
    if (waiter === undefined) this.unanswered.delete(wireId);
    return waiter;
  }

  take(wireId: number): Waiter | undefined {
    const waiter = this.sent.get(wireId);
    if (waiter !== undefined) this.sent.delete(wireId);
    return waiter;
  }

  /** The only call that was sent, by its id on the wire. */
  get sole(): number | undefined {
    let sole: number | undefined;
    for (const [wireId, { standing }] of this.sent.entries()) {
      if (standing === true) continue;
      if (sole !== undefined) return undefined;
      sole = wireId;
    }
    return sole;
  }

  /** The only call that the server can still answer. */
  get certain(): number | undefined {
    return this.sent.size === 1 && this.unanswered.size === 0 ? this.sole : undefined;
  }

  forget(wireId: number): void {
    if (this.sent.delete(wireId) && this.unanswered.size < maxUnanswered) this.unanswered.add(wireId);
    this.notes.delete(wireId);
    this.delayed = this.delayed.filter((one) => one.wireId !== wireId);
  }

  /** Gives up one call whose client has left; answers its id on the wire. */
  dropAbandoned(): number | undefined {
    for (const [wireId, waiter] of this.sent.entries()) {
      if (waiter.abandoned !== true) continue;
      this.forget(wireId);
      waiter.failed(new GatewayError('mcp_cancelled', { message: 'the client left' }));
      return wireId;
    }
    return undefined;
  }

  /** The request that has waited the longest. */
  get firstDelayed(): Delayed | undefined {
    return this.delayed[0];
  }

  /**
   * There is a server again: answers what to send it, whose calls now count as sent.
   * @param fits the server may get the request; the others go on waiting
   */
  release(fits: (request: Delayed) => boolean = () => true): readonly Delayed[] {
    const released: Delayed[] = [];
    const { delayed } = this;
    this.delayed = [];
    for (const request of delayed)
      if (fits(request)) {
        released.push(request);
        this.sent.set(request.wireId, request.waiter);
      } else this.delayed.push(request);
    return released;
  }

  /** Fails what the server was asked; what waits for the next one goes on waiting. */
  fail(error: GatewayError): void {
    this.unanswered.clear();
    const waiters = this.sent.values();
    for (const wireId of this.sent.keys()) this.notes.delete(wireId);
    this.sent.clear();
    for (const waiter of waiters) waiter.failed(error);
  }

  /**
   * Fails what waits for the next server.
   * @param each hears the id on the wire before
   */
  failDelayed(error: GatewayError, each: (wireId: number) => void = () => undefined): void {
    const { delayed } = this;
    this.delayed = [];
    for (const { wireId, waiter } of delayed) {
      this.notes.delete(wireId);
      each(wireId);
      waiter.failed(error);
    }
  }

  failAll(error: GatewayError): void {
    this.fail(error);
    this.failDelayed(error);
    this.notes.clear();
  }
}
