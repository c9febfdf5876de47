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

  /** Takes the oldest item of the client whose turn it is. */
  next(): Item | undefined {
    for (const [client, items] of this.clients) {
      const item = items.shift();
      // The client goes to the end of the line, or leaves it.
      this.clients.delete(client);
      if (items.length > 0) this.clients.set(client, items);
      if (item === undefined) continue;
      this.total--;
      return item;
    }
    return undefined;
  }

  private longest(): Item[] {
    let most: Item[] = [];
    for (const items of this.clients.values()) if (items.length > most.length) most = items;
    return most;
  }
}
