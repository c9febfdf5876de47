import type { McpBackend, McpTarget } from '../../model/index.ts';
import { isOverNetwork } from '../targets/facts.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import { serverOf, targetNow } from '../targets/sameServer.ts';
import { TaskIds, type TaskReader } from './taskIds.ts';
import type { TaskRegistry } from './taskRegistry.ts';

/** The session that the targets belong to, as its tasks need to know it. */
export interface TaskHolder {
  readonly label: string;
  readonly principal: string | undefined;
  /** Set where the session has several targets, or had them once. */
  readonly federation: object | undefined;
}

/** The connections of a session by name, each with its row in the configuration and the names of its tasks. */
export class SessionTargets {
  private readonly holder: TaskHolder;
  private readonly tasks: TaskRegistry;
  private readonly connections = new Map<string, TargetConnection>();
  /** The targets in the configuration of the newest request, by the names of their connections. */
  private readonly configured = new Map<string, McpTarget>();
  /** Names of tasks in the messages of the session, by the names of the connections. */
  private readonly taskIds = new Map<string, TaskIds>();
  /** Made of `configured`, for each message anew otherwise. */
  private readonly readers = new Map<string, TaskReader>();

  /** @param tasks of the process */
  constructor(holder: TaskHolder, tasks: TaskRegistry) {
    this.holder = holder;
    this.tasks = tasks;
  }

  values(): MapIterator<TargetConnection> {
    return this.connections.values();
  }

  get(name: string): TargetConnection | undefined {
    return this.connections.get(name);
  }

  /** The only target of a session without a federation. */
  get first(): TargetConnection | undefined {
    for (const target of this.connections.values()) return target;
    return undefined;
  }

  /** A server of the session, from its beginning on. */
  add(target: McpTarget, connection: TargetConnection): void {
    this.connections.set(connection.name, connection);
    this.configured.set(connection.name, target);
    this.readers.delete(connection.name);
  }

  /** A server that belongs to the session no more. */
  remove({ name }: TargetConnection): void {
    this.taskIds.delete(name);
    this.connections.delete(name);
    this.configured.delete(name);
    this.readers.delete(name);
  }

  /**
   * Takes note of what the configuration calls the one server of the session now.
   * @returns false where it names it no more, or several
   */
  follow({ targets, pin }: McpBackend): boolean {
    if (targets.length > 1 || pin !== undefined) return false;
    this.readers.clear();
    for (const [name, opened] of this.configured) {
      const now = targetNow(opened, targets);
      if (now === undefined) return false;
      // A child stays what it was started as.
      this.configured.set(name, isOverNetwork(now) ? now : { ...opened, name: now.name });
    }
    return true;
  }

  /** The target that the configuration has for the server of a connection; undefined where it names the server no more. */
  targetIn(connection: TargetConnection, { targets }: McpBackend): McpTarget | undefined {
    const opened = this.configured.get(connection.name);
    return opened && targetNow(opened, targets);
  }

  /** The target's name in the configuration of the newest request. */
  nameOf(target: TargetConnection): string {
    return this.configured.get(target.name)?.name ?? target.name;
  }

  /** Names of tasks in the messages of one target. */
  tasksOf({ name }: Pick<TargetConnection, 'name'>): TaskIds {
    let ids = this.taskIds.get(name);
    if (ids === undefined) this.taskIds.set(name, (ids = new TaskIds(this.tasks)));
    return ids;
  }

  /** The reader of tasks that the session may name at a target. */
  readerOf(target: TargetConnection): TaskReader {
    let reader = this.readers.get(target.name);
    if (reader === undefined) this.readers.set(target.name, (reader = this.newReader(target)));
    return reader;
  }

  private newReader(target: TargetConnection): TaskReader {
    const { principal, label, federation } = this.holder;
    const configured = this.configured.get(target.name);
    const remote = configured !== undefined && isOverNetwork(configured) ? serverOf(configured) : undefined;
    // A child serves one target of one session. Two targets may lead to one server, which tells their sessions apart.
    const server =
      remote !== undefined && federation === undefined
        ? remote
        : JSON.stringify([remote ?? label, target.name]);
    return { server, principal, session: label, target: this.nameOf(target) };
  }
}
