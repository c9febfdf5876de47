import { memberOf, stringValue, type Envelope } from '../json/envelope.ts';
import { metaKeys } from './eras.ts';
import { placeOfMeta } from './requestMeta.ts';

/** The id of the `subscriptions/listen` stream that a notification belongs to; undefined where it belongs to none. */
export function subscriptionOf(message: Envelope): number | undefined {
  const { text } = message;
  const place = memberOf(text, placeOfMeta(message), metaKeys.subscriptionId);
  if (typeof place !== 'object') return undefined;
  return Number(stringValue(text, place) ?? text.slice(place.start, place.end));
}
