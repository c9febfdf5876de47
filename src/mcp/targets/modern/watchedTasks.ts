import type { ListenStream } from './listenStream.ts';

/** Tasks of one session. Their ids are short, so that no more than their number has to be limited. */
const maxTasks = 256;

/** The tasks of a server that streams of the client want to hear of. */
export class WatchedTasks {
  /** Task → the number of streams that want to hear of it. */
  private readonly wanted = new Map<string, number>();
  private waiting: { readonly id: string; readonly told: (isWatched: boolean) => void }[] = [];

  get ids(): readonly string[] {
    return [...this.wanted.keys()];
  }

  /** @returns false where there is no room */
  add(id: string): boolean {
    const before = this.wanted.get(id) ?? 0;
    if (before === 0 && this.wanted.size >= maxTasks) return false;
    this.wanted.set(id, before + 1);
    return true;
  }

  delete(id: string): void {
    const left = (this.wanted.get(id) ?? 0) - 1;
    if (left > 0) this.wanted.set(id, left);
    else this.wanted.delete(id);
  }

  /** Resolves when a stream that asks for the task is acknowledged or over. */
  settled(id: string): Promise<boolean> {
    return new Promise((told) => this.waiting.push({ id, told }));
  }

  /** A stream is acknowledged, or over: then the server tells of nothing. */
  settle({ tasks, watchedTasks }: Pick<ListenStream, 'tasks' | 'watchedTasks'>): void {
    const { waiting } = this;
    this.waiting = waiting.filter(({ id }) => !tasks.has(id));
    for (const { id, told } of waiting) {
      if (!tasks.has(id)) continue;
      if (!watchedTasks.has(id)) this.delete(id);
      told(watchedTasks.has(id));
    }
  }

  /** The session is over. */
  close(): void {
    for (const { told } of this.waiting.splice(0)) told(false);
  }
}
