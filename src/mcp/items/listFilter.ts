import { GatewayError } from '../../errors.ts';
import type { Logger } from '../../telemetry/index.ts';
import { maxItems, type ItemKind, type ListShape } from './items.ts';
import { cut, memberOf, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import { Elements, splice, type Edit } from '../json/scan.ts';
import type { ItemRules } from './itemRules.ts';
import type { Naming } from './naming.ts';
import { targetError } from '../messages/rpcError.ts';
import { appUriEdits } from './resourceUris.ts';
import type { ListedTool } from './ruleNames.ts';
import { unfiltered, type FilteredResponse, type ResponseFilter } from './responseFilter.ts';

export interface ListFilterStart {
  readonly shape: ListShape;
  /** The target's name today. */
  readonly target: string;
  readonly naming: Naming;
  readonly itemRules: ItemRules | undefined;
  readonly log: Pick<Logger, 'warn'>;
  readonly isFirstPage: boolean;
}

/** The view of a caller on a target's list. What stays of it is byte for byte what the server wrote. */
export class ListFilter implements ResponseFilter {
  private readonly start: ListFilterStart;

  constructor(start: ListFilterStart) {
    this.start = start;
  }

  filter(response: Envelope): FilteredResponse | GatewayError {
    const shown = this.shownOf(response);
    if (!(shown instanceof GatewayError)) this.compare(response);
    return shown;
  }

  /** Compares the settings of the operator with the names in a whole list. */
  private compare(response: Envelope): void {
    const { shape, target, naming, itemRules, log, isFirstPage } = this.start;
    if (
      itemRules !== undefined &&
      isFirstPage &&
      shape.kind === 'tool' &&
      nextCursorOf(response) === undefined
    )
      itemRules.compareWithTools(() => toolsOf(response, shape, target), log);
    if (naming.view !== undefined && isFirstPage && nextCursorOf(response) === undefined)
      naming.view.compareWith(
        shape.kind,
        target,
        () => toolsOf(response, shape, target).map(({ name }) => name),
        log,
      );
  }

  private shownOf(response: Envelope): FilteredResponse | GatewayError {
    const { shape, target, naming, itemRules } = this.start;
    const { text } = response;
    return filterList(response, shape.list, target, itemRules !== undefined, (item) => {
      const place = memberOf(text, item, shape.member);
      const name = place === 'ambiguous' ? undefined : stringValue(text, place);
      if (itemRules !== undefined) {
        // An item whose name cannot be told is hidden from a caller under rules.
        if (name === undefined) return undefined;
        const { kind, template = false } = shape;
        if (!itemRules.allows({ kind, target, name, template })) return undefined;
      }
      if (name === undefined || typeof place !== 'object') return 'as written';
      if (naming.isTaken(shape.kind, target, name)) return undefined;
      return shownEdits(text, item, { naming, kind: shape.kind, target, name, place });
    });
  }
}

/** The tools of a list as their server wrote them. */
function toolsOf(
  { text, body }: Envelope,
  { list: member, member: nameMember }: ListShape,
  target: string,
): ListedTool[] {
  const list = memberOf(text, body, member);
  const tools: ListedTool[] = [];
  if (typeof list !== 'object') return tools;
  const elements = new Elements(text, list.start);
  while (elements.next()) {
    const place = memberOf(text, elements, nameMember);
    const name = place === 'ambiguous' ? undefined : stringValue(text, place);
    tools.push({ name, target, text: text.slice(elements.start, elements.end) });
  }
  return tools;
}

/** The shown part of an item: nothing, all of it, or all of it with changes. */
type ShownItem = undefined | 'as written' | Edit | readonly Edit[];

/** An item of a list by its name. */
export interface ItemToShow {
  readonly naming: Naming;
  readonly kind: ItemKind;
  readonly target: string;
  readonly name: string;
  /** The place of the name. */
  readonly place: Span;
}

/** The edits by which an item of a list becomes the one that clients see. @param item its place in the text */
export function shownEdits(
  text: string,
  item: Span,
  { naming, kind, target, name, place }: ItemToShow,
): readonly Edit[] {
  const edits: Edit[] = [];
  const shown = naming.shown(kind, target, name);
  if (shown !== name) edits.push({ start: place.start, end: place.end, replacement: JSON.stringify(shown) });
  if (naming.view !== undefined) edits.push(...naming.view.descriptionEdits(kind, target, name, text, item));
  if (naming.federated) edits.push(...appUriEdits(text, item, (uri) => naming.shownUri(target, uri)));
  return edits;
}

/**
 * The list response with the items that `each` shows.
 * @param refill where nothing is left, the next page takes the place of this one
 */
export function filterList(
  response: Pick<Envelope, 'text' | 'body'>,
  member: string,
  target: string,
  refill: boolean,
  each: (item: Span) => ShownItem,
): FilteredResponse | GatewayError {
  const { text } = response;
  const noList = (): GatewayError =>
    targetError('mcp_target_failed', target, 'answered with something that is no list');
  const list = memberOf(text, response.body, member);
  if (list === undefined || list === 'ambiguous' || text.charCodeAt(list.start) !== 0x5b) return noList();
  const items: string[] = [];
  let changed = false;
  let count = 0;
  const elements = new Elements(text, list.start);
  while (elements.next()) {
    if (++count > maxItems)
      return targetError('mcp_target_failed', target, 'answered with a list that is too long');
    const { start, end } = elements;
    const shown = each({ start, end });
    if (shown === 'as written' || (Array.isArray(shown) && shown.length === 0)) {
      items.push(text.slice(start, end));
      continue;
    }
    changed = true;
    if (shown !== undefined) items.push(spliced(text, start, end, Array.isArray(shown) ? shown : [shown]));
  }
  if (elements.broken) return noList();
  const next = refill && items.length === 0 ? nextCursorOf(response) : undefined;
  if (!changed && next === undefined) return unfiltered;
  const edits = changed ? [{ ...list, replacement: `[${items.join(',')}]` }] : [];
  return next === undefined ? { edits } : { edits, next };
}

/** A part of the text with edits, which have their places in the whole. */
const spliced = (text: string, start: number, end: number, edits: readonly Edit[]): string =>
  splice(
    text.slice(start, end),
    edits.map((edit) => ({ ...edit, start: edit.start - start, end: edit.end - start })),
  );

/** The cursor of the next page as its server wrote it; undefined where the list ends. */
export function nextCursorOf({ text, body }: Pick<Envelope, 'text' | 'body'>): string | undefined {
  const place = memberOf(text, body, 'nextCursor');
  if (place === 'ambiguous' || stringValue(text, place) === undefined) return undefined;
  return cut(text, place!);
}
