import { createHash } from 'node:crypto';
import { ownCopy } from '../../ownCopy.ts';
import { principalMark, sameMark } from './carriedState.ts';
import type { ItemKind } from '../items/items.ts';
import type { SessionSeal } from './sessionId.ts';

/** The item whose use made a task. */
export interface TaskItem {
  readonly kind: ItemKind;
  /** The target's own name for it. */
  readonly name: string;
}

export interface KnownTask {
  /** As the server calls it. */
  readonly id: string;
  /** As the client calls it. */
  readonly handle: string;
  /** Undefined for a task that no item made. */
  readonly item: TaskItem | undefined;
}

/** The owner of tasks, and their server. */
export interface TaskOwner {
  /** Tells servers apart. Each child of the gateway is a server of its own. */
  readonly server: string;
  readonly principal: string | undefined;
  /** Anonymous callers are told apart by their sessions. */
  readonly session: string;
}

const kinds: readonly (ItemKind | undefined)[] = [undefined, 'tool', 'prompt', 'resource'];
const format = 1;
const principalLength = 32;
const serverLength = 16;
const fixedLength = 1 + principalLength + serverLength + 1 + 2;
/** Bytes of a server's id, and of an item's name: a handle with more is no id that a client can use. */
const maxIdBytes = 512;
const maxNameBytes = 1_024;
/** Tasks that are remembered for lists and notifications: in all, and of one owner. */
const maxTasks = 4_096;
const maxOfOwner = 256;

const serverMarkOf = (server: string): Buffer =>
  createHash('sha256').update(server).digest().subarray(0, serverLength);

/**
 * Binds tasks to the principal and to the item that made them. The client gets a sealed handle in place of the server's
 * id. The handle says whose the task is, so using it needs no memory, and any process with the session key can do so.
 * A small memory knows the handles of ids that servers name by themselves, in lists and notifications.
 */
export class TaskRegistry {
  private readonly seal: SessionSeal;
  private readonly owners = new Map<string, Map<string, KnownTask>>();
  private size = 0;

  constructor(seal: SessionSeal) {
    this.seal = seal;
  }

  /** Tasks that are remembered. */
  get remembered(): number {
    return this.size;
  }

  /** The handle of a task that a server has just made; undefined where its id or the item's name is too long. */
  bind(owner: TaskOwner, id: string, item: TaskItem | undefined): KnownTask | undefined {
    const name = Buffer.from(item?.name ?? '');
    const idBytes = Buffer.from(id);
    // Text that is not well formed would come back as another one.
    if (!id.isWellFormed() || idBytes.length > maxIdBytes || name.length > maxNameBytes) return undefined;
    const fixed = Buffer.alloc(fixedLength);
    let at = fixed.writeUInt8(format, 0);
    at += principalMark(owner.principal).copy(fixed, at);
    at += serverMarkOf(owner.server).copy(fixed, at);
    at = fixed.writeUInt8(kinds.indexOf(item?.kind), at);
    fixed.writeUInt16BE(name.length, at);
    const handle = this.seal.sealTask(Buffer.concat([fixed, name, idBytes]));
    // A mere slice would keep its whole message alive.
    const ownItem = item && { kind: item.kind, name: ownCopy(item.name) };
    return this.remember(owner, { id: ownCopy(id), handle, item: ownItem });
  }

  /** The task that a client names; undefined where it is none of the owner's. */
  open(owner: TaskOwner, handle: string): KnownTask | undefined {
    if (handle.length > 4 * (maxIdBytes + maxNameBytes)) return undefined;
    const payload = this.seal.openTask(handle);
    if (payload === undefined || payload.length < fixedLength || payload[0] !== format) return undefined;
    const server = payload.subarray(1 + principalLength, 1 + principalLength + serverLength);
    if (!sameMark(payload.subarray(1, 1 + principalLength), principalMark(owner.principal))) return undefined;
    if (!sameMark(server, serverMarkOf(owner.server))) return undefined;
    const kind = kinds[payload.readUInt8(fixedLength - 3)];
    const idAt = fixedLength + payload.readUInt16BE(fixedLength - 2);
    const name = payload.toString('utf8', fixedLength, idAt);
    const task = {
      id: payload.toString('utf8', idAt),
      handle,
      item: kind === undefined ? undefined : { kind, name },
    };
    return this.remember(owner, task);
  }

  /** The owner's task that a server names; undefined where it is another one's, or not remembered. */
  find(owner: TaskOwner, id: string): KnownTask | undefined {
    return this.owners.get(keyOf(owner))?.get(id);
  }

  private remember(owner: TaskOwner, task: KnownTask): KnownTask {
    const key = keyOf(owner);
    const tasks = this.owners.get(key) ?? new Map<string, KnownTask>();
    // The newest stand last, of tasks and of owners.
    this.owners.delete(key);
    this.owners.set(key, tasks);
    if (tasks.delete(task.id)) this.size--;
    tasks.set(task.id, task);
    this.size++;
    if (tasks.size > maxOfOwner) this.forgetOldest(key, tasks);
    if (this.size > maxTasks) this.forgetOldest(...this.largest());
    return task;
  }

  /** The caller with most tasks loses first, so that no caller can make all others forget. */
  private largest(): [string, Map<string, KnownTask>] {
    let [found] = this.owners;
    for (const each of this.owners) if (each[1].size > found![1].size) found = each;
    return found!;
  }

  private forgetOldest(key: string, tasks: Map<string, KnownTask>): void {
    const [oldest] = tasks.keys();
    tasks.delete(oldest!);
    this.size--;
    if (tasks.size === 0) this.owners.delete(key);
  }
}

/** Anonymous callers are one principal: what was said in one of their sessions is not for the others. */
const keyOf = ({ server, principal, session }: TaskOwner): string =>
  JSON.stringify(principal === undefined ? [server, session] : [server, null, principal]);
