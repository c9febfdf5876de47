/** So many are remembered: beyond that the server of a session is the one to say that it has ended. */
const most = 10_000;

/** Sessions that ended here, so that none of them is resumed by its id; the oldest are forgotten first. */
export class EndedSessions {
  private readonly known = new Set<string>();

  /** @param local what is random in the id of a session */
  add(local: string): void {
    this.known.add(local);
    if (this.known.size <= most) return;
    const [oldest] = this.known;
    this.known.delete(oldest!);
  }

  has(local: string): boolean {
    return this.known.has(local);
  }
}
