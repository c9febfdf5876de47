import { idempotentMethods } from '../../http/index.ts';
import { compiled } from '../attributes/compiled.ts';
import { answerContext, contextFor } from '../attributes/context.ts';
import { answerAttributes, forwardAttributes } from '../attributes/declared.ts';
import { evaluate } from '../attributes/evaluate.ts';
import type { AnswerHead, Exchange, Policy } from '../policy.ts';
import { RetryBudget } from './budget.ts';
import { retrySchema, type RetrySettings } from './facts.ts';

/** The data plane makes the further tries (`proxy/forward/plannedForward.ts`). */
export const retry: Policy<RetrySettings> = {
  schema: retrySchema,
  prepare(settings, { now }) {
    const { attempts, backoff = 0, maxBodyBytes, precondition, condition, hedge } = settings;
    const codes = new Set(settings.codes);
    const budget = new RetryBudget(settings.budget.percent, settings.budget.minRetryRate, now);
    const mayBe = precondition === undefined ? undefined : requestTest(precondition);
    const shouldBe = condition === undefined ? undefined : answerTest(condition);
    return {
      forwarding: {
        retry: {
          attempts,
          backoffMs: backoff,
          maxBodyBytes,
          applies: (exchange) =>
            (attempts > 1 || hedge !== undefined) && (mayBe === undefined || mayBe(exchange)),
          // A precondition names the requests that may be sent twice.
          repeatable: (exchange) => mayBe !== undefined || idempotentMethods.has(exchange.request.method),
          wants: (exchange, answer) => codes.has(answer.status) || shouldBe?.(exchange, answer) === true,
          noteRequest: () => budget.noteRequest(),
          takeRetry: () => budget.take(),
          ...(hedge === undefined
            ? {}
            : {
                hedge: {
                  delayMs: hedge.delay,
                  further: hedge.maxAttempts - 1,
                  // Both tries may come to their end at the backend, whatever a precondition says.
                  applies: (exchange) => idempotentMethods.has(exchange.request.method),
                  take: () => budget.take(),
                },
              }),
        },
      },
    };
  },
};

/** An expression that fails is false: nothing is sent twice by mistake. */
function requestTest(source: string): (exchange: Exchange) => boolean {
  const program = compiled(source, forwardAttributes, `retry: expression ${source}`);
  const context = contextFor([program]);
  return (exchange) => evaluate(program, context(exchange), exchange, 'retry.precondition') === true;
}

function answerTest(source: string): (exchange: Exchange, answer: AnswerHead) => boolean {
  const program = compiled(source, answerAttributes, `retry: expression ${source}`);
  const context = contextFor([program]);
  return (exchange, answer) =>
    evaluate(
      program,
      { ...context(exchange), response: answerContext(answer, exchange) },
      exchange,
      'retry.condition',
    ) === true;
}
