import type { HeaderLine } from '../../../http/index.ts';
import { memberOf, stringValue } from '../../json/envelope.ts';
import type { Edit } from '../../json/scan.ts';
import { headerValue, nameMembers } from '../../messages/mirroredHeaders.ts';
import type { Outgoing } from '../../messages/outgoing.ts';

/**
 * The header `Mcp-Name` of a request as it goes over the wire: a name may be another one there than in the client's text
 * (2026-07-28, Standard Request Headers).
 */
export function nameHeader({ envelope, edits }: Outgoing): readonly HeaderLine[] {
  const { text, body, method } = envelope;
  const member = nameMembers.get(method);
  const place = member === undefined ? undefined : memberOf(text, body, member);
  if (typeof place !== 'object') return [];
  const edit = edits.find(({ start, end }) => start === place.start && end === place.end);
  const value = edit === undefined ? stringValue(text, place) : writtenIn(edit);
  return value === undefined ? [] : [['mcp-name', headerValue(value)]];
}

const writtenIn = ({ replacement }: Edit): string | undefined =>
  stringValue(replacement, { start: 0, end: replacement.length });
