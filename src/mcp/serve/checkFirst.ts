/** A request of a client waits for the checks of policies. */

import { asGatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { CheckRefusal } from '../contract.ts';
import { noteItemRefusal } from '../items/itemRefusal.ts';
import { cut, type Envelope } from '../json/envelope.ts';
import { errorResponse, rpcCodeOf } from '../messages/rpcError.ts';
import { respondError } from '../session/callAnswer.ts';
import { BroadCall } from './broadCall.ts';
import type { CheckedRequest } from './checks.ts';
import { hasLeft, type Dispatch } from './dispatchContext.ts';
import type { MessageNotes } from './messageNotes.ts';

/**
 * Waits for the checks of a request for a target, which the client can take back meanwhile.
 * @param go sends it; it gets the changed request, if the checks have changed it, and header lines for the server
 */
export function checkFirst(
  x: Dispatch,
  request: Envelope,
  verdict: Promise<CheckedRequest | CheckRefusal>,
  go: (changed: Envelope | undefined, headers: readonly HeaderLine[]) => void,
): void {
  const { session, answer } = x;
  const call = new BroadCall(x, request);
  const tally = x.enter();
  session.unsent.add(call);
  session.streams.expect(answer);
  verdict
    .finally(() => {
      session.unsent.delete(call);
      tally.leave();
      session.touch();
    })
    .then((checked) => {
      if (hasLeft(x)) {
        call.cancel();
        return;
      }
      if (!call.leave()) return;
      if ('error' in checked) answer.respond(checkRefusal(x, request, checked));
      else go(checked.isChanged ? checked.request : undefined, checked.headers);
    })
    .catch((error: unknown) => {
      session.log.error('Request failed', { error: String(error) });
      respondError(answer, asGatewayError(error), call.idText);
    });
}

/** Notes a refusal by a check. @returns the response for the client */
export function checkRefusal(
  { notes, answer }: Pick<Dispatch, 'notes' | 'answer'>,
  request: Envelope,
  { by, error, asToolResult }: CheckRefusal,
): string {
  noteCheckRefusal(notes, { by, error, asToolResult });
  answer.note?.(request, { refusal: by });
  const idText = cut(request.text, request.idSpan);
  if (!asToolResult) return errorResponse(error, idText);
  const result = { content: [{ type: 'text', text: error.message }], isError: true };
  return `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`;
}

/** Names the processor and its reason in the access log. */
export function noteCheckRefusal(notes: MessageNotes, { by, error, asToolResult }: CheckRefusal): void {
  noteItemRefusal(notes, by);
  notes.annotate('mcp.refusal', 'guardrail');
  if (error.detail !== undefined) notes.annotate('mcp.reason', error.detail.slice(0, 256));
  if (!asToolResult) notes.annotate('mcp.errorCode', rpcCodeOf(error));
}
