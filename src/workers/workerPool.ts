import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../errorText.ts';
import { within } from '../within.ts';
import { withoutRoutes, type Model } from '../model/index.ts';
import type { RelayPeer } from '../proxy/index.ts';
import type { RootLogger } from '../telemetry/index.ts';
import { sendRoutes } from './modelTransfer.ts';
import type { WorkerSlot } from './workerSlot.ts';
import type { Start } from './workerMessages.ts';
import type { Sockets } from './sockets.ts';
import { WorkerProcess, type WorkerProcessOptions } from './workerProcess.ts';

/** All in milliseconds. */
export interface Pace {
  /** Between two looks at the workers. */
  readonly checkMs: number;
  /** A worker that gives no sign of life for so long hangs, and is replaced. */
  readonly hangMs: number;
  /** The same while it starts or prepares a configuration, which may keep it busy. */
  readonly busyMs: number;
}

export const defaultPace: Pace = { checkMs: 1_000, hangMs: 10_000, busyMs: 60_000 };

export interface WorkerPoolOptions extends Pick<
  WorkerProcessOptions,
  'out' | 'err' | 'withheld' | 'records' | 'counter'
> {
  readonly slots: readonly WorkerSlot[];
  readonly sockets: Sockets;
  readonly log: RootLogger;
  readonly pace: Pace;
  /** The model that a worker starts with. It does not change while a worker starts. */
  readonly model: () => Model;
  /** The data that a worker needs to start now. */
  readonly startOf: (of: Pick<Start, 'worker' | 'owner' | 'relayPath' | 'peers' | 'model'>) => Start;
  /** The path of the socket on which others reach this run of a worker. */
  readonly relayPathOf: (owner: string) => string;
  /** A process is gone that had been serving. */
  readonly onLost: (process: WorkerProcess) => void;
}

/** The time that a start waits for the other workers to know of it, in milliseconds. */
const announceTimeoutMs = 1_000;
/** The time for a worker to end itself, beyond the time for its MCP servers. */
const endTimeoutMs = 2_000;

/**
 * Keeps every place filled: starts workers, notices those that die or hang, lends their sockets to a neighbour until
 * their successor is there, and waits ever longer where one dies over and over.
 */
export class WorkerPool {
  private readonly options: WorkerPoolOptions;
  private readonly checkTimer: NodeJS.Timeout;
  private checkedAt = performance.now();
  private ending = false;
  /** Ends the waits before restarts. */
  private readonly stopped = new AbortController();
  /** A model and the start of a worker do not cross: the worker would miss it. */
  private held: Promise<void> | undefined;
  private readonly launching = new Set<Promise<unknown>>();
  /** Another worker serves, or the end has come. */
  private change = Promise.withResolvers<void>();

  constructor(options: WorkerPoolOptions) {
    this.options = options;
    this.checkTimer = setInterval(() => this.checkWorkers(), options.pace.checkMs).unref();
  }

  /** The processes that can be asked to do something. */
  get serving(): readonly { readonly worker: number; readonly process: WorkerProcess }[] {
    return this.options.slots.flatMap(({ worker, state, process }) =>
      state === 'serving' && process !== undefined ? [{ worker, process }] : [],
    );
  }

  /**
   * Fills every place for the first time.
   * @throws Error when a worker does not come up
   */
  async start(): Promise<void> {
    const { slots } = this.options;
    const launched = await Promise.allSettled(slots.map((slot) => this.launch(slot)));
    for (const outcome of launched) if (outcome.status === 'rejected') throw outcome.reason;
    for (const slot of slots) void this.keepFilled(slot);
  }

  /** Runs `work` while no worker starts. */
  async holdStarts<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.held = promise;
    try {
      await Promise.allSettled([...this.launching]);
      return await work();
    } finally {
      this.held = undefined;
      resolve();
    }
  }

  /** The workers that hold MCP sessions, or are about to. */
  private get peers(): readonly RelayPeer[] {
    return this.options.slots.flatMap(({ worker, state, process }) => {
      if (process === undefined || state === 'waiting') return [];
      const { owner } = process;
      return [{ worker, owner, path: this.options.relayPathOf(owner) }];
    });
  }

  /** Tells all processes, those that are just starting among them; one that is gone need not know. */
  async broadcast(what: (process: WorkerProcess) => Promise<unknown>): Promise<void> {
    await Promise.allSettled(
      this.options.slots.flatMap(({ process }) => (process === undefined ? [] : [what(process)])),
    );
  }

  /** Resolves (never rejects) when every place is served, by none of these that have ended, or the end has come. */
  async whenComplete(gone: ReadonlySet<WorkerProcess>): Promise<void> {
    const isServed = ({ state, process }: WorkerSlot): boolean =>
      state === 'serving' && process !== undefined && !gone.has(process);
    while (!this.ending && !this.options.slots.every(isServed)) await this.change.promise;
  }

  /** Stops the replacement of dead workers. */
  stop(): void {
    this.ending = true;
    this.stopped.abort();
    this.changed();
  }

  /** Ends every process. Never rejects. */
  async end(graceMs: number): Promise<void> {
    this.stop();
    clearInterval(this.checkTimer);
    await this.broadcast(async (process) => {
      const last = setTimeout(() => process.kill(), graceMs + endTimeoutMs);
      process.link.ask('end', { graceMs }).catch(() => undefined);
      await process.ended;
      clearTimeout(last);
    });
  }

  /** Never rejects. */
  private async keepFilled(slot: WorkerSlot): Promise<void> {
    const { log } = this.options;
    while (slot.process !== undefined) {
      const { process, worker } = slot;
      const { pid } = process;
      const how = await process.ended;
      if (this.ending) return;
      log.error('Worker ended: its connections are lost, a replacement starts', {
        worker,
        pid,
        how,
      });
      this.options.onLost(process);
      let wait = slot.processEnded(performance.now() - process.startedAt);
      this.lendSockets();
      void this.announcePeers();
      for (;;) {
        if (wait > 0)
          log.warn('Worker ended soon after its start; delaying the next start', { worker, nextTryMs: wait });
        if (!(await this.pause(wait))) return;
        try {
          await this.launch(slot);
          break;
        } catch (error) {
          if (this.ending) return;
          log.error(messageOf(error), { worker });
          wait = slot.processEnded(0);
        }
      }
      this.returnSockets(slot);
      log.info('Worker replaced', { worker, pid: slot.process?.pid });
    }
  }

  /**
   * Starts a process for a slot.
   * @throws Error when it does not come up; nothing is left of it then
   */
  private async launch(slot: WorkerSlot): Promise<void> {
    while (this.held !== undefined) await this.held;
    if (this.ending) throw new Error('the gateway is shutting down');
    const launched = this.startWorker(slot);
    this.launching.add(launched);
    try {
      await launched;
    } finally {
      this.launching.delete(launched);
    }
  }

  private async startWorker(slot: WorkerSlot): Promise<void> {
    const { worker } = slot;
    const { out, err, withheld, records, counter, sockets, startOf, relayPathOf } = this.options;
    const process = new WorkerProcess({ worker, out, err, withheld, records, counter });
    slot.process = process;
    slot.state = 'starting';
    process.busy = true;
    try {
      for (const [key, handle] of sockets.of(worker))
        ignoreFailure(process.link.ask('socket', { key }, handle));
      const model = await sendRoutes(process.link, withoutRoutes(this.options.model()));
      // A session that it opens must not be unknown to the others for a moment.
      await this.announcePeers();
      const { owner } = process;
      const { peers } = this;
      await process.link.ask(
        'start',
        startOf({ worker, owner, relayPath: relayPathOf(owner), peers, model }),
      );
    } catch (error) {
      process.kill();
      const how = await process.ended;
      const reason = error instanceof Error && error.name !== 'LinkClosed' ? error.message : how;
      throw new Error(`worker could not be started: ${reason}`, { cause: error });
    }
    process.settled();
    slot.state = 'serving';
    this.changed();
  }

  private changed(): void {
    this.change.resolve();
    this.change = Promise.withResolvers();
  }

  /** Tells all who is there; resolves (never rejects) when those that serve know it, or are late. */
  private async announcePeers(): Promise<void> {
    const { peers, serving: served } = this;
    const serving = new Set(served.map(({ process }) => process));
    const announced: Promise<unknown>[] = [];
    for (const { process } of this.options.slots) {
      const asked = process?.link.ask('peers', peers).catch(() => undefined);
      if (asked !== undefined && process !== undefined && serving.has(process)) announced.push(asked);
    }
    await within(announceTimeoutMs, Promise.all(announced));
  }

  /** Lends the sockets of an empty place to a neighbour, which accepts the connections that wait there. */
  private lendSockets(): void {
    const { serving: served } = this;
    const neighbour = served[0]?.process;
    if (neighbour === undefined) return;
    for (const slot of this.options.slots) {
      if (slot.state === 'serving' || served.some(({ process }) => process === slot.lentTo)) continue;
      slot.lentTo = neighbour;
      for (const [key, handle] of this.options.sockets.of(slot.worker))
        ignoreFailure(neighbour.link.ask('lend', { key, of: slot.worker }, handle));
    }
  }

  private returnSockets(slot: WorkerSlot): void {
    const { lentTo: heldBy, worker } = slot;
    slot.lentTo = undefined;
    if (heldBy !== undefined) ignoreFailure(heldBy.link.ask('takeBack', { of: worker }));
  }

  private checkWorkers(): void {
    const { pace, slots, log } = this.options;
    const now = performance.now();
    // A main process that was stopped or starved cannot tell which worker hangs.
    const asleep = now - this.checkedAt > pace.checkMs + pace.hangMs / 2;
    this.checkedAt = now;
    for (const { process, worker, state } of slots) {
      // While a place waits for its next try, the process is the one that has ended.
      if (process === undefined || state === 'waiting') continue;
      if (asleep) process.seenAt = now;
      const silentMs = now - process.seenAt;
      if (silentMs > (process.busy ? pace.busyMs : pace.hangMs)) {
        log.error('Worker unresponsive; killed', {
          worker,
          pid: process.pid,
          silentMs: Math.round(silentMs),
        });
        process.kill();
      } else process.askForLife();
    }
  }

  /** False when the end comes before the time is over. */
  private pause(ms: number): Promise<boolean> {
    return delay(ms, true, { signal: this.stopped.signal }).catch(() => false);
  }
}

/** A process that does not get it is about to be replaced. */
const ignoreFailure = (asked: Promise<unknown>): void => void asked.catch(() => undefined);
