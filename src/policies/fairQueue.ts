export interface QueueLimits {
  readonly total: number;
  readonly perClient: number;
}

/** A bounded queue that serves its clients in turn, so that one that asks for much delays only itself. */
export class FairQueue<Item> {
  private readonly limits: QueueLimits;
  /** In the order in which clients have their turns. */
  private readonly clients = new Map<string, Item[]>();
  private total = 0;

  constructor(limits: QueueLimits) {
    this.limits = limits;
  }

  get size(): number {
    return this.total;
  }

  /**
   * Adds an item of a client. Where the queue is full, the newest item of the client with most items makes room, unless
   * that client has hardly more than this one.
   *
   * @returns the item that did not stay: another one, this one, or undefined where all stay
   */
  add(client: string, item: Item): Item | undefined {
    const own = this.clients.get(client) ?? [];
    if (own.length >= this.limits.perClient) return item;
    let removed: Item | undefined;
    if (this.total >= this.limits.total) {
      const longest = this.longest();
      if (longest.length <= own.length + 1) return item;
      removed = longest.pop();
      this.total--;
    }
    own.push(item);
    this.total++;
    this.clients.set(client, own);
    return removed;
  }

  /**
   * Takes the oldest item of the client whose turn it is.
   * @param fits Items that do not fit keep their places, and a client without one that fits keeps its turn.
   */
  next(fits: (item: Item) => boolean = () => true): Item | undefined {
    for (const [client, items] of this.clients) {
      const at = items.findIndex(fits);
      if (at < 0) continue;
      const [item] = items.splice(at, 1);
      // The client goes to the end of the line, or leaves it.
      this.clients.delete(client);
      if (items.length > 0) this.clients.set(client, items);
      this.total--;
      return item;
    }
    return undefined;
  }

  /** Takes an item of a client out of turn. */
  remove(client: string, item: Item): void {
    const items = this.clients.get(client) ?? [];
    const at = items.indexOf(item);
    if (at < 0) return;
    items.splice(at, 1);
    this.total--;
    if (items.length === 0) this.clients.delete(client);
  }

  private longest(): Item[] {
    let most: Item[] = [];
    for (const items of this.clients.values()) if (items.length > most.length) most = items;
    return most;
  }
}
