import type { StdioTarget } from '../../../model/index.ts';
import { childEnvironment } from './environment.ts';
import type { Budget } from '../../limits/budget.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { Child, type ChildEvents } from './child.ts';
import { Reaper } from './reaper.ts';
import { Slots } from './slots.ts';

export interface ChildrenOptions {
  readonly budget: Budget;
  readonly log: Logger;
  readonly maxLineBytes: () => number;
  /** Names of environment variables that children never inherit; may grow. */
  readonly secrets: ReadonlySet<string>;
  /** Hears of every process group, by the id of its leader: when it is there, and when nothing is left of it. */
  readonly onGroup?: (leader: number, alive: boolean) => void;
}

/** Every child process of the gateway: who may have one, one flush a turn for all, and the last resort at exit. */
export class Children {
  readonly slots: Slots;
  private readonly options: ChildrenOptions;
  private readonly live = new Set<Child>();
  private readonly reaper: Reaper;
  private dirty: Child[] = [];
  private readonly onProcessExit = (): void => {
    for (const child of this.live) child.kill();
  };

  constructor(options: ChildrenOptions) {
    this.options = options;
    this.slots = new Slots(options.budget);
    this.reaper = new Reaper(options.log);
    // An exit that skips close() (a second signal, a crash) must not leave groups behind.
    process.on('exit', this.onProcessExit);
  }

  get size(): number {
    return this.live.size;
  }

  /**
   * @param injected values of the caller for its environment
   * @throws where the operating system refuses the arguments themselves
   */
  start(target: StdioTarget, events: ChildEvents, injected?: Readonly<Record<string, string>>): Child {
    const env = childEnvironment(target, this.options.secrets, process.env, injected);
    const child = new Child(target, env, this.options.maxLineBytes, events);
    const { pid } = child;
    this.live.add(child);
    if (pid !== undefined) this.tell(pid, true);
    void child.gone.then(() => {
      this.live.delete(child);
      if (pid !== undefined) this.tell(pid, false);
    });
    return child;
  }

  /** Queues a line; all lines of one turn of the event loop go out with one write a child. */
  write(child: Child, line: string): void {
    child.write(line);
    if (this.dirty.push(child) === 1) setImmediate(this.flush);
  }

  /**
   * Waits for the children that are left, such as those of sessions that ended a moment ago, which now get no more
   * than `graceMs`. Resolves when there is none.
   */
  async close(graceMs: number): Promise<void> {
    const leaving = [...this.live].map((child) => {
      child.stop(graceMs);
      return child.gone;
    });
    await Promise.all(leaving);
    await this.reaper.close();
    process.off('exit', this.onProcessExit);
  }

  private tell(leader: number, alive: boolean): void {
    if (alive) this.reaper.add(leader);
    else this.reaper.remove(leader);
    this.options.onGroup?.(leader, alive);
  }

  private readonly flush = (): void => {
    const children = this.dirty;
    this.dirty = [];
    for (const child of children) child.flush();
  };
}
