/** The whole lists of one target of several: all pages, with the names that the client sees. */

import type { GatewayError } from '../../errors.ts';
import { ownCopy } from '../../ownCopy.ts';
import { cut, memberOf, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import { errorTextOf, lacksMethod } from '../json/errorMember.ts';
import { Elements, splice } from '../json/scan.ts';
import { maxItems, type ListShape } from '../items/items.ts';
import { nextCursorOf, shownEdits } from '../items/listFilter.ts';
import type { Naming } from '../items/naming.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import type { RetainedMemory } from '../limits/retainedMemory.ts';
import { targetError } from '../messages/rpcError.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import type { PinKind } from '../../pins/index.ts';
import { ask, type AskedFor } from './targetAsk.ts';

/** An item of a list. */
export interface ListedItem {
  /** The target's own name for it; undefined where the item has none that can be told. */
  readonly name: string | undefined;
  /** The item with the client's names. */
  readonly text: string;
}

/** The same before it is known whether clients may see it. */
interface ReadItem extends ListedItem {
  /** As the server wrote it. */
  readonly own: string;
}

/** A list that ends nowhere is a failure of its target, never a shorter list. */
const maxPages = 64;
const maxCharacters = 33_554_432;

export interface ListReader {
  /** The target's name today. */
  readonly target: string;
  readonly connection: TargetConnection;
  readonly naming: Naming;
  readonly limit: CallLimit;
  readonly by: AskedFor;
  readonly log: Pick<Logger, 'warn'>;
  /**
   * May clients see an item that its server wrote like this? The name is undefined where the item has no one name.
   * Absent: all of them.
   */
  readonly allows?: (kind: PinKind, name: string | undefined, text: string) => Promise<boolean>;
}

/**
 * Reads every page of a list.
 * @throws GatewayError mcp_target_failed, mcp_target_timeout and what else a call can fail with
 */
export async function readList(
  reader: ListReader,
  method: string,
  shape: ListShape,
): Promise<readonly ListedItem[]> {
  const { target, connection, naming, limit, by, log } = reader;
  const items: ReadItem[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  let characters = 0;
  const broken = (what: string): GatewayError => targetError('mcp_target_failed', target, what);
  for (let page = 0; page < maxPages; page++) {
    const response = await ask(connection, method, cursor && `{"cursor":${cursor}}`, limit, by);
    if (response.isError) {
      // A server that lacks a feature is none that fails.
      if (page === 0 && lacksMethod(response)) return [];
      throw broken(`answered ${method} with an error: ${errorTextOf(response)}`);
    }
    characters += response.text.length;
    const more = itemsOf(response, target, shape, naming, maxItems - items.length);
    if (more === undefined) throw broken('answered with something that is no list');
    if (more === 'too many') break;
    for (const item of more) items.push(item);
    if (characters > maxCharacters) break;
    cursor = nextCursorOf(response);
    if (cursor === undefined) {
      naming.view?.compareWith(shape.kind, target, () => items.map(({ name }) => name), log);
      return await allowed(items, reader, shape);
    }
    if (cursors.has(cursor)) throw broken(`answered ${method} with the same cursor twice`);
    cursors.add(cursor);
  }
  throw broken(`answered ${method} with a list that is too long`);
}

/** @param most items that it may have */
function itemsOf(
  { text, body }: Envelope,
  target: string,
  shape: ListShape,
  naming: Naming,
  most: number,
): ReadItem[] | 'too many' | undefined {
  const list = memberOf(text, body, shape.list);
  if (list === undefined || list === 'ambiguous') return undefined;
  const items: ReadItem[] = [];
  const elements = new Elements(text, list.start);
  while (elements.next()) {
    if (items.length === most) return 'too many';
    items.push(itemAt(text, elements, target, shape, naming));
  }
  return elements.broken ? undefined : items;
}

function itemAt(text: string, at: Span, target: string, shape: ListShape, naming: Naming): ReadItem {
  // Copied, so that an item does not keep its whole page alive.
  const own = cut(text, at);
  const whole: Span = { start: 0, end: own.length };
  const place = memberOf(own, whole, shape.member);
  const given = place === 'ambiguous' ? undefined : stringValue(own, place);
  if (given === undefined || typeof place !== 'object') return { name: undefined, text: own, own };
  // Names are remembered for longer than items.
  const name = ownCopy(given);
  const edits = shownEdits(own, whole, { naming, kind: shape.kind, target, name, place });
  return { name, text: edits.length === 0 ? own : splice(own, edits), own };
}

/** The items that clients may see. A resource has no definition that could be pinned, a template has. */
async function allowed(
  items: readonly ReadItem[],
  { allows }: ListReader,
  { kind, template }: ListShape,
): Promise<readonly ListedItem[]> {
  const shown: ListedItem[] = [];
  const pinned = kind === 'resource' ? (template === true ? 'template' : undefined) : kind;
  for (const { name, text, own } of items)
    if (allows === undefined || pinned === undefined || (await allows(pinned, name, own)))
      shown.push({ name, text });
  return shown;
}

/** Settings of a reading. */
interface ListUse {
  /** The server says when the list changes. */
  readonly announced: boolean;
  /** Calls are allowed by the names in the list. */
  readonly needsNames: boolean;
}

/** The lists of one target, remembered while its server says when they change. */
export class TargetLists {
  private readonly keep: RetainedMemory;
  private readonly kept = new Map<
    string,
    { readonly items: readonly ListedItem[]; readonly length: number }
  >();
  private readonly underWay = new Map<string, Promise<readonly ListedItem[]>>();
  /** Lists of slow servers that came too late for the request that asked for them. */
  private readonly once = new Map<string, readonly ListedItem[]>();
  /** Lists of which the server says when they change. */
  private readonly announced = new Set<string>();
  /** Names in the lists that were read. */
  private readonly names = new Map<string, ReadonlySet<string>>();
  /** Counts changes: a list that was asked for before one is not remembered. */
  private changes = 0;

  constructor(keep: RetainedMemory) {
    this.keep = keep;
  }

  /**
   * The whole list; requests at the same time share one reading.
   */
  async get(
    method: string,
    { announced, needsNames }: ListUse,
    read: () => Promise<readonly ListedItem[]>,
  ): Promise<readonly ListedItem[]> {
    const known = this.kept.get(method);
    if (known !== undefined) return known.items;
    const once = this.once.get(method);
    this.once.delete(method);
    if (once !== undefined) return once;
    const before = this.underWay.get(method);
    if (before !== undefined) return await before;
    if (announced) this.announced.add(method);
    const { changes } = this;
    const reading = read();
    this.underWay.set(method, reading);
    try {
      const items = await reading;
      if (changes === this.changes) {
        if (needsNames) this.note(method, items);
        if (announced) this.remember(method, items);
      }
      return items;
    } finally {
      if (this.underWay.get(method) === reading) this.underWay.delete(method);
    }
  }

  /** The list, where its server says when it changes and it has not; undefined where it has to be read. */
  known(method: string): readonly ListedItem[] | undefined {
    return this.kept.get(method)?.items;
  }

  /** Notes the names in a list, for calls. */
  note(method: string, items: readonly ListedItem[]): void {
    this.names.set(method, new Set(items.flatMap(({ name }) => name ?? [])));
  }

  /** Is the item in the list? Undefined where the list was never read, or has changed since. */
  includes(method: string, name: string): boolean | undefined {
    return this.names.get(method)?.has(name);
  }

  /** Keeps a list for its next reader: the client has just been told to read it again. */
  keepOnce(method: string, items: readonly ListedItem[]): void {
    // A server that says when a list changes has its list in `kept`, unless it changed meanwhile.
    if (!this.kept.has(method) && !this.announced.has(method)) this.once.set(method, items);
  }

  /** @param list the list that changed, such as `tools/list`; absent: all of them */
  forget(list?: string): void {
    this.changes++;
    for (const [method, { length }] of [...this.kept]) {
      if (list !== undefined && !method.startsWith(list)) continue;
      this.keep.remove(length);
      this.kept.delete(method);
    }
    this.once.clear();
    this.names.clear();
    this.underWay.clear();
  }

  private remember(method: string, items: readonly ListedItem[]): void {
    const length = items.reduce((sum, { text, name = '' }) => sum + text.length + name.length, 0);
    this.keep.add(length);
    if (this.keep.isOverLimit) this.keep.remove(length);
    else this.kept.set(method, { items, length });
  }
}
