import type { GatewayError } from '../../errors.ts';
import type { ListShape } from './items.ts';
import { memberOf, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import { Elements } from '../json/scan.ts';
import type { ItemRules } from './itemRules.ts';
import { targetError } from '../messages/rpcError.ts';
import { unfiltered, type FilteredResponse, type ResponseFilter } from './responseFilter.ts';

export interface ListFilterStart {
  readonly shape: ListShape;
  /** The target's name today. */
  readonly target: string;
  /** Put before each name; empty for none. */
  readonly prefix: string;
  readonly itemRules: ItemRules | undefined;
}

/** The view of a caller on a target's list. What stays of it is byte for byte what the server wrote. */
export class ListFilter implements ResponseFilter {
  private readonly start: ListFilterStart;

  constructor(start: ListFilterStart) {
    this.start = start;
  }

  filter(response: Envelope): FilteredResponse | GatewayError {
    const { shape, target, prefix, itemRules } = this.start;
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
      if (prefix === '' || name === undefined || typeof place !== 'object') return 'as written';
      return { ...place, replacement: JSON.stringify(prefix + name) };
    });
  }
}

/** The shown part of an item: nothing, all of it, or one place changed. */
type ShownItem =
  undefined | 'as written' | { readonly start: number; readonly end: number; readonly replacement: string };

/**
 * The list response with the items that `each` shows.
 * @param refill where nothing is left, the next page takes the place of this one
 */
export function filterList(
  response: Envelope,
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
  const elements = new Elements(text, list.start);
  while (elements.next()) {
    const { start, end } = elements;
    const shown = each({ start, end });
    if (shown !== 'as written') changed = true;
    if (shown === 'as written') items.push(text.slice(start, end));
    else if (shown !== undefined)
      items.push(text.slice(start, shown.start) + shown.replacement + text.slice(shown.end, end));
  }
  if (elements.broken) return noList();
  const next = refill && items.length === 0 ? cursorOf(response) : undefined;
  if (!changed && next === undefined) return unfiltered;
  const edits = changed ? [{ ...list, replacement: `[${items.join(',')}]` }] : [];
  return next === undefined ? { edits } : { edits, next };
}

function cursorOf({ text, body }: Envelope): string | undefined {
  const place = memberOf(text, body, 'nextCursor');
  if (place === 'ambiguous' || stringValue(text, place) === undefined) return undefined;
  return text.slice(place!.start, place!.end);
}
