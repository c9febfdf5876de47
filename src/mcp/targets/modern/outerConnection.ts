import type { HeaderLine } from '../../../http/index.ts';
import type { Envelope, RpcId } from '../../json/envelope.ts';
import type { Outgoing } from '../../messages/outgoing.ts';
import type {
  CanSeeResource,
  RequestWithLines,
  TargetConnection,
  TargetPlace,
  TargetView,
  Waiter,
} from '../kind/target.ts';

/** A connection on top of another one, which does everything that this one does not do by itself. */
export abstract class OuterConnection implements TargetConnection {
  abstract readonly name: string;

  /** The connection below; another one where this one changes over. */
  protected abstract get inner(): TargetConnection;

  abstract open(initialize: Outgoing, waiter: Waiter): void;

  /** Lets go of what this connection holds by itself: it is closing. */
  protected abstract end(): void;

  get generation(): number {
    return this.inner.generation;
  }

  call(out: Outgoing, waiter: Waiter): number {
    return this.inner.call(out, waiter);
  }

  send(text: string, method?: string): void {
    this.inner.send(text, method);
  }

  pending(wireId: RpcId): Waiter | undefined {
    return this.inner.pending(wireId);
  }

  calls(): Iterable<[number, Waiter]> {
    return this.inner.calls();
  }

  dropAbandoned(): boolean {
    return this.inner.dropAbandoned();
  }

  forget(wireId: number): void {
    this.inner.forget(wireId);
  }

  progressed(wireId: number): void {
    this.inner.progressed(wireId);
  }

  hold(waits: boolean): void {
    this.inner.hold(waits);
  }

  get place(): TargetPlace | undefined {
    return this.inner.place;
  }

  get awaitsCaller(): boolean {
    return this.inner.awaitsCaller === true;
  }

  attended(canSeeResource: CanSeeResource): void {
    this.inner.attended?.(canSeeResource);
  }

  setClientListening(wanted: boolean): void {
    this.inner.setClientListening?.(wanted);
  }

  watchTask(id: string): Promise<boolean> {
    return this.inner.watchTask?.(id) ?? Promise.resolve(false);
  }

  unwatchTask(id: string): void {
    this.inner.unwatchTask?.(id);
  }

  parameterLines(changed: Envelope, before: RequestWithLines): Promise<readonly HeaderLine[]> {
    return this.inner.parameterLines?.(changed, before) ?? Promise.resolve([]);
  }

  get hearing(): Promise<void> | undefined {
    return this.inner.hearing;
  }

  get settling(): Promise<void> | undefined {
    return this.inner.settling;
  }

  retry(): void {
    this.inner.retry?.();
  }

  pause(): void {
    this.inner.pause();
  }

  resume(): void {
    this.inner.resume();
  }

  tick(now: number): void {
    this.inner.tick?.(now);
  }

  leave(): () => Promise<void> {
    this.end();
    return this.inner.leave?.() ?? (() => this.inner.close(0));
  }

  close(graceMs: number): Promise<void> {
    this.end();
    return this.inner.close(graceMs);
  }

  view(): TargetView {
    return this.inner.view();
  }
}
