import type { ErrorCode } from '../../errors.ts';
import type { Body, Head } from '../../http/index.ts';
import type { HedgePlan } from '../../policies/index.ts';
import type { Destination, Endpoint, UpstreamConnection, ExchangeHandler } from '../../upstream/index.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { signedHead } from './forward.ts';

/** The request that further tries are made of while the first is still under way. */
export interface Hedged extends ExchangeHandler {
  readonly exchange: LiveExchange;
  readonly destination: Destination;
  /** The address of the hedge's own try; undefined while there is none. */
  readonly trying: Endpoint | undefined;
  /** The whole body, framing included; undefined where it is no longer at hand. */
  readonly wholeBody: Buffer | undefined;
  /** Is this answer to be passed over as long as there is hope for a better one? */
  wants(head: Head): boolean;
  /** Goes on with this try in the place of its own, and stops all others. */
  adopt(upstream: UpstreamConnection, begunAt: number, timer: NodeJS.Timeout | undefined): void;
  /** Records that a try took as long as it may. */
  expired(): void;
  /** Every try has failed. */
  failed(code: ErrorCode, detail: string): void;
}

/**
 * Further tries of a request whose answer is late, each to another address while there is one. The first answer wins
 * and the others are cancelled.
 */
export class Hedges {
  private readonly owner: Hedged;
  private readonly plan: HedgePlan;
  private readonly running = new Set<HedgedTry>();
  private left: number;
  private timer: NodeJS.Timeout | undefined;

  constructor(owner: Hedged, plan: HedgePlan) {
    this.owner = owner;
    this.plan = plan;
    this.left = plan.further;
    this.arm();
  }

  get underWay(): boolean {
    return this.running.size > 0;
  }

  /** No further tries; those under way are cancelled, but for the one that has won. */
  stop(winner?: HedgedTry): void {
    this.left = 0;
    clearTimeout(this.timer);
    for (const one of [...this.running]) if (one !== winner) one.cancel();
    this.running.clear();
  }

  /** Are others under way beside this try? */
  othersThan(one: HedgedTry): boolean {
    return (
      this.running.size > 1 || (!this.running.has(one) && this.underWay) || this.owner.trying !== undefined
    );
  }

  lost(one: HedgedTry): void {
    this.running.delete(one);
  }

  won(one: HedgedTry): void {
    this.owner.adopt(one.upstream, one.begunAt, one.timer);
    this.stop(one);
    const stats = this.owner.exchange.route?.stats;
    if (stats !== undefined) stats.hedgesWon++;
  }

  private arm(): void {
    if (this.left > 0) this.timer = this.owner.exchange.after(this.plan.delayMs, () => this.begin());
  }

  private begin(): void {
    const { exchange, destination, trying, wholeBody } = this.owner;
    if (exchange.started || exchange.closed) return;
    if (wholeBody !== undefined && (trying !== undefined || this.underWay))
      this.launch(exchange, destination, wholeBody);
    this.arm();
  }

  private launch(exchange: LiveExchange, destination: Destination, body: Buffer): void {
    const stats = exchange.route?.stats;
    if (!this.plan.take()) {
      this.left = 0;
      if (stats !== undefined) stats.retriesRefused++;
      return;
    }
    const { trying } = this.owner;
    const at = [...this.running].map(({ upstream }) => upstream.endpoint);
    const upstream = destination.takeApart(trying === undefined ? at : [trying, ...at]);
    this.left--;
    if (upstream === undefined) return;
    if (stats !== undefined) stats.hedges++;
    const one = new HedgedTry(this, this.owner, upstream);
    this.running.add(one);
    one.send(body);
  }
}

/** A further try of a hedged request. Nothing that happens to it touches the exchange before it has won. */
class HedgedTry implements ExchangeHandler {
  readonly upstream: UpstreamConnection;
  readonly begunAt = performance.now();
  readonly timer: NodeJS.Timeout | undefined;
  private readonly hedges: Hedges;
  private readonly owner: Hedged;
  private won = false;

  get patient(): boolean {
    return this.owner.patient === true;
  }

  constructor(hedges: Hedges, owner: Hedged, upstream: UpstreamConnection) {
    const { exchange } = owner;
    this.hedges = hedges;
    this.owner = owner;
    this.upstream = upstream;
    this.timer =
      exchange.backendMs === undefined ? undefined : exchange.after(exchange.backendMs, () => this.expired());
  }

  send(body: Buffer): void {
    const { owner, upstream } = this;
    upstream.begin(this, owner.exchange.method === 'HEAD', false);
    upstream.cork();
    upstream.write(signedHead(owner.exchange, owner.destination, undefined, body));
    if (body.length > 0) upstream.write(body);
    upstream.uncork();
    upstream.sent();
  }

  cancel(): void {
    clearTimeout(this.timer);
    this.upstream.abandon();
  }

  onInformational(head: Head): void {
    if (this.won) this.owner.onInformational(head);
  }

  onAnswer(head: Head, bytes: Buffer, from: number, to: number, body: Body): boolean {
    const { hedges, owner } = this;
    if (owner.wants(head) && hedges.othersThan(this)) {
      hedges.lost(this);
      clearTimeout(this.timer);
      if (!body.done) this.upstream.abandon();
      return true;
    }
    this.won = true;
    hedges.won(this);
    return owner.onAnswer(head, bytes, from, to, body);
  }

  onBody(bytes: Buffer, from: number, to: number, done: boolean): boolean {
    return this.won ? this.owner.onBody(bytes, from, to, done) : true;
  }

  onFailure(code: ErrorCode, detail: string, fresh: boolean): void {
    if (this.won) this.owner.onFailure(code, detail, fresh);
    else this.fail(code, `${this.upstream.endpoint.name}: ${detail}`);
  }

  onWritable(): void {
    if (this.won) this.owner.onWritable();
  }

  private expired(): void {
    if (this.won) {
      this.owner.expired();
      return;
    }
    this.upstream.tooSlow();
    this.upstream.abandon();
    this.fail('upstream_timeout', 'timeout.backendRequestTimeout');
  }

  private fail(code: ErrorCode, detail: string): void {
    const { hedges, owner, upstream } = this;
    clearTimeout(this.timer);
    upstream.endpoint.stats.failed++;
    const last = !hedges.othersThan(this);
    hedges.lost(this);
    if (last) owner.failed(code, detail);
  }
}
