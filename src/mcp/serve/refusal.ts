/** Responses to requests that the gateway does not send. */

import { GatewayError } from '../../errors.ts';
import type { ItemRefusal } from '../contract.ts';
import { noteItemRefusal } from '../items/itemRefusal.ts';
import type { UnclearItem } from '../items/items.ts';
import { cut, type Envelope } from '../json/envelope.ts';
import { errorResponse, rpcCodeOf } from '../messages/rpcError.ts';
import type { Dispatch } from './dispatchContext.ts';

export const invalid = (why: string): GatewayError =>
  new GatewayError('mcp_invalid_request', { message: `invalid request: ${why}` });

/** The reasons to refuse a request before its item is looked at. */
export const faults: Readonly<Record<UnclearItem | 'long', string>> = {
  ambiguous: 'a member is repeated',
  malformed: 'the name is not a string, or too long',
  unnamed: 'it names no item',
  long: 'the progress token is too long',
};

/** The rule or setting that refuses a request. */
export type Refuser = ItemRefusal | 'request state';

/**
 * The response to a request that is not sent. The status is that of a response, so the access log has the reason.
 * @param by the setting that refuses it; absent: the request is at fault
 */
export function refusal(
  x: Pick<Dispatch, 'notes' | 'answer'>,
  request: Envelope,
  error: GatewayError,
  by?: Refuser,
): () => void {
  const { text, idSpan } = request;
  const idText = cut(text, idSpan);
  if (typeof by === 'object') noteItemRefusal(x.notes, by);
  else {
    x.notes.annotate('mcp.outcome', 'refused');
    x.notes.annotate('mcp.refusal', by ?? error.code);
  }
  x.notes.annotate('mcp.errorCode', rpcCodeOf(error));
  x.answer.note?.(request, { refusal: by ?? error.code });
  const stepUp = typeof by === 'object' ? by.stepUp : undefined;
  if (stepUp === undefined) return () => x.answer.respond(errorResponse(error, idText));
  return () => {
    if (!x.answer.refuse(error, idText)) x.answer.respond(errorResponse(error, idText));
  };
}
