/** The stream of `subscriptions/listen` (MCP 2026-07-28, "Subscriptions"). */

import { formatComment, formatEvent, type ReplyStream } from '../../http/index.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { canSeeItem, type ItemNameSource } from '../items/itemVisibility.ts';
import { memberOf, readEnvelope, stringValue, wholeOf, type Envelope } from '../json/envelope.ts';
import { addition } from '../json/objectMembers.ts';
import { splice, type Edit } from '../json/scan.ts';
import { metaKeys } from '../messages/eras.ts';
import { taskNews } from '../messages/mcpMethods.ts';
import type { NewsListener } from '../session/modernStreams.ts';
import { hasTasks } from './questions.ts';

/** The lists and resources that a client listens for. */
export interface NewsFilter {
  /** The lists whose changes it wants: `tools`, `prompts`, `resources`. */
  readonly lists: ReadonlySet<string>;
  readonly uris: readonly string[];
  /** The tasks whose changes it wants, as the client calls them (tasks extension, "Task Status Notifications"). */
  readonly tasks: readonly string[];
}

/** Member of the filter → the list that it is about. */
const lists: ReadonlyMap<string, string> = new Map([
  ['toolsListChanged', 'tools'],
  ['promptsListChanged', 'prompts'],
  ['resourcesListChanged', 'resources'],
]);

/** URIs, and tasks, of one stream. */
const maxEach = 256;
const keepAliveMs = 15_000;
/** Bytes that a client may leave unread. */
const maxUnread = 1_048_576;

/** Reads `params.notifications`; undefined where it is missing or of another shape. */
export function readNewsFilter({ text, body }: Envelope): NewsFilter | undefined {
  const place = memberOf(text, body, 'notifications');
  if (typeof place !== 'object' || text.charCodeAt(place.start) !== 0x7b) return undefined;
  const asked = JSON.parse(text.slice(place.start, place.end)) as Readonly<Record<string, unknown>>;
  const wanted = [...lists].filter(([member]) => asked[member] === true).map(([, list]) => list);
  const uris = distinctTexts(asked['resourceSubscriptions']);
  const tasks = distinctTexts(asked['taskIds']);
  return uris && tasks && { lists: new Set(wanted), uris, tasks };
}

/** The texts of a list; undefined where it is no list of texts, or too long. */
function distinctTexts(list: unknown = []): readonly string[] | undefined {
  if (!Array.isArray(list) || list.length > maxEach) return undefined;
  return list.every((one): one is string => typeof one === 'string') ? [...new Set(list)] : undefined;
}

/** The part of a filter that servers with these capabilities (JSON text) can honour, before they are asked to. */
export function honoured({ lists: wanted, uris, tasks }: NewsFilter, capabilities: string): NewsFilter {
  const known = JSON.parse(capabilities) as Record<string, { listChanged?: unknown; subscribe?: unknown }>;
  const can = (feature: string, name: 'listChanged' | 'subscribe'): boolean =>
    known[feature]?.[name] === true;
  return {
    lists: new Set([...wanted].filter((list) => can(list, 'listChanged'))),
    uris: can('resources', 'subscribe') ? uris : [],
    tasks: hasTasks(capabilities) ? tasks : [],
  };
}

export class NewsStream implements NewsListener {
  readonly itemRules: ItemRules | undefined;
  private readonly stream: ReplyStream;
  private readonly idText: string;
  private filter: NewsFilter = { lists: new Set(), uris: [], tasks: [] };
  /** News that came before the acknowledgement; undefined after it. */
  private early: { readonly text: string; readonly names: ItemNameSource | undefined }[] | undefined = [];
  private lastWrite = performance.now();

  /** @param idText the id of the request, which is the id of the subscription */
  constructor(stream: ReplyStream, idText: string, itemRules: ItemRules | undefined) {
    this.stream = stream;
    this.idText = idText;
    this.itemRules = itemRules;
  }

  /** The first message: what the client will hear of. A stream that will never have news ends at once. */
  acknowledge(filter: NewsFilter): void {
    this.filter = filter;
    const notifications: Record<string, unknown> = {};
    for (const [member, list] of lists) if (filter.lists.has(list)) notifications[member] = true;
    if (filter.uris.length > 0) notifications['resourceSubscriptions'] = filter.uris;
    if (filter.tasks.length > 0) notifications['taskIds'] = filter.tasks;
    const meta = `"_meta":{"${metaKeys.subscriptionId}":${this.idText}}`;
    this.write(
      `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":${JSON.stringify(notifications)},${meta}}}`,
    );
    const early = this.early ?? [];
    this.early = undefined;
    for (const { text, names } of early) this.hear(text, names);
    if (filter.lists.size + filter.uris.length + filter.tasks.length === 0) this.end();
  }

  hear(text: string, names: ItemNameSource | undefined): void {
    if (this.early !== undefined) {
      if (this.early.length < maxEach) this.early.push({ text, names });
      return;
    }
    const message = readEnvelope(text);
    if (typeof message === 'string' || !this.isWanted(message) || !canSeeItem(this.itemRules, names)) return;
    this.write(splice(text, [this.markOf(message)]));
  }

  private isWanted(message: Envelope): boolean {
    const [, list] = /^notifications\/([a-z]+)\/list_changed$/.exec(message.method) ?? [];
    if (list !== undefined) return this.filter.lists.has(list);
    const isTask = message.method === taskNews;
    if (!isTask && message.method !== 'notifications/resources/updated') return false;
    const place = memberOf(message.text, message.body, isTask ? 'taskId' : 'uri');
    const name = place === 'ambiguous' ? undefined : stringValue(message.text, place);
    if (isTask) return name !== undefined && this.filter.tasks.includes(name);
    const uri = name;
    // A server may tell of a part of what was subscribed to.
    return uri !== undefined && this.filter.uris.some((one) => uri === one || uri.startsWith(`${one}/`));
  }

  /** The change that puts the id of the subscription in. */
  private markOf({ text, body }: Envelope): Edit {
    const mark = `"${metaKeys.subscriptionId}":${this.idText}`;
    if (body === undefined) return addition(text, wholeOf(text), `"params":{"_meta":{${mark}}}`);
    const meta = memberOf(text, body, '_meta');
    return typeof meta === 'object' && text.charCodeAt(meta.start) === 0x7b
      ? addition(text, meta, mark)
      : addition(text, body, `"_meta":{${mark}}`);
  }

  tick(now: number): void {
    if (this.stream.closed || now - this.lastWrite < keepAliveMs) return;
    this.stream.write(formatComment('keep-alive'));
    this.lastWrite = now;
  }

  /** Ends the subscription with the result of its request. */
  end(): void {
    if (this.stream.closed) return;
    const meta = `"_meta":{"${metaKeys.subscriptionId}":${this.idText}}`;
    this.write(`{"jsonrpc":"2.0","id":${this.idText},"result":{"resultType":"complete",${meta}}}`);
    this.stream.end();
  }

  private write(message: string): void {
    if (this.stream.closed) return;
    this.stream.write(formatEvent(message, { event: 'message' }));
    this.lastWrite = performance.now();
    // A client that does not read is cut off: news cannot be held back for the others.
    if (this.stream.pendingBytes > maxUnread) this.stream.destroy();
  }
}
