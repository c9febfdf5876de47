import type { WorkerState, WorkerView } from './contract.ts';
import type { WorkerProcess } from './workerProcess.ts';

/** A worker that lived for so long has done well, in milliseconds: the next one is started at once. */
const longLifeMs = 60_000;
const firstWaitMs = 250;
const longestWaitMs = 30_000;

/** The place of one worker: processes that fill it come and go, and its sockets stay. */
export class WorkerSlot {
  /** Counts from 1. */
  readonly worker: number;
  state: WorkerState = 'starting';
  /** The last one; dead where the state is `waiting`. */
  process: WorkerProcess | undefined;
  restarts = 0;
  /** The process that accepts on the sockets of this place while it has none of its own. */
  lentTo: WorkerProcess | undefined;
  private shortLives = 0;

  constructor(worker: number) {
    this.worker = worker;
  }

  get view(): WorkerView {
    const { worker, state, restarts } = this;
    return { worker, state, pid: state === 'waiting' ? undefined : this.process?.pid, restarts };
  }

  /**
   * Its process is gone.
   * @returns how long to wait before the next one, in milliseconds: not at all, and longer each time it dies young
   */
  processEnded(livedMs: number): number {
    this.state = 'waiting';
    this.restarts++;
    this.shortLives = livedMs >= longLifeMs ? 0 : this.shortLives + 1;
    return this.shortLives <= 1 ? 0 : Math.min(firstWaitMs * 2 ** (this.shortLives - 2), longestWaitMs);
  }
}
