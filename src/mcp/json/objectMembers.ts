/** The members of one object in a JSON text, and edits that add or remove some of them. */

import { splice, Members, skipSpace, type Edit } from './scan.ts';
import type { Envelope, Span } from './envelope.ts';

/** A member of an object. */
export interface Member {
  readonly name: string;
  /** The beginning of the text of the member: behind the opening bracket or the value before it. */
  readonly from: number;
  /** The place of its value. */
  readonly value: Span;
}

/** All members of the object at a place; undefined where no object stands there. */
export function objectMembers(text: string, span: Span): readonly Member[] | undefined {
  const scan = new Members(text, span.start);
  const found: Member[] = [];
  let from = span.start + 1;
  while (scan.next()) {
    found.push({ name: scan.key, from, value: { start: scan.start, end: scan.end } });
    from = scan.end;
  }
  return scan.broken ? undefined : found;
}

/** The edit that adds members in front of the others. @param added JSON text such as `"a":1,"b":2` */
export function addition(text: string, { start }: Span, added: string): Edit {
  const isEmpty = text[skipSpace(text, start + 1)] === '}';
  return { start: start + 1, end: start + 1, replacement: isEmpty ? added : `${added},` };
}

/**
 * The edits that remove members and add others.
 * @param members all members of the object, in order
 * @param added JSON text such as `"a":1,"b":2`; empty: nothing
 */
export function memberEdits(
  text: string,
  span: Span,
  members: readonly Member[],
  isRemoved: (name: string) => boolean,
  added = '',
): readonly Edit[] {
  const first = members.findIndex(({ name }) => !isRemoved(name));
  const edits: Edit[] = [];
  // In front of an edit at the same place: `splice` keeps the order of such edits.
  if (added !== '')
    edits.push({
      start: span.start + 1,
      end: span.start + 1,
      replacement: first < 0 ? added : `${added},`,
    });
  for (const [index, { name, from, value }] of members.entries()) {
    if (isRemoved(name)) edits.push({ start: from, end: value.end, replacement: '' });
    // It is the first member now, and loses its comma.
    else if (index === first && index > 0)
      edits.push({ start: from, end: text.indexOf(',', from) + 1, replacement: '' });
  }
  return edits;
}

/** A response with edits inside of its result, which is not read again. */
export function withEditedResult(response: Envelope, edits: readonly Edit[]): Envelope {
  if (edits.length === 0) return response;
  const moved = (at: number): number =>
    edits.reduce(
      (sum, { start, end, replacement }) => (end <= at ? sum + replacement.length - (end - start) : sum),
      at,
    );
  const { text, idSpan, body } = response;
  const start = idSpan.start;
  return {
    ...response,
    text: splice(text, edits),
    idSpan: { start: moved(start), end: moved(start) + idSpan.end - start },
    body: body && { start: body.start, end: moved(body.end) },
  };
}
