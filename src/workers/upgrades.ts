import { messageOf } from '../errorText.ts';
import type { Metrics, RootLogger } from '../telemetry/index.ts';
import type { Inheritance, UpgradeCounts } from './inheritance.ts';
import { startSuccessor, type Program, type Successor } from './successor.ts';

/** A start may wait for workers, each of which may take a minute. */
const timeoutMs = 120_000;

export interface UpgradesOptions {
  readonly log: RootLogger;
  readonly metrics: Metrics;
  /** Undefined where this process cannot be followed by another one. */
  readonly program: Program | undefined;
  /** Names of environment variables that hold secrets. */
  readonly withheld: () => readonly string[];
  /** The counts of the program before this one. */
  readonly before: UpgradeCounts | undefined;
}

/** Has other programs take the place of this one: one attempt at a time, each counted, and told in the log. */
export class Upgrades {
  private readonly options: UpgradesOptions;
  private success: number;
  private failure: number;
  private attempt: { readonly over: Promise<void>; readonly stop: AbortController } | undefined;

  constructor(options: UpgradesOptions) {
    this.options = options;
    const { before, metrics } = options;
    this.success = before === undefined ? 0 : before.success + 1;
    this.failure = before?.failure ?? 0;
    metrics.collect(
      'upgrades_total',
      'Attempts to have a new program take the place of the running one.',
      'counter',
      ['result'],
      () => [
        { labels: { result: 'success' }, value: this.success },
        { labels: { result: 'failure' }, value: this.failure },
      ],
    );
  }

  /** Resolves (never rejects) when no attempt is under way. */
  get settled(): Promise<void> {
    return this.attempt?.over ?? Promise.resolve();
  }

  /**
   * @param give asked for what the new program inherits
   * @throws Error saying why there is no new program; this one goes on then
   */
  async begin(give: () => Omit<Inheritance, 'upgrades'>): Promise<Successor> {
    if (this.attempt !== undefined) throw new Error('another upgrade is in progress');
    const stop = new AbortController();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.attempt = { over, stop };
    const { log } = this.options;
    try {
      const program = this.startable();
      log.info('Upgrade started', { program: program.file });
      const inheritance = { ...give(), upgrades: { success: this.success, failure: this.failure } };
      const successor = await startSuccessor({
        program,
        inheritance,
        withheld: this.options.withheld(),
        timeoutMs,
        signal: stop.signal,
      });
      this.success++;
      log.info('Upgrade: the new process serves', { pid: successor.pid, version: successor.version });
      return successor;
    } catch (error) {
      this.failure++;
      const problem = messageOf(error);
      log.error('Upgrade failed; this process continues', { problem });
      throw error;
    } finally {
      this.attempt = undefined;
      resolve();
    }
  }

  /** Gives up what is under way. */
  stop(): void {
    this.attempt?.stop.abort();
  }

  private startable(): Program {
    const { program } = this.options;
    if (program === undefined)
      throw new Error('an upgrade requires a gateway that was started by `portcullis run`');
    if (process.pid === 1)
      throw new Error(
        'an upgrade would end process 1, and the container with it: replace the container instead',
      );
    return program;
  }
}
