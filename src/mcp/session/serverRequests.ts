import { maxIdLength, type RpcId } from '../json/envelope.ts';
import { parsedId } from '../json/parsed.ts';

/** A request that a server made of the client. */
export interface ServerRequest {
  readonly target: string;
  readonly generation: number;
  readonly id: RpcId;
  /** The id as the server wrote it. */
  readonly idText: string;
  /** It asks for the client's tasks. */
  readonly listsTasks?: boolean;
}

/** A server that asks more at a time does not wait for answers. */
const maxAsked = 256;

/** Gives ids to the requests of servers. */
export interface RequestIdPolicy {
  /** The id says what the server calls it, so that whoever gets the answer can pass it on. */
  readonly embedsServerId: boolean;
  /** The answer may go by another process: where too many wait, the oldest has most likely been answered there. */
  readonly dropsOldest: boolean;
}

/** Requests of servers that the client has not answered, under ids that are unique in the session. */
export class ServerRequests {
  private readonly waiting = new Map<RpcId, ServerRequest>();
  private last: number;

  /** @param before numbers up to this one are not used */
  constructor(before = 0) {
    this.last = before;
  }

  /** The id for the client, or undefined when too many wait. */
  add(
    asked: ServerRequest,
    { embedsServerId: telling, dropsOldest: forgetful }: RequestIdPolicy,
  ): RpcId | undefined {
    if (this.waiting.size >= maxAsked) {
      if (!forgetful) return undefined;
      const [oldest] = this.waiting.keys();
      this.waiting.delete(oldest!);
    }
    const told = telling ? idWithServerId(asked) : undefined;
    // A server may use an id again before it has its answer, on another stream.
    const id = told === undefined || this.waiting.has(told) ? ++this.last : told;
    this.waiting.set(id, asked);
    return id;
  }

  /** Does a target wait for an answer of the client? */
  asks(target: string): boolean {
    for (const asked of this.waiting.values()) if (asked.target === target) return true;
    return false;
  }

  /** The request that a client's response answers; it can be answered once. */
  take(id: RpcId): ServerRequest | undefined {
    const asked = this.waiting.get(id);
    this.waiting.delete(id);
    return asked;
  }

  /** The server takes a request back; answers the client's id for it. */
  withdraw(target: string, id: RpcId): RpcId | undefined {
    for (const [askedId, asked] of this.waiting) {
      if (asked.target !== target || asked.id !== id) continue;
      this.waiting.delete(askedId);
      return askedId;
    }
    return undefined;
  }

  withdrawAll(target: string): RpcId[] {
    const gone = [...this.waiting].filter(([, asked]) => asked.target === target).map(([id]) => id);
    for (const id of gone) this.waiting.delete(id);
    return gone;
  }
}

/** An id that says which server session asked, and under what id; undefined where it would be longer than ids may be. */
export function idWithServerId({
  generation,
  idText,
}: Pick<ServerRequest, 'generation' | 'idText'>): string | undefined {
  const id = `${generation}-${idText}`;
  return JSON.stringify(id).length > maxIdLength ? undefined : id;
}

/** Reads what `idWithServerId` wrote; undefined for anything else, clients make up ids too. */
export function readServerId(id: RpcId): Pick<ServerRequest, 'generation' | 'idText'> | undefined {
  const [, generation, idText = ''] = (typeof id === 'string' && /^(\d{1,9})-(\S.*)$/s.exec(id)) || [];
  if (generation === undefined || idText !== idText.trim()) return undefined;
  if (parsedId(idText) === undefined) return undefined;
  return { generation: Number(generation), idText };
}
