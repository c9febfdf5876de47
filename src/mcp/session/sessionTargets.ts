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

type TargetName = Pick<TargetConnection, 'name'>;

/** The facts about a connection. */
interface TargetRow {
  /** The target in the configuration of the newest request. */
  configured: McpTarget | undefined;
  /** Names of tasks in the messages of the session. */
  tasks: TaskIds | undefined;
  /** Made of `configured`, for each message anew otherwise. */
  reader: TaskReader | undefined;
}

/** The connections of a session by name, each with its row in the configuration and the names of its tasks. */
export class SessionTargets {
  private readonly holder: TaskHolder;
  private readonly tasks: TaskRegistry;
  private readonly connections = new Map<string, TargetConnection>();
  /** A call reads all facts about its target here. The tables of many sessions fit into no cache, so each has one. */
  private readonly rows = new Map<string, TargetRow>();

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
    const row = this.rowOf(connection);
    row.configured = target;
    row.reader = undefined;
  }

  /** A server that belongs to the session no more. */
  remove({ name }: TargetConnection): void {
    this.connections.delete(name);
    this.rows.delete(name);
  }

  /**
   * Takes note of what the configuration calls the one server of the session now.
   * @returns false where it names it no more, or several
   */
  follow({ targets, pin }: McpBackend): boolean {
    if (targets.length > 1 || pin !== undefined) return false;
    for (const row of this.rows.values()) {
      row.reader = undefined;
      const opened = row.configured;
      if (opened === undefined) continue;
      const now = targetNow(opened, targets);
      if (now === undefined) return false;
      // A child stays what it was started as.
      row.configured = isOverNetwork(now) ? now : { ...opened, name: now.name };
    }
    return true;
  }

  /** The target that the configuration has for the server of a connection; undefined where it names the server no more. */
  targetIn(connection: TargetConnection, { targets }: McpBackend): McpTarget | undefined {
    const opened = this.rows.get(connection.name)?.configured;
    return opened && targetNow(opened, targets);
  }

  /** The target's name in the configuration of the newest request. */
  nameOf(target: TargetConnection): string {
    return this.rows.get(target.name)?.configured?.name ?? target.name;
  }

  /** Names of tasks in the messages of one target. */
  tasksOf(target: TargetName): TaskIds {
    const row = this.rowOf(target);
    return (row.tasks ??= new TaskIds(this.tasks));
  }

  /** The reader of tasks that the session may name at a target. */
  readerOf(target: TargetConnection): TaskReader {
    const row = this.rowOf(target);
    return (row.reader ??= this.newReader(target, row.configured));
  }

  /** The reader of tasks that the session may name at a target that is not connected. */
  readerAt(target: McpTarget): TaskReader {
    return this.newReader(target, target);
  }

  private rowOf({ name }: TargetName): TargetRow {
    let row = this.rows.get(name);
    if (row === undefined)
      this.rows.set(name, (row = { configured: undefined, tasks: undefined, reader: undefined }));
    return row;
  }

  private newReader({ name }: TargetName, configured: McpTarget | undefined): TaskReader {
    const { principal, label, federation } = this.holder;
    const remote = configured !== undefined && isOverNetwork(configured) ? serverOf(configured) : undefined;
    // A child serves one target of one session. Two targets may lead to one server, which tells their sessions apart.
    const server =
      remote !== undefined && federation === undefined ? remote : JSON.stringify([remote ?? label, name]);
    return { server, principal, session: label, target: configured?.name ?? name };
  }
}
