import type { Carrier } from './carrier.ts';
import type { Home } from './home.ts';

/** Everything that a connection has under way, and which of it carries which call. */
export class Carriers {
  private readonly all = new Set<Carrier>();
  private readonly byCall = new Map<number, Carrier>();

  /** Bytes that the server has not taken. */
  get backlog(): number {
    let sum = 0;
    for (const carrier of this.all) sum += carrier.backlog;
    return sum;
  }

  /** Calls that are carried. */
  get calls(): number {
    return this.byCall.size;
  }

  add(carrier: Carrier): void {
    this.all.add(carrier);
    if (carrier.wireId !== 0) this.byCall.set(carrier.wireId, carrier);
  }

  /** Another one may carry its call by now. */
  remove(carrier: Carrier): void {
    this.all.delete(carrier);
    if (this.byCall.get(carrier.wireId) === carrier) this.byCall.delete(carrier.wireId);
  }

  /** The one that carries a call. */
  of(wireId: number): Carrier | undefined {
    return this.byCall.get(wireId);
  }

  /** The carriers that were made for a session. */
  in(home: Home): readonly Carrier[] {
    return [...this.all].filter((carrier) => carrier.home === home);
  }

  pause(): void {
    for (const carrier of this.all) carrier.pause();
  }

  resume(): void {
    for (const carrier of this.all) carrier.resume();
  }

  tick(now: number): void {
    for (const carrier of [...this.all]) carrier.tick(now);
  }

  /** @param but is left alone */
  abandon(but?: Carrier): void {
    for (const carrier of [...this.all]) if (carrier !== but) carrier.abandon();
  }
}
