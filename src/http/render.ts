import type { HeaderEdits } from './edits.ts';
import type { HeaderLine } from './exchange.ts';
import { KIND } from './fields.ts';
import { SPAN, type Head } from './head.ts';

/** Kinds of fields that do not cross the gateway, by kind. */
export type DropTable = Uint8Array;

/** Hop-by-hop fields (RFC 9110 §7.6.1) and the obsolete ones that behave like them. */
export const hopByHop: readonly number[] = [
  KIND.connection,
  KIND.keepAlive,
  KIND.proxyConnection,
  KIND.te,
  KIND.upgrade,
  KIND.http2Settings,
  KIND.proxyAuthenticate,
  KIND.proxyAuthorization,
];

/** A table that drops these kinds. */
export function dropTable(kinds: readonly number[]): DropTable {
  const table = new Uint8Array(32);
  for (const kind of kinds) table[kind] = 1;
  return table;
}

/**
 * The field lines of `head` that cross the gateway, as one piece of text: everything but the kinds in `drop`, the
 * names Connection lists and the names `edits` drops; the lines of `edits` are added. Neighbouring lines that stay
 * are copied together.
 */
export function renderFields(head: Head, drop: DropTable, edits: HeaderEdits | undefined): string {
  const { text, count, kinds, spans } = head;
  const named = head.connectionNames;
  const editing = edits !== undefined && edits.drops ? edits : undefined;
  let out = '';
  let from = head.lineEnd;
  for (let i = 0; i < count; i++) {
    const drops =
      drop[kinds[i] as number] === 1 ||
      (editing?.dropsHash(head.hashes[i] as number) === true &&
        editing.dropsName(head.name(i).toLowerCase())) ||
      named?.includes(head.name(i).toLowerCase()) === true;
    if (!drops) continue;
    const lineStart = spans[i * SPAN] as number;
    if (lineStart > from) out += text.substring(from, lineStart);
    from = head.fieldEnd(i);
  }
  out += text.substring(from, head.length - 2);
  return edits === undefined || edits.lines.length === 0 ? out : out + renderLines(edits.lines);
}

/**
 * Lines of our own making. Heads are written as latin1, where a character like U+010A would turn into a line feed:
 * what may not stand in a value becomes a question mark, wherever it came from.
 */
export function renderLines(lines: readonly HeaderLine[]): string {
  let out = '';
  for (const [name, value] of lines) {
    out += `${name}: ${isHeaderValue(value) ? value : value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')}\r\n`;
  }
  return out;
}

/** May stand in a header value: no line can be split with it. */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

/** A field name (RFC 9110 §5.1). */
export const isHeaderName = (name: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
