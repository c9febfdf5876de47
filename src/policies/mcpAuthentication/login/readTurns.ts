import { Unreachable } from '../../../files/index.ts';
import { FairQueue } from '../../fairQueue.ts';
import { KeyedCounts } from '../../keyedCounts.ts';

export interface TurnLimits {
  /** Reads at the same time: in all, and of one host. */
  readonly atOnce: { readonly all: number; readonly host: number };
  /** Reads that wait: in all, and for one client. */
  readonly waiting: { readonly total: number; readonly perClient: number };
  /** The time after which the gateway refuses a read that still waits. */
  readonly waitMs: number;
}

/** The host that is read, and the network of the client that the gateway reads it for. */
export interface Reader {
  readonly host: string;
  readonly client: string;
}

interface Waiting extends Reader {
  readonly begin: () => void;
  readonly refuse: () => void;
}

/**
 * The turns of reads. Strangers can ask for many reads of a host, so a read that must wait has its turn among those of
 * the other clients, and not behind all that strangers have asked for.
 */
export class ReadTurns {
  private readonly limits: TurnLimits;
  private readonly waiting: FairQueue<Waiting>;
  private readonly perHost = new KeyedCounts();
  private running = 0;

  constructor(limits: TurnLimits) {
    this.limits = limits;
    this.waiting = new FairQueue(limits.waiting);
  }

  /**
   * Reads at once where the limits allow it, and otherwise in turn.
   * @throws Unreachable where too many reads wait, or this one has waited too long
   */
  async run<Content>(reader: Reader, read: () => Promise<Content>): Promise<Content> {
    const { host } = reader;
    if (this.isFree(host)) this.begin(host);
    else await this.turnOf(reader);
    try {
      return await read();
    } finally {
      this.end(host);
    }
  }

  private isFree(host: string): boolean {
    const { all, host: ofHost } = this.limits.atOnce;
    return this.running < all && this.perHost.of(host) < ofHost;
  }

  private begin(host: string): void {
    this.running++;
    this.perHost.add(host);
  }

  private end(host: string): void {
    this.running--;
    this.perHost.subtract(host);
    const next = this.waiting.next((each) => this.isFree(each.host));
    if (next === undefined) return;
    this.begin(next.host);
    next.begin();
  }

  private turnOf({ host, client }: Reader): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (): void => {
        clearTimeout(timer);
        reject(new Unreachable('too many documents are being read'));
      };
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const waiting: Waiting = { host, client, begin, refuse };
      const timer = setTimeout(() => {
        this.waiting.remove(client, waiting);
        refuse();
      }, this.limits.waitMs);
      this.waiting.add(client, waiting)?.refuse();
    });
  }
}
