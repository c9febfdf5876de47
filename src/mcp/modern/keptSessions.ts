import type { HeldSession } from './heldSession.ts';

/** The sessions that callers keep, one for each backend and each set of declared capabilities. */
export class KeptSessions {
  /** Most callers have one client and one backend. */
  private readonly byCaller = new Map<string, HeldSession[]>();

  find(caller: string, backend: string, capabilities: string): HeldSession | undefined {
    const all = this.byCaller.get(caller);
    if (all === undefined) return undefined;
    for (const held of all)
      if (held.capabilities === capabilities && held.session.backendKey === backend) return held;
    return undefined;
  }

  /** Keeps a session in place of the one that serves the same requests. */
  keep(caller: string, held: HeldSession): void {
    const { capabilities, session } = held;
    const before = this.find(caller, session.backendKey, capabilities);
    const others = this.byCaller.get(caller)?.filter((one) => one !== before) ?? [];
    this.byCaller.set(caller, [...others, held]);
  }

  dropEnded(): void {
    for (const [caller, all] of this.byCaller) {
      const live = all.filter(({ session }) => !session.ended);
      if (live.length === 0) this.byCaller.delete(caller);
      else if (live.length < all.length) this.byCaller.set(caller, live);
    }
  }
}
