/** A JSON-RPC 2.0 message as it was written, with the few places known that a gateway looks at or edits. */

import { ownCopy } from '../../ownCopy.ts';
import {
  foldKey,
  isLike,
  ObjectSpan,
  scanFor,
  type Found,
  type FoundMembers,
  type Span,
} from './objectSpan.ts';
import { decodeString, Members, skipSpace, splice, type Edit } from './scan.ts';

export { foldKey, isLike, type Found, type FoundMembers, type Span };

export type RpcId = string | number;

export interface Envelope {
  /** The message, exactly as written, without line breaks. */
  readonly text: string;
  readonly kind: 'request' | 'notification' | 'response';
  /** Empty for a response. */
  readonly method: string;
  /** Undefined for a notification. */
  readonly id: RpcId | undefined;
  /** Place of the id; empty for a notification. */
  readonly idSpan: Span;
  /** Place of `params` (or of `result` in a response); undefined where absent. */
  readonly body: Span | undefined;
  /** A response that carries `error`. */
  readonly isError: boolean;
}

/** The reason why a text is not a message. */
export type Fault = 'not_json' | 'not_message' | 'ambiguous';

/** Ids and progress tokens are echoed and kept for the life of a call, or of its task. */
export const maxIdLength = 256;
const noSpan: Span = { start: 0, end: 0 };

/** Members that decide what a message is. Readers that disagree on a repeated one could be played against each other. */
const members: readonly string[] = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
const folded: ReadonlySet<string> = new Set(members);

/** The place of a member in `members`, or -1. A look into a map would hash each key, which was cut out just now. */
function placeOf(key: string): number {
  for (let place = 0; place < members.length; place++) if (members[place] === key) return place;
  return -1;
}

/**
 * Reads the outside of a message. The caller has checked that the text is JSON, or accepts that only its
 * structure is checked.
 */
export function readEnvelope(text: string): Envelope | Fault {
  const at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== 0x7b) return 'not_message';
  const scan = new Members(text, at);
  const spans: (Span | undefined)[] = [undefined, undefined, undefined, undefined, undefined, undefined];
  while (scan.next()) {
    const place = placeOf(scan.key);
    if (place < 0) {
      if (scan.key.length > 8 || !folded.has(foldKey(scan.key))) continue;
      return 'ambiguous';
    }
    if (spans[place] !== undefined) return 'ambiguous';
    spans[place] = new ObjectSpan(scan.start, scan.end);
  }
  if (scan.broken || skipSpace(text, scan.after) !== text.length) return 'not_json';
  return classify(text, spans);
}

/** The same for a text whose outside was looked at before: `members` are those of the message. */
export function envelopeOf(text: string, found: FoundMembers | undefined): Envelope | Fault {
  if (found === undefined) return 'not_message';
  const spans: (Span | undefined)[] = [];
  for (const name of members) {
    const span = found.get(name);
    if (span === 'ambiguous') return span;
    spans.push(span);
  }
  return classify(text, spans);
}

/** The message with changes in its text. */
export function edited(message: Envelope, edits: readonly Edit[]): Envelope {
  if (edits.length === 0) return message;
  const changed = readEnvelope(splice(message.text, edits));
  if (typeof changed === 'string') throw new Error(`an edit broke the message: ${changed}`);
  return changed;
}

/** The text of a message with another id. */
export const withId = ({ text, idSpan }: Envelope, idText: string): string =>
  text.slice(0, idSpan.start) + idText + text.slice(idSpan.end);

function classify(text: string, spans: readonly (Span | undefined)[]): Envelope | Fault {
  const [version, idSpan, methodSpan, params, result, error] = spans;
  if (version === undefined || stringAt(text, version) !== '2.0') return 'not_message';
  let id: RpcId | undefined;
  if (idSpan !== undefined) {
    id = readId(text, idSpan);
    if (id === undefined) return 'not_message';
  }
  if (methodSpan !== undefined) {
    const method = stringAt(text, methodSpan);
    if (method === undefined || result !== undefined || error !== undefined) return 'not_message';
    if (params !== undefined && text.charCodeAt(params.start) !== 0x7b) return 'not_message';
    return {
      text,
      kind: idSpan === undefined ? 'notification' : 'request',
      method,
      id,
      idSpan: idSpan ?? noSpan,
      body: params,
      isError: false,
    };
  }
  if (id === undefined || (result === undefined) === (error === undefined)) return 'not_message';
  return {
    text,
    kind: 'response',
    method: '',
    id,
    idSpan: idSpan ?? noSpan,
    body: result,
    isError: error !== undefined,
  };
}

/** Ids are strings or numbers; MCP forbids null. */
function readId(text: string, span: Span): RpcId | undefined {
  if (span.end - span.start > maxIdLength) return undefined;
  const c = text.charCodeAt(span.start);
  if (c === 0x22) {
    const own = cut(text, span);
    return decodeString(own, 0, own.length);
  }
  if (c !== 0x2d && !(c >= 0x30 && c <= 0x39)) return undefined;
  const id = Number(text.slice(span.start, span.end));
  return Number.isNaN(id) ? undefined : id;
}

/** Longer strings are no names: they are passed on unread, since reading them would hold up others. */
export const maxRead = 1_048_576;

function stringAt(text: string, span: Span): string | undefined {
  if (text.charCodeAt(span.start) !== 0x22 || span.end - span.start > maxRead) return undefined;
  return decodeString(text, span.start, span.end);
}

/** The place of one member of the object at `span`; undefined where absent, `ambiguous` where repeated. */
export function memberOf(text: string, span: Span | undefined, name: string): Found {
  if (span === undefined || text.charCodeAt(span.start) !== 0x7b) return undefined;
  if (span instanceof ObjectSpan) return span.memberOf(text, name);
  if (span.members?.has(name) === true) return span.members.get(name);
  return scanFor(text, span, name);
}

/** The place of the outermost object of a message. */
export const wholeOf = (text: string): Span => ({ start: text.indexOf('{'), end: text.length });

/** The object at a span with the places of members that are found in one pass: `memberOf` has them at hand. */
export function withMembers(text: string, span: Span, names: readonly string[]): Span {
  if (text.charCodeAt(span.start) !== 0x7b) return span;
  const members = new Map<string, Found>(names.map((name) => [name, undefined]));
  const scan = new Members(text, span.start);
  while (scan.next()) {
    const { key, start, end } = scan;
    if (members.has(key)) members.set(key, members.get(key) === undefined ? { start, end } : 'ambiguous');
    else for (const name of names) if (isLike(key, name)) members.set(name, 'ambiguous');
  }
  if (scan.broken) for (const name of names) members.set(name, 'ambiguous');
  return { ...span, members };
}

/** The text of a short member of an object; undefined where it has none, or a longer one. */
export function memberText(text: string, span: Span | undefined, name: string): string | undefined {
  const place = memberOf(text, span, name);
  return typeof place === 'object' && place.end - place.start <= 64
    ? text.slice(place.start, place.end)
    : undefined;
}

/** The string value at a span, or undefined where it is something else or longer than `maxRead`. */
export function stringValue(text: string, span: Span | undefined): string | undefined {
  return span === undefined ? undefined : stringAt(text, span);
}

/** The text at a span, to be kept. */
export const cut = (text: string, { start, end }: Span): string => ownCopy(text.slice(start, end));
