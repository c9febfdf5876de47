/** The places where messages name tasks, and the name that each reader finds there. */

import type { GatewayError } from '../../errors.ts';
import { ownCopy } from '../../ownCopy.ts';
import type { ItemCall, ItemRefusal } from '../contract.ts';
import { memberOf, readEnvelope, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import type { MemberView } from '../json/responseScan.ts';
import type { Edit } from '../json/scan.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { filterList } from '../items/listFilter.ts';
import { taskNews } from '../messages/mcpMethods.ts';
import { inMeta, relatedTask } from '../messages/requestMeta.ts';
import { targetError } from '../messages/rpcError.ts';
import type { KnownTask, TaskRegistry, TaskItem, TaskOwner } from './taskRegistry.ts';
import {
  filteredMember,
  unfiltered,
  type FilteredResponse,
  type ResponseFilter,
} from '../items/responseFilter.ts';

/** Stands in place of an id that is not the reader's. */
const unknownId = '"unknown"';
/** The client's own tasks: so many ids are remembered. */
const maxOwn = 256;
/** A task of a server, as a reader may know of it. */
export type TaskReader = TaskOwner & {
  /** The target's name today. */
  readonly target: string;
};

/** The client that asks about a task. */
export interface TaskAsker {
  readonly sessionId: string | undefined;
  /** Is called where the rules refuse the task. */
  refused(why: ItemRefusal): void;
}

/** A string in a message that names a task. */
interface TaskId {
  readonly id: string;
  readonly span: Span;
}

/** The string `member` of the object at `within`; `unclear` where it is repeated or no string. */
function idAt(text: string, within: Span | undefined, member = 'taskId'): TaskId | 'unclear' | undefined {
  const span = memberOf(text, within, member);
  if (span === undefined) return undefined;
  const id = span === 'ambiguous' ? undefined : stringValue(text, span);
  return id === undefined || span === 'ambiguous' ? 'unclear' : { id, span };
}

/** The task that a message is related to, by the `_meta` of its params or result. */
function relatedIn(message: Envelope): TaskId | 'unclear' | undefined {
  const related = inMeta(message, relatedTask);
  if (related === undefined) return undefined;
  if (related === 'ambiguous') return 'unclear';
  return idAt(message.text, related) ?? 'unclear';
}

const replaced = ({ span }: TaskId, id: string): Edit => ({ ...span, replacement: JSON.stringify(id) });

/** Names no task. */
export const taskList = 'tasks/list';

/** Notifications of servers about one task, in either era. */
const legacyNews = 'notifications/tasks/status';
const news: ReadonlySet<string> = new Set([legacyNews, taskNews]);

/** A server's statement about a task, as the client may hear it. */
export interface FilteredTask {
  readonly edits: readonly Edit[];
  /** The task that is told of; undefined where it is the client's own. */
  readonly task?: KnownTask;
}

/** News of tasks that are not known yet: so many messages of a target wait, of at most so many characters. */
const maxEarly = 16;
const maxEarlyLength = 16_384;

/** News of a task that came before the response that makes the task. */
interface EarlyNews {
  readonly id: string;
  readonly deliver: () => void;
}

/** Names of tasks in the messages of one session. */
export class TaskIds {
  private readonly book: TaskRegistry;
  private early: EarlyNews[] = [];
  /** Tasks that the client made for a server's requests, by the client's ids. */
  private readonly own = new Set<string>();

  constructor(book: TaskRegistry) {
    this.book = book;
  }

  /**
   * The changes in a message of the client on its way to a server; undefined where it names a task that is not the
   * caller's, or one that was made by an item that the rules hide from the caller now.
   * @param asker hears why the rules refuse the task
   */
  fromClient(
    message: Envelope,
    reader: TaskReader,
    itemRules: ItemRules | undefined,
    asker?: TaskAsker,
  ): readonly Edit[] | undefined {
    const { text, body, method, kind } = message;
    const edits: Edit[] = [];
    if (kind === 'response') this.noteOwn(message);
    else if (kind === 'request' && method.startsWith('tasks/') && method !== taskList) {
      const named = idAt(text, body);
      const task =
        typeof named === 'object' ? this.opened(named.id, reader, itemRules, asker, method) : undefined;
      if (typeof named !== 'object' || task === undefined) return undefined;
      edits.push(replaced(named, task.id));
    } else if (method === legacyNews) {
      const named = idAt(text, body);
      if (typeof named !== 'object' || !this.own.has(named.id)) return undefined;
    }
    const related = relatedIn(message);
    if (related === undefined) return edits;
    if (related === 'unclear') return undefined;
    const task = this.opened(related.id, reader, itemRules, asker);
    if (task !== undefined) edits.push(replaced(related, task.id));
    else if (!this.own.has(related.id)) return undefined;
    return edits;
  }

  /** The changes in a message of a server on its way to the client; undefined where it names another one's task. */
  fromServer(message: Envelope, owner: TaskOwner): FilteredTask | undefined {
    const { text, body, method, kind } = message;
    // Most messages name no task; a server that disguises a name tells an id that is of no use.
    if (!text.includes('askId')) return { edits: [] };
    const edits: Edit[] = [];
    let task: KnownTask | undefined;
    const named = kind === 'notification' && news.has(method) ? idAt(text, body) : undefined;
    for (const one of [named, relatedIn(message)]) {
      if (one === undefined) continue;
      if (one === 'unclear') return undefined;
      const found = this.book.find(owner, one.id);
      if (found !== undefined) {
        task = found;
        edits.push(replaced(one, found.handle));
      } else if (one === named || !this.own.has(one.id)) return undefined;
    }
    return task === undefined ? { edits } : { edits, task };
  }

  /** Does a request of a server name a task that the client did not make for it? Others of the session may have it. */
  asksForOther({ method, text, body }: Envelope): boolean {
    if (!method.startsWith('tasks/') || method === taskList) return false;
    const named = idAt(text, body);
    return typeof named !== 'object' || !this.own.has(named.id);
  }

  /** The client's tasks in its answer to a server, without those that it made for other servers. */
  ownListed(answer: Envelope, target: string): FilteredResponse | GatewayError {
    return filterList(answer, 'tasks', target, false, (each) => {
      const named = idAt(answer.text, each);
      return typeof named === 'object' && this.own.has(named.id) ? 'as written' : undefined;
    });
  }

  /**
   * A server may tell of a task before the response that makes it: the news waits for that response.
   * @param deliver delivers the message, whose task is the caller's by then
   * @returns false for any other message, and for one that is too long
   */
  holdEarly(message: Envelope, deliver: (message: Envelope) => void): boolean {
    const { method, kind, text, body } = message;
    if (kind !== 'notification' || method !== legacyNews || text.length > maxEarlyLength) return false;
    const named = idAt(text, body);
    // The text may be a slice of a large batch.
    const copy = readEnvelope(Buffer.from(text).toString());
    if (typeof named !== 'object' || typeof copy === 'string') return false;
    this.early.push({ id: ownCopy(named.id), deliver: () => deliver(copy) });
    if (this.early.length > maxEarly) this.early.shift();
    return true;
  }

  /** A response has made a task. */
  private readonly made = (id: string): void => {
    if (this.early.length === 0) return;
    const news = this.early.filter((one) => one.id === id);
    this.early = this.early.filter((one) => one.id !== id);
    for (const { deliver } of news) deliver();
  };

  /**
   * The task that a client names; undefined where it is none of the caller's, or the rules hide it.
   * @param method of a request about the task; absent where a message only mentions the task
   */
  opened(
    handle: string,
    reader: TaskReader,
    itemRules: ItemRules | undefined,
    asker?: TaskAsker,
    method?: string,
  ): KnownTask | undefined {
    const task = this.book.open(reader, handle);
    if (task === undefined) return undefined;
    const { target } = reader;
    const named = { name: task.id, target };
    const call = asker && method && { method, sessionId: asker.sessionId, task: named };
    const why = taskRefusal(task, target, itemRules, call || undefined);
    if (why !== undefined) asker?.refused(why);
    return why === undefined ? task : undefined;
  }

  /** The client answers a request of a server with a task. */
  private noteOwn({ text, body }: Envelope): void {
    const task = memberOf(text, body, 'task');
    const named = task === 'ambiguous' ? undefined : idAt(text, task);
    if (typeof named !== 'object' || named.id.length > 512) return;
    this.own.add(ownCopy(named.id));
    if (this.own.size > maxOwn) {
      const [oldest] = this.own;
      this.own.delete(oldest!);
    }
  }

  /**
   * The caller's view of the response to a request that names a task, makes one, or lists them.
   * @param about the task that the request names, or the item that it uses
   */
  view(
    request: Envelope,
    reader: TaskReader,
    about: KnownTask | TaskItem | undefined,
    itemRules: ItemRules | undefined,
  ): ResponseFilter {
    if (request.method === taskList) return new TaskListView(this.book, reader, itemRules);
    return new TaskView(this.book, reader, this.own, about, this.made);
  }

  /** The caller's task that a request is about. */
  named({ method, text, body }: Envelope, reader: TaskReader): KnownTask | undefined {
    const named = method.startsWith('tasks/') ? idAt(text, body) : undefined;
    return typeof named === 'object' ? this.book.open(reader, named.id) : undefined;
  }
}

/** No rule allows a task that no item made. */
const taskWithoutItem: ItemRefusal = { rule: 'task without an item' };

/** The reason why the rules hide a task: they hide the item that made it. */
export function taskRefusal(
  { item }: KnownTask,
  target: string,
  itemRules: ItemRules | undefined,
  call?: ItemCall,
): ItemRefusal | undefined {
  if (itemRules === undefined) return undefined;
  return item === undefined ? taskWithoutItem : itemRules.refusalOf({ ...item, target }, call);
}

/** The list of tasks: only those of the caller, which the rules let the caller know of. */
class TaskListView implements ResponseFilter {
  private readonly book: TaskRegistry;
  private readonly reader: TaskReader;
  private readonly itemRules: ItemRules | undefined;

  constructor(book: TaskRegistry, reader: TaskReader, itemRules: ItemRules | undefined) {
    this.book = book;
    this.reader = reader;
    this.itemRules = itemRules;
  }

  filter(response: Envelope): FilteredResponse | GatewayError {
    const { book, reader, itemRules } = this;
    return filterList(response, 'tasks', reader.target, true, (each) => {
      const named = idAt(response.text, each);
      const task = typeof named === 'object' ? book.find(reader, named.id) : undefined;
      if (typeof named !== 'object' || task === undefined || taskRefusal(task, reader.target, itemRules))
        return undefined;
      return { ...named.span, replacement: JSON.stringify(task.handle) };
    });
  }
}

/** The members of a result that tell of a task. */
const namesOfTasks: ReadonlySet<string> = new Set(['task', '_meta', 'resultType']);

/** A response that may tell of the task that it is about, of a new one, or of one that it is related to. */
class TaskView implements ResponseFilter {
  private readonly book: TaskRegistry;
  private readonly reader: TaskReader;
  private readonly own: ReadonlySet<string>;
  /** The task that was asked about, or the item that was used. */
  private readonly about: KnownTask | TaskItem | undefined;
  private readonly made: (id: string) => void;

  constructor(
    book: TaskRegistry,
    reader: TaskReader,
    own: ReadonlySet<string>,
    about: KnownTask | TaskItem | undefined,
    made: (id: string) => void,
  ) {
    this.book = book;
    this.reader = reader;
    this.own = own;
    this.about = about;
    this.made = made;
  }

  filter(response: Envelope): FilteredResponse | GatewayError {
    const { text, body } = response;
    if (!text.includes('askId')) return unfiltered;
    const edits: Edit[] = [];
    const unusable = (): GatewayError =>
      targetError('mcp_target_failed', this.reader.target, 'answered with a task id that cannot be used');
    const nested = memberOf(text, body, 'task');
    const flat = this.tellsOfTask(response) ? idAt(text, body) : undefined;
    for (const named of [flat, nested === 'ambiguous' ? 'unclear' : idAt(text, nested)]) {
      if (named === undefined) continue;
      const handle = named === 'unclear' ? undefined : this.handleOf(named.id);
      if (named === 'unclear' || handle === undefined) return unusable();
      edits.push(replaced(named, handle));
    }
    const related = relatedIn(response);
    if (related === 'unclear') return unusable();
    if (related !== undefined && !this.own.has(related.id)) {
      const { about } = this;
      const same = about !== undefined && 'id' in about && about.id === related.id ? about : undefined;
      const task = same ?? this.book.find(this.reader, related.id);
      edits.push(
        task === undefined ? { ...related.span, replacement: unknownId } : replaced(related, task.handle),
      );
    }
    return { edits };
  }

  get ofMembers(): MemberView | undefined {
    const isAboutTask = this.about !== undefined && 'id' in this.about;
    return isAboutTask ? undefined : { watched: namesOfTasks, filterMember: this.filterMember };
  }

  private readonly filterMember = (name: string, value: string): string | undefined => {
    // The result would be about a task, which has no large results.
    if (name === 'resultType') return value === '"task"' ? undefined : value;
    return filteredMember(this, name, value);
  };

  /** Is the whole result about a task? */
  private tellsOfTask({ text, body }: Envelope): boolean {
    if (this.about !== undefined && 'id' in this.about) return true;
    const type = memberOf(text, body, 'resultType');
    return type !== 'ambiguous' && stringValue(text, type) === 'task';
  }

  /** The id of the task that was asked about; else of a task that the request has made. */
  private handleOf(id: string): string | undefined {
    const { about, book, reader } = this;
    if (about === undefined || !('id' in about)) {
      const task = book.bind(reader, id, about);
      if (task !== undefined) this.made(id);
      return task?.handle;
    }
    return about.id === id ? about.handle : book.find(reader, id)?.handle;
  }
}
