interface Left {
  readonly backendKey: string;
  /** When nobody can resume it any more, in milliseconds since the epoch. */
  readonly until: number;
  /** Ends it at its server; never rejects. */
  readonly end: () => Promise<unknown>;
}

/** So many are kept; where there are more, the oldest are ended before their time. */
const most = 10_000;

/**
 * Sessions that nobody uses here any more, though somebody may elsewhere. Their servers are told of the end once no
 * process can resume them; before that it would be the end for those who still use them.
 */
export class LeftSessions {
  private readonly left = new Map<string, Left>();

  add(id: string, session: Left): void {
    this.left.set(id, session);
    if (this.left.size <= most) return;
    const [oldest] = this.left.keys();
    this.end(oldest!);
  }

  /** It goes on here. */
  forget(id: string): void {
    this.left.delete(id);
  }

  /** Ends those of backends that are no more. */
  retire(liveKeys: ReadonlySet<string>): void {
    for (const [id, { backendKey }] of this.left) if (!liveKeys.has(backendKey)) this.end(id);
  }

  /** @param now milliseconds since the epoch */
  tick(now: number): void {
    for (const [id, { until }] of this.left) if (now >= until) this.end(id);
  }

  private end(id: string): void {
    void this.left.get(id)?.end();
    this.left.delete(id);
  }
}
