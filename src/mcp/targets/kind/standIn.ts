import type { GatewayError } from '../../../errors.ts';
import type { Envelope } from '../../json/envelope.ts';
import type { Waiter } from './target.ts';

/**
 * Waits in the place of another waiter, for as long as that one does. A literal with a getter would do, but V8 gives
 * each such literal a hidden class of its own, by which the whole session stays in memory until the next full
 * collection.
 */
export class StandIn implements Waiter {
  private readonly waiter: Waiter;
  readonly answered: (response: Envelope) => void;
  readonly failed: (error: GatewayError) => void;

  constructor(waiter: Waiter, { answered, failed }: Pick<Waiter, 'answered' | 'failed'>) {
    this.waiter = waiter;
    this.answered = answered;
    this.failed = failed;
  }

  get abandoned(): boolean {
    return this.waiter.abandoned === true;
  }
}
