import { lookup } from 'node:dns';
import { getJson, guardedFetch } from '../../../auth/index.ts';
import { errorOf } from '../../../errorText.ts';
import { Unreachable } from '../../../files/index.ts';
import { closedAddresses, isAmong, networks, oneAtATime, specialAddresses } from '../../../http/index.ts';
import { ReadTurns, type TurnLimits } from './readTurns.ts';

const timeoutMs = 5_000;
const turns: TurnLimits = {
  atOnce: { all: 16, host: 4 },
  waiting: { total: 64, perClient: 16 },
  // A read ends within half of this time, so the turn of a client comes also where every server hangs.
  waitMs: 2 * timeoutMs,
};
/** The time for which a failed read is not tried again, and the number of failures that are remembered. */
const failed = { keptMs: 5_000, most: 512 };
/** Characters of the documents that are kept, with their addresses. */
const mostCharacters = 4_194_304;
/** A document stays fresh for as long as its server says, within these limits. */
const fresh = { shortestMs: 60_000, usualMs: 15 * 60_000, longestMs: 24 * 60 * 60_000 };

/** The addresses that documents may come from. */
export interface DocumentReach {
  /** Reaches with the same key share what they have read: they may read the same addresses. */
  readonly key: string;
  readonly fetch: typeof fetch;
}

interface Kept<Content> {
  readonly content: Content;
  readonly characters: number;
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly readAt: number;
  /** The last time that it was read, or was to be read again. */
  triedAt: number;
}

interface Failure {
  readonly error: Error;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** A document that somebody asks for. */
export interface WantedDocument<Content> {
  readonly address: string;
  /** The network of the client that asks. */
  readonly network: string;
  readonly reach: DocumentReach;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Throws an Error for a document that cannot be used. */
  readonly read: (value: unknown) => Content;
  /** Reads a document of more than a minute ago again, because something is missing in it. */
  readonly again?: boolean;
}

export interface DocumentLimits<Content> {
  /** The length of the longest document that is read. */
  readonly mostBytes: number;
  /** Characters that the content of a document holds in memory. */
  readonly charactersOf: (content: Content) => number;
}

/** The documents of one kind that a process reads, with limits on everything that strangers can make grow. */
export class DocumentReads<Content> {
  private readonly limits: DocumentLimits<Content>;
  private readonly lookup = oneAtATime(lookup, timeoutMs);
  private readonly reaches = new Map<string, DocumentReach>();
  /** The one that was used last comes last. */
  private readonly kept = new Map<string, Kept<Content>>();
  private readonly running = new Map<string, Promise<Content>>();
  private readonly turns = new ReadTurns(turns);
  /** The oldest one comes first. */
  private readonly failures = new Map<string, Failure>();
  private characters = 0;

  constructor(limits: DocumentLimits<Content>) {
    this.limits = limits;
  }

  /** @param own networks that are not public, and open @param guarded not for what `closedAddresses` has */
  reach(own: readonly string[], guarded: boolean): DocumentReach {
    const key = JSON.stringify([guarded, own]);
    let found = this.reaches.get(key);
    if (found === undefined) {
      const open = networks(own);
      const closed = guarded ? closedAddresses() : undefined;
      const reading = guardedFetch({
        lookup: this.lookup,
        closed: specialAddresses(),
        isOpen: (address) => open.has(address) && (closed === undefined || !isAmong(closed, address)),
      });
      found = { key, fetch: reading };
      this.reaches.set(key, found);
    }
    return found;
  }

  /**
   * The content of a document, from memory while it is fresh, and for a day where its server does not answer.
   * @throws Error with a message fit for the log; Unreachable where the document may be good
   */
  async get(wanted: WantedDocument<Content>): Promise<Content> {
    const { address, reach, now, again = false } = wanted;
    const key = `${reach.key} ${address}`;
    const kept = this.kept.get(key);
    if (kept !== undefined) {
      this.kept.delete(key);
      this.kept.set(key, kept);
      if (now() < (again ? kept.triedAt + fresh.shortestMs : kept.until)) return kept.content;
      kept.triedAt = now();
    }
    try {
      this.throwFailure(key, now());
      return await (this.running.get(key) ?? this.inTurn(key, wanted, kept));
    } catch (error) {
      if (kept === undefined) throw error;
      const isFresh = now() < kept.until;
      const isYoung = now() < kept.readAt + fresh.longestMs;
      if (!isFresh && !(isYoung && error instanceof Unreachable)) throw error;
      return kept.content;
    }
  }

  /**
   * Each client waits in a line of its own, also for a document that others wait for.
   * @throws Unreachable where too many are being read
   */
  private inTurn(key: string, wanted: WantedDocument<Content>, before?: Kept<Content>): Promise<Content> {
    const { address, network: client, now } = wanted;
    return this.turns.run({ host: new URL(address).hostname, client }, async () => {
      // Another client may have had its turn first.
      const kept = this.kept.get(key);
      if (kept !== undefined && kept !== before) return kept.content;
      this.throwFailure(key, now());
      return await (this.running.get(key) ?? this.begin(key, wanted));
    });
  }

  private begin(key: string, wanted: WantedDocument<Content>): Promise<Content> {
    const reading = this.read(key, wanted)
      .catch((reason: unknown) => {
        const error = errorOf(reason);
        this.noteFailure(key, { error, until: wanted.now() + failed.keptMs });
        throw error;
      })
      .finally(() => this.running.delete(key));
    this.running.set(key, reading);
    return reading;
  }

  /** @throws the error with which the document could not be read a moment ago */
  private throwFailure(key: string, at: number): void {
    const failure = this.failures.get(key);
    if (failure !== undefined && at < failure.until) throw failure.error;
  }

  private noteFailure(key: string, failure: Failure): void {
    this.failures.delete(key);
    this.failures.set(key, failure);
    const [oldest] = this.failures.keys();
    if (this.failures.size > failed.most && oldest !== undefined) this.failures.delete(oldest);
  }

  private async read(key: string, { address, reach, now, read }: WantedDocument<Content>): Promise<Content> {
    const { mostBytes, charactersOf } = this.limits;
    const { value, maxAgeMs = fresh.usualMs } = await getJson(address, {
      fetch: reach.fetch,
      signal: AbortSignal.timeout(timeoutMs),
      timeoutMs,
      maxBytes: mostBytes,
      maxRedirects: 0,
    });
    const content = read(value);
    const freshMs = Math.min(Math.max(maxAgeMs, fresh.shortestMs), fresh.longestMs);
    const characters = key.length + charactersOf(content);
    const at = now();
    this.keep(key, { content, characters, readAt: at, triedAt: at, until: at + freshMs });
    return content;
  }

  private keep(key: string, kept: Kept<Content>): void {
    this.forget(key);
    this.kept.set(key, kept);
    this.characters += kept.characters;
    for (const oldest of this.kept.keys()) {
      if (this.characters <= mostCharacters) return;
      this.forget(oldest);
    }
  }

  private forget(key: string): void {
    this.characters -= this.kept.get(key)?.characters ?? 0;
    this.kept.delete(key);
  }
}
