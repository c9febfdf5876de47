/** Notifications on a `subscriptions/listen` stream (2026-07-28, Subscriptions). */

import { edited, memberOf, type Envelope } from '../../json/envelope.ts';
import { memberEdits, objectMembers } from '../../json/objectMembers.ts';
import { metaKeys } from '../../messages/eras.ts';

/** The notification as the session knows it. */
export function withoutSubscription(message: Envelope): Envelope {
  const { text, body } = message;
  const meta = memberOf(text, body, '_meta');
  const members = typeof meta === 'object' ? objectMembers(text, meta) : undefined;
  if (typeof meta !== 'object' || members === undefined) return message;
  return edited(
    message,
    memberEdits(text, meta, members, (name) => name === metaKeys.subscriptionId),
  );
}
