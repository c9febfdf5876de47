/** Which messages are about a tool, prompt or resource, and where its name stands. */

import type { ErrorCode } from '../errors.ts';
import type { McpItem } from './contract.ts';
import { memberOf, stringValue, type Envelope, type Span } from './json/envelope.ts';

export type ItemKind = McpItem['kind'];

/** What a caller hears about an item that it may not know of: the same as about one that does not exist. */
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
}

interface Place {
  readonly kind: ItemKind;
  readonly member: string;
}

const places: ReadonlyMap<string, Place> = new Map([
  ['tools/call', { kind: 'tool', member: 'name' }],
  ['prompts/get', { kind: 'prompt', member: 'name' }],
  ['resources/read', { kind: 'resource', member: 'uri' }],
  ['resources/subscribe', { kind: 'resource', member: 'uri' }],
  ['resources/unsubscribe', { kind: 'resource', member: 'uri' }],
]);

/** `ref.type` of completion/complete. */
const references: ReadonlyMap<string, Place> = new Map([
  ['ref/prompt', { kind: 'prompt', member: 'name' }],
  ['ref/resource', { kind: 'resource', member: 'uri' }],
]);

/** Why a request's item cannot be told. */
export type UnclearItem = 'ambiguous' | 'malformed';

/**
 * Finds the item of a request; undefined where it is about none, or names none (the server will say so).
 * `ambiguous`: the name stands there twice, and the server might read the other one. `malformed`: it is no string,
 * and some servers make one of it (`["a"]` is `a` as a key of a JavaScript object).
 */
export function itemOf(message: Envelope): NamedItem | UnclearItem | undefined {
  const place = places.get(message.method);
  if (place !== undefined) return named(message.text, message.body, place);
  if (message.method !== 'completion/complete') return undefined;
  const ref = memberOf(message.text, message.body, 'ref');
  if (ref === 'ambiguous') return ref;
  const type = memberOf(message.text, ref, 'type');
  if (type === undefined || type === 'ambiguous') return type;
  const kind = stringValue(message.text, type);
  if (kind === undefined) return 'malformed';
  const target = references.get(kind);
  return target === undefined ? undefined : named(message.text, ref, target);
}

function named(text: string, body: Span | undefined, place: Place): NamedItem | UnclearItem | undefined {
  const span = memberOf(text, body, place.member);
  if (span === undefined || span === 'ambiguous') return span;
  const name = stringValue(text, span);
  return name === undefined ? 'malformed' : { kind: place.kind, name, span };
}

/** Where the items of a list result stand. */
export interface ListShape {
  readonly kind: ItemKind;
  /** Member of `result` that holds the list. */
  readonly list: string;
  /** Member of an item that names it. */
  readonly member: string;
}

const lists: ReadonlyMap<string, ListShape> = new Map([
  ['tools/list', { kind: 'tool', list: 'tools', member: 'name' }],
  ['prompts/list', { kind: 'prompt', list: 'prompts', member: 'name' }],
  ['resources/list', { kind: 'resource', list: 'resources', member: 'uri' }],
  ['resources/templates/list', { kind: 'resource', list: 'resourceTemplates', member: 'uriTemplate' }],
]);

export function listShape(method: string): ListShape | undefined {
  return lists.get(method);
}
