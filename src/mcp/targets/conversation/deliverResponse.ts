import { GatewayError } from '../../../errors.ts';
import type { Envelope } from '../../json/envelope.ts';
import type { Waiter } from '../kind/target.ts';

/** Hands a response to its caller: whatever goes wrong in that, the caller hears of it. */
export function deliverResponse(waiter: Waiter, response: Envelope): void {
  try {
    waiter.answered(response);
  } catch (error) {
    waiter.failed(new GatewayError('internal_error', { cause: error }));
    throw error;
  }
}
