import type { RpcId } from './json/envelope.ts';

/** A request that a server made of the client. */
export interface Asked {
  readonly target: string;
  readonly generation: number;
  readonly id: RpcId;
  /** The id as the server wrote it. */
  readonly idText: string;
}

/** A server that asks more at a time does not wait for answers. */
const maxAsked = 256;

/** Requests of servers that the client has not answered, under ids that are unique in the session. */
export class ServerRequests {
  private readonly waiting = new Map<number, Asked>();
  private last = 0;

  /** The id for the client, or undefined when too many wait. */
  add(asked: Asked): number | undefined {
    if (this.waiting.size >= maxAsked) return undefined;
    this.waiting.set(++this.last, asked);
    return this.last;
  }

  /** The request that a client's response answers; it can be answered once. */
  take(id: RpcId): Asked | undefined {
    if (typeof id !== 'number') return undefined;
    const asked = this.waiting.get(id);
    this.waiting.delete(id);
    return asked;
  }

  /** The server takes a request back; answers the client's id for it. */
  withdraw(target: string, id: RpcId): number | undefined {
    for (const [askedId, asked] of this.waiting) {
      if (asked.target !== target || asked.id !== id) continue;
      this.waiting.delete(askedId);
      return askedId;
    }
    return undefined;
  }

  withdrawAll(target: string): number[] {
    const gone = [...this.waiting].filter(([, asked]) => asked.target === target).map(([id]) => id);
    for (const id of gone) this.waiting.delete(id);
    return gone;
  }
}
