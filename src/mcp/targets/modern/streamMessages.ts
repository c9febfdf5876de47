/** Notifications on a `subscriptions/listen` stream (2026-07-28, Subscriptions). */

import { edited, type Envelope } from '../../json/envelope.ts';
import { memberEdits, objectMembers } from '../../json/objectMembers.ts';
import { metaKeys } from '../../messages/eras.ts';
import { placeOfMeta } from '../../messages/requestMeta.ts';

/** The notification as the session knows it. */
export function withoutSubscription(message: Envelope): Envelope {
  const { text } = message;
  const meta = placeOfMeta(message);
  const members = meta && objectMembers(text, meta);
  if (meta === undefined || members === undefined) return message;
  return edited(
    message,
    memberEdits(text, meta, members, (name) => name === metaKeys.subscriptionId),
  );
}
