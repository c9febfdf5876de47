import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../errorText.ts';
import { withoutRoutes, type Model } from '../model/index.ts';
import type { RelayPeer } from '../proxy/index.ts';
import type { RootLogger } from '../telemetry/index.ts';
import { sendRoutes } from './modelTransfer.ts';
import type { Place } from './place.ts';
import type { Start } from './questions.ts';
import type { Sockets } from './sockets.ts';
import { WorkerProcess, type WorkerProcessOptions } from './workerProcess.ts';

/** All in milliseconds. */
export interface Pace {
  /** Between two looks at the workers. */
  readonly lookMs: number;
  /** A worker that gives no sign of life for so long hangs, and is replaced. */
  readonly hangMs: number;
  /** The same while it starts or prepares a configuration, which may keep it busy. */
  readonly busyMs: number;
}

export const defaultPace: Pace = { lookMs: 1_000, hangMs: 10_000, busyMs: 60_000 };

export interface CrewOptions extends Pick<WorkerProcessOptions, 'out' | 'err' | 'withheld' | 'counter'> {
  readonly places: readonly Place[];
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
const announceMs = 1_000;
/** The time for a worker to end itself, beyond the time for its MCP servers. */
const lastWordMs = 2_000;

/**
 * Keeps every place filled: starts workers, notices those that die or hang, lends their sockets to a neighbour until
 * their successor is there, and waits ever longer where one dies over and over.
 */
export class Crew {
  private readonly options: CrewOptions;
  private readonly looking: NodeJS.Timeout;
  private lookedAt = performance.now();
  private ending = false;
  /** Ends the waits before restarts. */
  private readonly stopped = new AbortController();
  /** A model and the start of a worker do not cross: the worker would miss it. */
  private held: Promise<void> | undefined;
  private readonly launching = new Set<Promise<unknown>>();
  /** Another worker serves, or the end has come. */
  private change = Promise.withResolvers<void>();

  constructor(options: CrewOptions) {
    this.options = options;
    this.looking = setInterval(() => this.look(), options.pace.lookMs).unref();
  }

  /** The processes that can be asked to do something. */
  get served(): readonly { readonly worker: number; readonly process: WorkerProcess }[] {
    return this.options.places.flatMap(({ worker, state, process }) =>
      state === 'serving' && process !== undefined ? [{ worker, process }] : [],
    );
  }

  /**
   * Fills every place for the first time.
   * @throws Error when a worker does not come up
   */
  async begin(): Promise<void> {
    const { places } = this.options;
    const launched = await Promise.allSettled(places.map((place) => this.launch(place)));
    for (const outcome of launched) if (outcome.status === 'rejected') throw outcome.reason;
    for (const place of places) void this.keepFilled(place);
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
    return this.options.places.flatMap(({ worker, state, process }) => {
      if (process === undefined || state === 'waiting') return [];
      const { owner } = process;
      return [{ worker, owner, path: this.options.relayPathOf(owner) }];
    });
  }

  /** Tells all processes, those that are just starting among them; one that is gone need not know. */
  async tell(what: (process: WorkerProcess) => Promise<unknown>): Promise<void> {
    await Promise.allSettled(
      this.options.places.flatMap(({ process }) => (process === undefined ? [] : [what(process)])),
    );
  }

  /** Resolves (never rejects) when every place is served, by none of these that have ended, or the end has come. */
  async whole(gone: ReadonlySet<WorkerProcess>): Promise<void> {
    const isServed = ({ state, process }: Place): boolean =>
      state === 'serving' && process !== undefined && !gone.has(process);
    while (!this.ending && !this.options.places.every(isServed)) await this.change.promise;
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
    clearInterval(this.looking);
    await this.tell(async (process) => {
      const last = setTimeout(() => process.kill(), graceMs + lastWordMs);
      process.link.ask('end', { graceMs }).catch(() => undefined);
      await process.ended;
      clearTimeout(last);
    });
  }

  /** Never rejects. */
  private async keepFilled(place: Place): Promise<void> {
    const { log } = this.options;
    while (place.process !== undefined) {
      const { process, worker } = place;
      const { pid } = process;
      const how = await process.ended;
      if (this.ending) return;
      log.error('a worker has ended: its connections are lost, another one takes its place', {
        worker,
        pid,
        how,
      });
      this.options.onLost(process);
      let wait = place.emptied(performance.now() - process.startedAt);
      this.lend();
      void this.announce();
      for (;;) {
        if (wait > 0) log.warn('a worker has died again soon after its start', { worker, nextTryMs: wait });
        if (!(await this.pause(wait))) return;
        try {
          await this.launch(place);
          break;
        } catch (error) {
          if (this.ending) return;
          log.error(messageOf(error), { worker });
          wait = place.emptied(0);
        }
      }
      this.giveBack(place);
      log.info('a worker has taken its place', { worker, pid: place.process?.pid });
    }
  }

  /**
   * Starts a process for a place.
   * @throws Error when it does not come up; nothing is left of it then
   */
  private async launch(place: Place): Promise<void> {
    while (this.held !== undefined) await this.held;
    if (this.ending) throw new Error('the gateway ends');
    const launched = this.comeUp(place);
    this.launching.add(launched);
    try {
      await launched;
    } finally {
      this.launching.delete(launched);
    }
  }

  private async comeUp(place: Place): Promise<void> {
    const { worker } = place;
    const { out, err, withheld, counter, sockets, startOf, relayPathOf } = this.options;
    const process = new WorkerProcess({ worker, out, err, withheld, counter });
    place.process = process;
    place.state = 'starting';
    process.busy = true;
    try {
      for (const [key, handle] of sockets.of(worker)) tellSoon(process.link.ask('socket', { key }, handle));
      const model = await sendRoutes(process.link, withoutRoutes(this.options.model()));
      // A session that it opens must not be unknown to the others for a moment.
      await this.announce();
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
      throw new Error(`a worker could not be started: ${reason}`, { cause: error });
    }
    process.settled();
    place.state = 'serving';
    this.changed();
  }

  private changed(): void {
    this.change.resolve();
    this.change = Promise.withResolvers();
  }

  /** Tells all who is there; resolves (never rejects) when those that serve know it, or are late. */
  private async announce(): Promise<void> {
    const { peers, served } = this;
    const serving = new Set(served.map(({ process }) => process));
    const told: Promise<unknown>[] = [];
    for (const { process } of this.options.places) {
      const asked = process?.link.ask('peers', peers).catch(() => undefined);
      if (asked !== undefined && process !== undefined && serving.has(process)) told.push(asked);
    }
    const late = delay(announceMs, undefined, { ref: false });
    await Promise.race([Promise.all(told), late]);
  }

  /** Lends the sockets of an empty place to a neighbour, which accepts the connections that wait there. */
  private lend(): void {
    const { served } = this;
    const neighbour = served[0]?.process;
    if (neighbour === undefined) return;
    for (const place of this.options.places) {
      if (place.state === 'serving' || served.some(({ process }) => process === place.heldBy)) continue;
      place.heldBy = neighbour;
      for (const [key, handle] of this.options.sockets.of(place.worker))
        tellSoon(neighbour.link.ask('lend', { key, of: place.worker }, handle));
    }
  }

  private giveBack(place: Place): void {
    const { heldBy, worker } = place;
    place.heldBy = undefined;
    if (heldBy !== undefined) tellSoon(heldBy.link.ask('takeBack', { of: worker }));
  }

  private look(): void {
    const { pace, places, log } = this.options;
    const now = performance.now();
    // A main process that was stopped or starved cannot tell which worker hangs.
    const asleep = now - this.lookedAt > pace.lookMs + pace.hangMs / 2;
    this.lookedAt = now;
    for (const { process, worker, state } of places) {
      // While a place waits for its next try, the process is the one that has ended.
      if (process === undefined || state === 'waiting') continue;
      if (asleep) process.seenAt = now;
      const silentMs = now - process.seenAt;
      if (silentMs > (process.busy ? pace.busyMs : pace.hangMs)) {
        log.error('a worker hangs and is killed', {
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
const tellSoon = (asked: Promise<unknown>): void => void asked.catch(() => undefined);
