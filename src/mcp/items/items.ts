/** Finds the messages about a tool, prompt or resource, and the place of its name. */

import type { ErrorCode } from '../../errors.ts';
import type { McpItem } from '../contract.ts';
import { maxRead, memberOf, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import { Members } from '../json/scan.ts';

export type ItemKind = McpItem['kind'];

/** Items of one list of a server. A large message has room for millions of tiny ones. */
export const maxItems = 20_000;

/** The answer about an item that the caller may not know of: the same as for an unknown item. */
export const unknownItem: Readonly<Record<ItemKind, { code: ErrorCode; label: string }>> = {
  tool: { code: 'mcp_unknown_tool', label: 'Unknown tool' },
  prompt: { code: 'mcp_unknown_prompt', label: 'Unknown prompt' },
  resource: { code: 'mcp_unknown_resource', label: 'Unknown resource' },
};

/** The item that a request names. */
export interface NamedItem {
  readonly kind: ItemKind;
  readonly name: string;
  /** Place of the name's string. */
  readonly span: Span;
  /** The name may be a template of URIs. */
  readonly template: boolean;
}

/** The template's variables in a request for completions. */
export interface Completed {
  /** Name of the variable whose values are asked for. */
  readonly variable: string | undefined;
  /** Variables with the values that the request gives them. */
  readonly values: ReadonlyMap<string, string>;
}

interface Place {
  readonly kind: ItemKind;
  readonly member: string;
  readonly template?: true;
}

const places: ReadonlyMap<string, Place> = new Map([
  ['tools/call', { kind: 'tool', member: 'name' }],
  ['prompts/get', { kind: 'prompt', member: 'name' }],
  ['resources/read', { kind: 'resource', member: 'uri' }],
  ['resources/subscribe', { kind: 'resource', member: 'uri' }],
  ['resources/unsubscribe', { kind: 'resource', member: 'uri' }],
]);

/** Requests that name an item. */
export const itemMethods: readonly string[] = [...places.keys(), 'completion/complete'];

/** `ref.type` of completion/complete. */
const references: ReadonlyMap<string, Place> = new Map([
  ['ref/prompt', { kind: 'prompt', member: 'name' }],
  ['ref/resource', { kind: 'resource', member: 'uri', template: true }],
]);

/** The reason why a request's item cannot be told. */
export type UnclearItem = 'ambiguous' | 'malformed' | 'unnamed';

/**
 * Finds the item of a request; undefined where a request of this method is about none.
 * `ambiguous`: the name stands there twice, and the server might read the other one. `malformed`: it is no string,
 * and some servers make one of it (`["a"]` is `a` as a key of a JavaScript object). `unnamed`: it is not there, or a
 * reference is of no known type; a server may find a name elsewhere.
 */
export function itemOf(message: Envelope): NamedItem | UnclearItem | undefined {
  const place = places.get(message.method);
  if (place !== undefined) return named(message.text, message.body, place);
  if (message.method !== 'completion/complete') return undefined;
  const ref = memberOf(message.text, message.body, 'ref');
  if (ref === 'ambiguous') return ref;
  const type = memberOf(message.text, ref, 'type');
  if (type === undefined) return 'unnamed';
  if (type === 'ambiguous') return type;
  const kind = stringValue(message.text, type);
  if (kind === undefined) return 'malformed';
  const target = references.get(kind);
  return target === undefined ? 'unnamed' : named(message.text, ref, target);
}

function named(text: string, body: Span | undefined, place: Place): NamedItem | UnclearItem {
  const span = memberOf(text, body, place.member);
  if (span === undefined) return 'unnamed';
  if (span === 'ambiguous') return span;
  const name = stringValue(text, span);
  const { kind, template = false } = place;
  return name === undefined ? 'malformed' : { kind, name, span, template };
}

/** A template may have many variables; with more values than these a request is none of an honest client. */
const maxValues = 64;

/** The variables of a template in `completion/complete`. */
export function completedBy({ text, body }: Envelope): Completed | UnclearItem {
  const values = new Map<string, string>();
  const argument = memberOf(text, body, 'argument');
  const context = memberOf(text, body, 'context');
  if (argument === 'ambiguous' || context === 'ambiguous') return 'ambiguous';
  const known = memberOf(text, context, 'arguments');
  const name = memberOf(text, argument, 'name');
  if (known === 'ambiguous' || name === 'ambiguous') return 'ambiguous';
  if (known !== undefined) {
    if (known.end - known.start > maxRead) return 'malformed';
    const members = new Members(text, known.start);
    while (members.next()) {
      if (values.has(members.key)) return 'ambiguous';
      if (values.size === maxValues) return 'malformed';
      const given = stringValue(text, members);
      if (given === undefined) return 'malformed';
      values.set(members.key, given);
    }
    if (members.broken) return 'malformed';
  }
  return { variable: stringValue(text, name), values };
}

/** The place of the items in a list result. */
export interface ListShape {
  readonly kind: ItemKind;
  /** Member of `result` that holds the list. */
  readonly list: string;
  /** Member of an item that names it. */
  readonly member: string;
  /** The names are templates of URIs. */
  readonly template?: true;
}

const lists: ReadonlyMap<string, ListShape> = new Map([
  ['tools/list', { kind: 'tool', list: 'tools', member: 'name' }],
  ['prompts/list', { kind: 'prompt', list: 'prompts', member: 'name' }],
  ['resources/list', { kind: 'resource', list: 'resources', member: 'uri' }],
  [
    'resources/templates/list',
    { kind: 'resource', list: 'resourceTemplates', member: 'uriTemplate', template: true },
  ],
]);

export function listShape(method: string): ListShape | undefined {
  return lists.get(method);
}

/** The list in which items of a kind stand; templates of resources stand in one of their own. */
export function listOfKind(kind: ItemKind): readonly [method: string, shape: ListShape] {
  for (const list of lists) if (list[1].kind === kind && list[1].template !== true) return list;
  throw new Error(`no list has the items of kind ${kind}`);
}
