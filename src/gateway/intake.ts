import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../errorText.ts';
import type { Audit, AuditedEnd } from '../audit/index.ts';
import type { ConfigState } from '../admin/index.ts';
import type { AddressLists, Model } from '../model/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { WorkerEndedError, type Plane } from '../workers/index.ts';
import { sameModel } from './sameModel.ts';

export interface IntakeOptions {
  /** The name of the source of the configuration. */
  readonly source: string;
  readonly plane: Pick<Plane, 'apply' | 'useAddresses' | 'view'>;
  readonly log: Logger;
  /** Records configurations; absent: nothing is recorded. */
  readonly audit?: Audit | undefined;
  /** Resolves (never rejects) when models may be taken. */
  readonly free: () => Promise<void> | undefined;
}

/** A model that may come into use, with what is to be said of it then, a line each. */
interface Offer {
  readonly model: Model;
  readonly warnings: readonly string[];
  /** Once before, a worker ended while it prepared it. */
  readonly again?: boolean;
}

/**
 * Brings configurations into use, one after the other, and knows which one is and what is wrong with the newest. One that
 * cannot be taken leaves the one before it as it is.
 */
export class Intake {
  private readonly options: IntakeOptions;
  private begun = false;
  private closed = false;
  private inUse: Model | undefined;
  private takenAt: number | undefined;
  private triedAt: number | undefined;
  private wrong: readonly string[] = [];
  private said: readonly string[] = [];
  /** Only the newest of those that wait counts. */
  private waiting: Offer | undefined;
  /** The latest offer; undefined if something came after it that cannot be offered. */
  private newest: Offer | undefined;
  private working: Promise<void> | undefined;

  constructor(options: IntakeOptions) {
    this.options = options;
  }

  get model(): Model | undefined {
    return this.inUse;
  }

  /**
   * Describes the configuration in use: when it was loaded, why a newer one was rejected, and its warnings, a
   * line each.
   */
  get state(): Pick<ConfigState, 'loadedAt' | 'triedAt' | 'problems' | 'warnings'> {
    return { loadedAt: this.takenAt, triedAt: this.triedAt, problems: this.wrong, warnings: this.said };
  }

  /** Resolves (never rejects) when none is half in use. */
  get settled(): Promise<void> {
    return this.working ?? Promise.resolve();
  }

  /** This one is in use: whatever is offered from now on, or was offered while it came into use, follows it. */
  begin(model: Model, warnings: readonly string[]): void {
    this.begun = true;
    this.taken({ model, warnings });
    this.work();
  }

  /** Another one, which is taken when its turn comes. */
  offer(model: Model, warnings: readonly string[]): void {
    this.put({ model, warnings });
  }

  /**
   * Another one, at once: whoever calls does so for one after the other.
   * @throws Error where it cannot be taken
   */
  async take(model: Model): Promise<void> {
    try {
      await this.options.plane.apply(model);
    } catch (error) {
      this.refuse([messageOf(error)]);
      throw error;
    }
    this.wrong = [];
    this.taken({ model, warnings: [] });
  }

  /** The same model with other addresses, like `take`. */
  async takeAddresses(model: Model, lists: AddressLists): Promise<void> {
    await this.options.plane.useAddresses(model, lists);
    this.inUse = model;
    this.takenAt = Date.now();
    this.options.log.debug('Addresses updated', { lists: lists.size });
  }

  /** The newest one cannot be taken, and for what reasons. */
  refuse(problems: readonly string[]): void {
    this.tried();
    this.newest = undefined;
    this.wrong = problems;
    this.logRefusal(problems);
  }

  /** Takes no further configurations. */
  close(): void {
    this.closed = true;
  }

  private put(offer: Offer): void {
    this.newest = offer;
    this.waiting = offer;
    this.work();
  }

  private work(): void {
    if (this.begun && this.waiting !== undefined) this.working ??= this.takeWaiting();
  }

  /** There is one that waits. */
  private async takeWaiting(): Promise<void> {
    for (let next = this.waiting; next !== undefined && !this.closed; next = this.waiting) {
      this.waiting = undefined;
      await this.options.free();
      if (!this.closed) await this.takeOne(next);
    }
    this.working = undefined;
  }

  private async takeOne(next: Offer): Promise<void> {
    const { plane, source } = this.options;
    try {
      if (!(await this.isInUse(next.model))) await plane.apply(next.model);
      // A plane that ends takes nothing more into use.
      if (this.closed) return;
      if (this.newest === next) this.wrong = [];
      this.taken(next);
    } catch (error) {
      if (this.closed) return;
      this.tried();
      const problems = [`${source}: ${messageOf(error)}`];
      if (this.newest === next) this.wrong = problems;
      this.logRefusal(problems);
      if (error instanceof WorkerEndedError && next.again !== true) void this.offerAgain(next, error.whole);
    }
  }

  /** A model with closed routes counts as another one: a file that they need may be there now. */
  private async isInUse(model: Model): Promise<boolean> {
    if (this.inUse === undefined || !(await sameModel(model, this.inUse))) return false;
    return (await this.options.plane.view()).brokenRoutes.length === 0;
  }

  /** A worker that died by chance must not keep an old configuration in use. One that dies of this one again, does. */
  private async offerAgain(offer: Offer, whole: Promise<void>): Promise<void> {
    await whole;
    if (this.closed || this.newest !== offer) return;
    this.options.log.info('All workers serve again; retrying the rejected configuration');
    this.put({ ...offer, again: true });
  }

  private logRefusal(problems: readonly string[]): void {
    this.record('config.reject', { outcome: 'refused', detail: problems.join('; ') });
    for (const problem of problems)
      this.options.log.error('Configuration rejected; the previous configuration stays in use', { problem });
  }

  /** Notes the end of an attempt, at a time that no other attempt has. */
  private tried(): number {
    this.triedAt = Math.max(Date.now(), (this.triedAt ?? 0) + 1);
    return this.triedAt;
  }

  private record(operation: string, end: AuditedEnd): void {
    const { audit, source } = this.options;
    const details = { kind: 'configuration', name: source };
    audit?.record({ time: Date.now(), operation, caller: {}, details }, end);
  }

  private taken({ model, warnings }: Offer): void {
    const { log, source } = this.options;
    const previous = this.inUse;
    this.inUse = model;
    this.takenAt = this.tried();
    this.said = warnings;
    for (const warning of warnings) log.warn(warning);
    if (previous === undefined) return;
    this.record('config.load', { outcome: 'ok' });
    log.info('Configuration loaded', { source });
    if (!isDeepStrictEqual(previous.process.fixed, model.process.fixed)) {
      log.warn('Startup settings in `config` changed; they take effect after a restart or an upgrade');
    }
  }
}
