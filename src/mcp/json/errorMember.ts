/** The `error` of a response, whose envelope tells the place of a result only. */

import { ownCopy } from '../../ownCopy.ts';
import { memberOf, stringValue, wholeOf, type Envelope, type Span } from './envelope.ts';

function errorPlace({ text }: Envelope): Span | undefined {
  const found = memberOf(text, wholeOf(text), 'error');
  return found === 'ambiguous' ? undefined : found;
}

/** The place of a member of the error; undefined where the error has no such member, or has it twice. */
export function placeInError(response: Envelope, name: string): Span | undefined {
  const found = memberOf(response.text, errorPlace(response), name);
  return found === 'ambiguous' ? undefined : found;
}

/** The code of an error; undefined for any other response. */
export function errorCodeOf(response: Envelope): number | undefined {
  if (!response.isError) return undefined;
  const place = placeInError(response, 'code');
  return place === undefined ? undefined : Number(response.text.slice(place.start, place.end));
}

/** JSON-RPC 2.0 §5.1: the server lacks the method. */
const methodNotFound = -32601;

/** Does the server say that it lacks the method? */
export const lacksMethod = (response: Envelope): boolean => errorCodeOf(response) === methodNotFound;

/** Characters of a message that are shown. */
const maxShown = 200;

/** Code and message, for the log and for the message to the client. */
export function errorTextOf(response: Envelope): string {
  const message = stringValue(response.text, placeInError(response, 'message'));
  return `${String(errorCodeOf(response) ?? '?')} ${ownCopy(message?.slice(0, maxShown) ?? '')}`.trim();
}
