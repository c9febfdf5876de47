/** The lists of all targets as one list, in pages of the gateway's own. */

import { hash } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { CallStats } from '../session/mcpMetrics.ts';
import { noRules, type ItemRules } from '../items/itemRules.ts';
import type { ListShape } from '../items/items.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import type { OwnWay } from '../messages/outgoing.ts';
import { listOfMethod } from '../messages/listNews.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import { announces, has } from './capabilities.ts';
import type { Federation } from './federation.ts';
import type { Member } from './member.ts';
import { readList, type ListedItem } from './targetLists.ts';
import { fromAll, type Gathered } from './fromAll.ts';
import type { AskedFor } from './targetAsk.ts';
import type { PageBasis } from './keptPages.ts';

/** Items and characters of one page. */
const maxItems = 1_000;
const maxCharacters = 4_194_304;

/** Counts and limits requests to targets. */
export interface ListTools {
  readonly cell: (target: string, method: string) => CallStats;
  readonly limit: (target: string) => CallLimit;
  /** Lines of this request for servers over HTTP: where there are some, no other request shares its lists. */
  readonly headers: readonly HeaderLine[];
  /** The way of the caller. @throws GatewayError where the caller has no credential for the target */
  readonly wayTo: (target: TargetConnection) => OwnWay;
  /** The call that the requests are for. */
  readonly call?: AskedFor['call'];
}

/**
 * The whole list of one target.
 * @throws GatewayError
 */
export async function listOf(
  federation: Federation,
  member: Member,
  method: string,
  shape: ListShape,
  { cell, limit, headers, wayTo, call }: ListTools,
): Promise<readonly ListedItem[]> {
  const connection = await member.connected();
  const { facts, name: target } = member;
  if (facts === undefined || !has(facts, method)) {
    federation.learn(target, shape.kind, []);
    federation.naming.view?.compareWith(shape.kind, target, () => [], federation.log);
    return [];
  }
  const use = { announced: announces(facts, method), needsNames: federation.enforcesPins };
  const isOwn = headers.length > 0;
  const known = isOwn ? undefined : member.lists.known(method);
  if (known !== undefined) return known;
  // A caller without a credential does not join the reading of another caller of the session either.
  const by = { ...wayTo(connection), headers, ...(isOwn && call && { call }) };
  const read = async (): Promise<readonly ListedItem[]> => {
    const since = performance.now();
    const stats = cell(target, method);
    try {
      const reader = {
        target,
        connection,
        naming: federation.naming,
        limit: limit(target),
        by,
        log: federation.log,
        ...federation.guardOf(target),
      };
      const items = await readList(reader, method, shape);
      stats.ended('ok', performance.now() - since);
      if (shape.template !== true && shape.kind !== 'resource')
        federation.learn(
          target,
          shape.kind,
          items.flatMap(({ name }) => name ?? []),
        );
      return items;
    } catch (error) {
      stats.ended('failed', performance.now() - since);
      throw error;
    }
  };
  if (!isOwn) return await member.lists.get(method, use, read);
  const items = await read();
  if (use.needsNames) member.lists.note(method, items);
  return items;
}

/** The place behind the last item of a page. */
interface Cursor {
  readonly target: string;
  /** Marks the target's own name of the item. */
  readonly mark: string;
  /** Its place in the list of its target, should the item be gone. */
  readonly index: number;
}

const badCursor = (): GatewayError =>
  new GatewayError('mcp_invalid_params', { message: 'invalid cursor: ask for the first page again' });

const maxCursor = 8_192;

/** The name itself, or the digest of one that would make a cursor too long. */
const markOf = (name: string): string => (name.length <= 512 ? name : hash('sha256', name, 'base64url'));

/** @throws GatewayError mcp_invalid_params */
export function readCursor(text: string): Cursor {
  if (text.length > maxCursor) throw badCursor();
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    throw badCursor();
  }
  const [target, mark, index] = Array.isArray(value) ? (value as unknown[]) : [];
  if (typeof target !== 'string' || typeof mark !== 'string') throw badCursor();
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) throw badCursor();
  return { target, mark, index };
}

const cursorText = ({ target, mark, index }: Cursor): string =>
  Buffer.from(JSON.stringify([target, mark, index])).toString('base64url');

interface Page {
  /** JSON texts of the items. */
  readonly items: readonly string[];
  readonly nextCursor: string | undefined;
}

type Lists = readonly Gathered<readonly ListedItem[]>[];

const nothing: readonly ListedItem[] = [];

/** The lists of all targets, where none of them has to be read; undefined otherwise. */
function knownLists({ all }: Federation, method: string): Lists | undefined {
  const lists: Gathered<readonly ListedItem[]>[] = [];
  for (const member of all) {
    const { facts, ready } = member;
    if (facts === undefined || ready === undefined) return undefined;
    const value = has(facts, method) ? member.lists.known(method) : nothing;
    if (value === undefined) return undefined;
    lists.push({ member, value });
  }
  return lists;
}

/** Are these the lists that the next request finds? */
function isKnown(federation: Federation, method: string, lists: Lists): boolean {
  const known = knownLists(federation, method);
  return (
    known?.length === lists.length &&
    known.every(({ member, value }, at) => member === lists[at]!.member && value === lists[at]!.value)
  );
}

/** Everything on which a page of these lists depends; undefined where the rules look at more than the caller. */
function basisOf(
  { naming, owners, scope }: Federation,
  lists: Lists,
  itemRules: ItemRules | undefined,
): PageBasis | undefined {
  const rules = itemRules === undefined ? noRules : itemRules.basis;
  if (rules === undefined) return undefined;
  const parts = lists.map(({ member, value }) => ({ target: member.name, items: value }));
  return { parts, naming, owners: owners.versionOf(scope), view: itemRules?.view, rules };
}

/**
 * A page of the merged list, as the caller may see it, as JSON text of a result.
 * @throws GatewayError mcp_invalid_params for a cursor that is none, and what targets fail with
 */
export async function mergedPage(
  federation: Federation,
  method: string,
  shape: ListShape,
  itemRules: ItemRules | undefined,
  cursor: string | undefined,
  tools: ListTools,
): Promise<string> {
  const from = cursor === undefined ? undefined : readCursor(cursor);
  const isOwn = tools.headers.length > 0;
  const lists =
    (isOwn ? undefined : knownLists(federation, method)) ??
    (await fromAll(
      federation,
      (member) => listOf(federation, member, method, shape, tools),
      (member, items) => {
        // The next request would read it again, and be too late again.
        if (isOwn) return;
        member.lists.keepOnce(method, items);
        federation.tellChanged(listOfMethod(method));
      },
      (member) => member.missed.add(method),
    ));
  for (const { member } of lists) member.missed.found(method);
  if (lists.length < federation.all.length) await federation.recallNames(shape.kind);
  if (from !== undefined) return resultOf(shape, pageOf(federation, shape, itemRules, lists, from));
  const basis = isOwn ? undefined : basisOf(federation, lists, itemRules);
  const kept = basis && federation.pages.get(method, basis);
  if (kept !== undefined) return kept;
  const result = resultOf(shape, pageOf(federation, shape, itemRules, lists));
  // A target that is down or late may have the tool.
  if (method === 'tools/list' && lists.length === federation.all.length)
    itemRules?.compareWithTools(
      () => lists.flatMap(({ member, value }) => value.map((tool) => ({ ...tool, target: member.name }))),
      federation.log,
    );
  // The rules may have run out of work meanwhile; and a list that the next request reads again is another one.
  const isLasting =
    (itemRules === undefined || itemRules.basis !== undefined) && isKnown(federation, method, lists);
  if (basis !== undefined && isLasting) federation.pages.put(method, basis, result);
  return result;
}

function resultOf(shape: ListShape, { items, nextCursor }: Page): string {
  const next = nextCursor === undefined ? '' : `,"nextCursor":${JSON.stringify(nextCursor)}`;
  return `{"${shape.list}":[${items.join(',')}]${next}}`;
}

/** @param from the place behind which the page begins; absent: the first page */
function pageOf(
  federation: Federation,
  shape: ListShape,
  itemRules: ItemRules | undefined,
  lists: Lists,
  from?: Cursor,
): Page {
  const page = new PageBuilder(federation, shape, itemRules);
  const { all } = federation;
  const begin = from === undefined ? 0 : all.findIndex(({ name }) => name === from.target);
  if (begin < 0) throw badCursor();
  for (const { member, value: items } of lists) {
    const place = all.indexOf(member);
    // The target of the cursor may have failed since: the page goes on with the next one.
    if (place < begin) continue;
    const first = from !== undefined && place === begin ? placeBehind(from, items) : 0;
    for (let index = first; index < items.length; index++) {
      const next = page.add(member.name, items[index]!, index);
      if (next !== undefined) return { items: page.items, nextCursor: next };
    }
  }
  return { items: page.items, nextCursor: undefined };
}

/** The place of the first item of the next page. A list may have a name twice, and may have changed meanwhile. */
function placeBehind({ mark, index }: Cursor, items: readonly ListedItem[]): number {
  const isMarked = (item: ListedItem | undefined): boolean =>
    item?.name !== undefined && markOf(item.name) === mark;
  if (isMarked(items[index])) return index + 1;
  const known = items.findIndex(isMarked);
  return known < 0 ? index : known + 1;
}

class PageBuilder {
  readonly items: string[] = [];
  private readonly federation: Federation;
  private readonly shape: ListShape;
  private readonly itemRules: ItemRules | undefined;
  private characters = 0;
  /** The place behind the last item on the page. */
  private last: Cursor | undefined;

  constructor(federation: Federation, shape: ListShape, itemRules: ItemRules | undefined) {
    this.federation = federation;
    this.shape = shape;
    this.itemRules = itemRules;
  }

  /** @returns the cursor of the next page, where the item does not go on this one */
  add(target: string, { name, text }: ListedItem, index: number): string | undefined {
    if (!this.shows(target, name)) return undefined;
    const full = this.items.length >= maxItems || this.characters + text.length > maxCharacters;
    if (full && this.last !== undefined) return cursorText(this.last);
    this.items.push(text);
    this.characters += text.length;
    if (name !== undefined) this.last = { target, mark: markOf(name), index };
    return undefined;
  }

  private shows(target: string, name: string | undefined): boolean {
    const { itemRules, shape } = this;
    const { kind, template = false } = shape;
    // An item whose name cannot be told is hidden from a caller under rules, and nobody could use it by its target.
    if (name === undefined) return itemRules === undefined;
    if (itemRules !== undefined && !itemRules.allows({ kind, target, name, template })) return false;
    return kind === 'resource' || this.federation.reaches(kind, target, name);
  }
}
