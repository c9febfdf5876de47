import type { McpItem } from './contract.ts';
import type { ListShape } from './items.ts';
import { memberOf, stringValue, type Envelope, type Span } from './json/envelope.ts';
import { Elements } from './json/scan.ts';

/** How one caller sees a target's list. */
export interface ListView {
  readonly shape: ListShape;
  readonly target: string;
  /** Put before each name; empty for none. */
  readonly prefix: string;
  readonly mayUse: ((item: McpItem) => boolean) | undefined;
}

/**
 * The list response as the caller may see it; what stays is byte for byte what the server wrote. An item whose
 * name cannot be told is hidden from a caller under rules. Answers undefined where the response is no such list.
 */
export function viewList(response: Envelope, view: ListView): string | undefined {
  const { text } = response;
  const list = memberOf(text, response.body, view.shape.list);
  if (list === undefined || list === 'ambiguous' || text.charCodeAt(list.start) !== 0x5b) return undefined;
  const items: string[] = [];
  let hidden = false;
  const elements = new Elements(text, list.start);
  while (elements.next()) {
    const item: Span = { start: elements.start, end: elements.end };
    const place = memberOf(text, item, view.shape.member);
    const name = place === 'ambiguous' ? undefined : stringValue(text, place);
    if (view.mayUse !== undefined && (name === undefined || !allowed(view, view.mayUse, name))) hidden = true;
    else if (view.prefix === '' || name === undefined || typeof place !== 'object')
      items.push(text.slice(item.start, item.end));
    else {
      const prefixed = JSON.stringify(view.prefix + name);
      items.push(text.slice(item.start, place.start) + prefixed + text.slice(place.end, item.end));
    }
  }
  if (elements.broken) return undefined;
  if (!hidden && view.prefix === '') return text;
  return `${text.slice(0, list.start)}[${items.join(',')}]${text.slice(list.end)}`;
}

function allowed(view: ListView, mayUse: (item: McpItem) => boolean, name: string): boolean {
  return mayUse({ kind: view.shape.kind, target: view.target, name });
}
