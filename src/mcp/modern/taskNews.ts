import type { ItemRules } from '../items/itemRules.ts';
import type { Session } from '../session/session.ts';
import type { TargetConnection } from '../targets/kind/target.ts';

interface Watched {
  readonly target: TargetConnection;
  /** As the server calls the task. */
  readonly id: string;
}

/** The tasks that one stream of a client hears of (tasks extension, "Task Status Notifications"). */
export class TaskNews {
  private readonly session: Session;
  private readonly itemRules: ItemRules | undefined;
  private watched: readonly Watched[] = [];
  private isOver = false;

  constructor(session: Session, itemRules: ItemRules | undefined) {
    this.session = session;
    this.itemRules = itemRules;
  }

  /**
   * Asks the servers for news. Tasks of other callers are left out, as are those that the rules hide or whose server has
   * no news of them.
   * @param handles the tasks as the client calls them
   */
  async watch(handles: readonly string[]): Promise<readonly string[]> {
    const found = await Promise.all(
      handles.map(async (handle) => {
        const task = this.ownerOf(handle);
        const isWatched = await task?.target.watchTask?.(task.id);
        return task === undefined || isWatched !== true ? [] : [{ handle, task }];
      }),
    );
    this.watched = found.flat().map(({ task }) => task);
    if (this.isOver) this.end();
    return found.flat().map(({ handle }) => handle);
  }

  /** The stream has ended. */
  end(): void {
    this.isOver = true;
    for (const { target, id } of this.watched) target.unwatchTask?.(id);
    this.watched = [];
  }

  private ownerOf(handle: string): Watched | undefined {
    const { targets } = this.session;
    for (const target of targets.values()) {
      const task = targets.tasksOf(target).opened(handle, targets.readerOf(target), this.itemRules);
      if (task !== undefined) return { target, id: task.id };
    }
    return undefined;
  }
}
