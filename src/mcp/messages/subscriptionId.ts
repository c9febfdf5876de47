import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { metaKeys } from './eras.ts';

/** The id of the `subscriptions/listen` stream that a notification belongs to; undefined where it belongs to none. */
export function subscriptionOf({ text, body }: Envelope): number | undefined {
  const meta = memberOf(text, body, '_meta');
  const place = meta === 'ambiguous' ? undefined : memberOf(text, meta, metaKeys.subscriptionId);
  if (typeof place !== 'object') return undefined;
  return Number(stringValue(text, place) ?? text.slice(place.start, place.end));
}
