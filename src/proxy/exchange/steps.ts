import type { Reply } from '../../http/index.ts';
import type { Steps } from '../../policies/index.ts';
import type { Step, StepName } from './step.ts';
import type { LiveExchange } from './liveExchange.ts';

/** A list shared by all routes that lack a kind of step. */
const none: readonly never[] = [];

/** The steps of one kind, bound to their policy. */
export function pickSteps<Of extends StepName>(all: readonly Steps[], name: Of): readonly Step<Of>[] {
  const steps = all.flatMap((of) => {
    const step = of[name];
    return step === undefined ? [] : [step.bind(of) as Step<Of>];
  });
  return steps.length === 0 ? none : steps;
}

/** Runs what looks at a request, from a place of the list on; hands it to `serve` where nothing answers it. */
export function runSteps(
  exchange: LiveExchange,
  steps: readonly Step<'onRequest'>[],
  from: number,
  serve: (exchange: LiveExchange) => void,
): void {
  for (let i = from; i < steps.length; i++) {
    let result: Reply | undefined | Promise<Reply | undefined>;
    try {
      result = (steps[i] as Step<'onRequest'>)(exchange);
    } catch (error) {
      exchange.fail(error);
      return;
    }
    if (result === undefined) continue;
    settle(exchange, result, () => runSteps(exchange, steps, i + 1, serve));
    return;
  }
  try {
    serve(exchange);
  } catch (error) {
    exchange.fail(error);
  }
}

/**
 * Sends the reply, or goes on where there is none, now or when the promise says so.
 * @param goOn does not throw
 */
export function settle(
  exchange: LiveExchange,
  result: Reply | undefined | Promise<Reply | undefined>,
  goOn: () => void,
): void {
  if (result === undefined) goOn();
  else if (!(result instanceof Promise)) exchange.send(result);
  else {
    result.then(
      (reply) => {
        if (exchange.closed) return;
        if (reply === undefined) goOn();
        else exchange.send(reply);
      },
      (error: unknown) => exchange.fail(error),
    );
  }
}
