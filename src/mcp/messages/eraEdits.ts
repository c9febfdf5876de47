/** The edits by which a request of one era becomes one of the other era. */

import { edited, memberOf, wholeOf, type Envelope, type Span } from '../json/envelope.ts';
import { addition, memberEdits, objectMembers } from '../json/objectMembers.ts';
import type { Edit } from '../json/scan.ts';
import { metaKeys } from './eras.ts';
import type { Outgoing } from './outgoing.ts';
import { placeOfMeta } from './requestMeta.ts';

/** Keys of `_meta` by which a request says its revision, its client and the wishes of its client. */
const perRequest: ReadonlySet<string> = new Set([
  metaKeys.protocolVersion,
  metaKeys.clientInfo,
  metaKeys.clientCapabilities,
  metaKeys.logLevel,
]);

const none: ReadonlySet<string> = new Set();
/** Members of an augmented request (2025-11-25, Tasks), which is answered without a task. */
const augmentation: ReadonlySet<string> = new Set(['task']);
/** Members of a second round. */
const answered: ReadonlySet<string> = new Set(['inputResponses', 'requestState', 'task']);

/** The same request with the edits of the session in its text. */
export function withEdits(out: Outgoing): Outgoing {
  if (out.edits.length === 0) return out;
  const envelope = edited(out.envelope, out.edits);
  const token = memberOf(envelope.text, placeOfMeta(envelope), 'progressToken');
  return { ...out, envelope, edits: [], token: typeof token === 'object' ? token : undefined };
}

/**
 * The edits that add `_meta`, and the members of a further round.
 * @param meta members of `_meta`, as JSON text
 * @param round members of `params`, as JSON text; absent: it is the first round
 * @returns undefined where `params` cannot be told, because a member is repeated or no object
 */
export function modernEdits(
  { text, body }: Envelope,
  meta: string,
  round?: string,
): readonly Edit[] | undefined {
  const more = round === undefined || round === '' ? [] : [round];
  if (body === undefined) {
    const params = [`"_meta":{${meta}}`, ...more].join(',');
    return [addition(text, wholeOf(text), `"params":{${params}}`)];
  }
  const place = memberOf(text, body, '_meta');
  if (place === 'ambiguous' || (place !== undefined && text.charCodeAt(place.start) !== 0x7b))
    return undefined;
  const isAugmented = memberOf(text, body, 'task') !== undefined;
  const removed = round !== undefined ? answered : isAugmented ? augmentation : none;
  const added = [...(place === undefined ? [`"_meta":{${meta}}`] : []), ...more].join(',');
  const outer = changed(text, body, removed, added);
  const inner = place === undefined ? [] : changed(text, place, perRequest, meta);
  return outer && inner && [...outer, ...inner];
}

/**
 * A request of the modern era as a server of the legacy era gets it. Servers of both eras refuse, in a session that
 * began with `initialize`, a request that says its revision (2026-07-28, Versioning and Compatibility).
 */
export function withoutRevision(out: Outgoing): Outgoing {
  const meta = placeOfMeta(out.envelope);
  if (meta === undefined) return out;
  const isEdited = out.edits.some(({ start }) => start > meta.start && start < meta.end);
  const from = isEdited ? withEdits(out) : out;
  const { text } = from.envelope;
  const place = isEdited ? placeOfMeta(from.envelope) : meta;
  const removed = place && changed(text, place, perRequest, '');
  return removed === undefined ? from : { ...from, edits: [...from.edits, ...removed] };
}

function changed(
  text: string,
  span: Span,
  removed: ReadonlySet<string>,
  added: string,
): readonly Edit[] | undefined {
  // Most requests lose nothing, and large arguments need not be read.
  if (removed.size === 0) return added === '' ? [] : [addition(text, span, added)];
  const members = objectMembers(text, span);
  return members && memberEdits(text, span, members, (name) => removed.has(name), added);
}
