interface DetachedSession {
  /** The holder whose budgets the session uses. */
  readonly holder: string;
  readonly backendKey: string;
  /** When nobody can resume it any more, in milliseconds since the epoch. */
  readonly until: number;
  /** Ends it at its server; never rejects. */
  readonly end: () => Promise<unknown>;
}

/** So many are kept; where there are more, the oldest of whoever has most end before their time. */
const most = 10_000;

/**
 * Sessions that nobody uses here any more, though somebody may elsewhere. Their servers are told of the end once no
 * process can resume them; before that it would be the end for those who still use them.
 */
export class DetachedSessions {
  private readonly detached = new Map<string, DetachedSession>();

  add(id: string, session: DetachedSession): void {
    this.detached.set(id, session);
    if (this.detached.size > most) void this.end(this.firstToEvict());
  }

  /** A client that begins session after session must not push out those of others. */
  private firstToEvict(): string {
    const counts = new Map<string, number>();
    for (const { holder } of this.detached.values()) counts.set(holder, (counts.get(holder) ?? 0) + 1);
    let heaviest = 0;
    let first = '';
    for (const [id, { holder }] of this.detached) {
      const count = counts.get(holder)!;
      if (count > heaviest) [heaviest, first] = [count, id];
    }
    return first;
  }

  /** It goes on here. */
  forget(id: string): void {
    this.detached.delete(id);
  }

  /** Ends those of backends that are no more. */
  retire(liveKeys: ReadonlySet<string>): void {
    for (const [id, { backendKey }] of this.detached) if (!liveKeys.has(backendKey)) void this.end(id);
  }

  /** @param now milliseconds since the epoch */
  tick(now: number): void {
    for (const [id, { until }] of this.detached) if (now >= until) void this.end(id);
  }

  /**
   * Ends all sessions: no process can resume any of them from now on. Resolves (never rejects) when their servers
   * know.
   */
  async endAll(): Promise<void> {
    await Promise.all([...this.detached.keys()].map((id) => this.end(id)));
  }

  private async end(id: string): Promise<void> {
    const session = this.detached.get(id);
    this.detached.delete(id);
    await session?.end();
  }
}
