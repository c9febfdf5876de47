import { asGatewayError, GatewayError } from '../../errors.ts';
import type { Envelope } from '../json/envelope.ts';
import type { Call } from '../session/call.ts';
import { hasLeft, type Dispatch } from './dispatchContext.ts';

/** Tells whether a request about an item is a use of it. The refusal of `resources/unsubscribe` would leave its server subscribed. */
export const isCounted = ({ method }: Pick<Envelope, 'method'>): boolean =>
  method !== 'resources/unsubscribe';

/**
 * Sends a call when policies have counted it. The client can take it back meanwhile, or leave for good: then its server
 * never hears of it.
 * @param counted ends with a function to call when the call is over, if there is one; rejects for a refused call
 */
export function countFirst(
  { session, answer, notes }: Pick<Dispatch, 'session' | 'answer' | 'notes'>,
  request: Envelope,
  call: Call,
  counted: Promise<(() => void) | undefined>,
  send: () => void,
): void {
  const takenBack = (): void => call.cancelled(new GatewayError('mcp_cancelled'));
  const waiting = {
    id: call.id,
    cancel: () => {
      session.unsent.delete(waiting);
      takenBack();
    },
  };
  session.unsent.add(waiting);
  const enter = (ended: (() => void) | undefined): void => {
    const isWanted = session.unsent.delete(waiting);
    if (isWanted && !hasLeft({ session, answer })) {
      if (ended !== undefined) call.whenOver(ended);
      send();
      return;
    }
    ended?.();
    if (isWanted) takenBack();
  };
  counted.then(enter, (error: unknown) => {
    if (!session.unsent.delete(waiting)) return;
    notes.annotate('mcp.outcome', 'refused');
    const known = asGatewayError(error);
    answer.note?.(request, { refusal: known.code, by: known.by });
    call.failed(known);
  });
}
