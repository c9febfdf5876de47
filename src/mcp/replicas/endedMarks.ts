import { script, type Store } from '../../store/index.ts';

/** Marks that wait for the store. */
const maxWaiting = 10_000;
/** Sessions in one question. */
const maxAsked = 256;

const endedKey = (name: string): string => `mcp:ended:${name}`;

/** KEYS: mark of the session, and its other keys, which go. ARGV: lifetime (ms). */
const markScript = script(
  'sessions',
  `redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
return 'ok'`,
);

/** KEYS: marks. Answers 1 or 0 for each. */
const askScript = script(
  'sessions',
  `local found = {}
for i, key in ipairs(KEYS) do found[i] = redis.call('EXISTS', key) end
return found`,
);

interface Mark {
  /** When no gateway can continue the session any more, in milliseconds since the epoch. */
  readonly until: number;
  /** Keys of the session in the store. */
  readonly keys: readonly string[];
  /** Runs when the store has taken the mark late. */
  readonly onLate: () => void;
}

/** Marks in the store on sessions that have ended, so that no gateway continues one by its id. */
export class EndedMarks {
  private readonly store: Store;
  private readonly now: () => number;
  private readonly waiting = new Map<string, Mark>();

  constructor(store: Store, now: () => number) {
    this.store = store;
    this.now = now;
  }

  /** Resolves (never rejects) when that was tried; a mark that the store did not take is tried again. */
  async add(name: string, mark: Mark): Promise<void> {
    await this.write(name, mark);
  }

  /** @returns whether the store took it */
  private async write(name: string, mark: Mark): Promise<boolean> {
    const leftMs = Math.ceil(mark.until - this.now());
    if (leftMs <= 0) return false;
    try {
      await this.store.run(markScript, [endedKey(name), ...mark.keys], [leftMs]);
      return true;
    } catch {
      this.waiting.set(name, mark);
      if (this.waiting.size > maxWaiting) {
        const [oldest] = this.waiting.keys();
        this.waiting.delete(oldest!);
      }
      return false;
    }
  }

  /**
   * Tells which of the sessions have ended.
   * @throws StoreError (by the promise)
   */
  async among(names: readonly string[]): Promise<ReadonlySet<string>> {
    const ended = new Set<string>();
    for (let at = 0; at < names.length; at += maxAsked) {
      const asked = names.slice(at, at + maxAsked);
      const reply = await this.store.run(askScript, asked.map(endedKey), []);
      if (!Array.isArray(reply)) continue;
      for (const [i, one] of reply.entries()) if (one === 1) ended.add(asked[i]!);
    }
    return ended;
  }

  /** Every few seconds. */
  tick(): void {
    if (this.store.connection === 0) return;
    for (const [name, mark] of [...this.waiting]) {
      this.waiting.delete(name);
      void this.write(name, mark).then((isWritten) => {
        if (isWritten) mark.onLate();
      });
    }
  }
}
