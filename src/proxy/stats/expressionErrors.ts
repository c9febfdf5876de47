import type { DecidedBy } from '../../errors.ts';
import { LogThrottle, type Counter, type Logger, type Metrics } from '../../telemetry/index.ts';

const everyMs = 600_000;
/** Places whose last line is remembered. */
const mostPlaces = 4_096;

/** Counts expressions that failed, and logs each place once in ten minutes. */
export class ExpressionErrors {
  private readonly log: Logger;
  private readonly errors: Counter;
  private readonly throttles = new Map<string, LogThrottle>();

  constructor(log: Logger, metrics: Metrics) {
    this.log = log;
    this.errors = metrics.counter('expression_errors_total', 'CEL expressions that failed for a request.', [
      'policy',
      'place',
    ]);
  }

  note({ policy = '', rule = '', place = '' }: DecidedBy, reason: string): void {
    this.errors.add({ policy, place }, 1);
    let throttle = this.throttles.get(place);
    if (throttle === undefined) {
      // Places of former configurations would stay for ever.
      if (this.throttles.size >= mostPlaces) this.throttles.clear();
      this.throttles.set(place, (throttle = new LogThrottle(everyMs)));
    }
    if (!throttle.take()) return;
    this.log.warn('Expression failed', {
      policy,
      expression: rule,
      place,
      reason,
      more: throttle.takeRefused(),
    });
  }
}
