import { celNumber, durationMs } from '../../cel/index.ts';
import { GatewayError, NotEvaluated } from '../../errors.ts';
import { parseDuration } from '../../model/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { contextFor } from '../attributes/context.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { LengthOfTime } from '../fields/durationOrExpression.ts';
import { drawn } from '../fields/share.ts';
import type { Exchange, Policy } from '../policy.ts';
import { delaySchema, maxDelayMs, type DelaySettings } from './facts.ts';

export const delay: Policy<DelaySettings> = {
  schema: delaySchema,
  prepare({ duration, percentage }) {
    const length = lengthOf(duration);
    return {
      onRequest(exchange) {
        if (exchange.trial !== undefined && percentage < 1)
          throw new NotEvaluated(`it delays a share of ${percentage} of the requests`);
        if (!drawn(percentage)) return undefined;
        const ms = length(exchange);
        if (exchange.trial !== undefined) throw new NotEvaluated(`it waits ${Math.round(ms)} ms`);
        if (ms <= 0) return undefined;
        exchange.request.annotate('delayMs', Math.round(ms));
        return exchange.wait(ms).then(() => undefined);
      },
    };
  },
};

/** Milliseconds of a result; undefined where it is no length of time. */
function msOf(value: unknown): number | undefined {
  if (typeof value === 'string') return parseDuration(value);
  const number = celNumber(value);
  if (number === undefined) return durationMs(value);
  return Number.isNaN(number) ? undefined : number;
}

/** @throws Error for an expression that does not compile */
function lengthOf(duration: LengthOfTime): (exchange: Exchange) => number {
  if (duration.kind === 'fixed') return () => duration.ms;
  const program = compiled(duration.source, requestAttributes, 'delay.duration');
  const context = contextFor([program]);
  return (exchange) => {
    const value = evaluate(program, context(exchange), exchange, 'delay');
    const ms = msOf(value);
    if (ms !== undefined) return Math.min(ms, maxDelayMs);
    const problem =
      value instanceof Error
        ? value.message
        : 'neither a duration, nor the text of one, nor a number of milliseconds';
    throw new GatewayError('policy_failed', { detail: `delay: ${duration.source}: ${problem}` });
  };
}
