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
  x: LiveExchange,
  steps: readonly Step<'onRequest'>[],
  from: number,
  serve: (x: LiveExchange) => void,
): void {
  for (let i = from; i < steps.length; i++) {
    let result: Reply | undefined | Promise<Reply | undefined>;
    try {
      result = (steps[i] as Step<'onRequest'>)(x);
    } catch (error) {
      x.fail(error);
      return;
    }
    if (result === undefined) continue;
    settle(x, result, () => runSteps(x, steps, i + 1, serve));
    return;
  }
  try {
    serve(x);
  } catch (error) {
    x.fail(error);
  }
}

/**
 * Sends the reply, or goes on where there is none, now or when the promise says so.
 * @param goOn does not throw
 */
export function settle(
  x: LiveExchange,
  result: Reply | undefined | Promise<Reply | undefined>,
  goOn: () => void,
): void {
  if (result === undefined) goOn();
  else if (!(result instanceof Promise)) x.send(result);
  else {
    result.then(
      (reply) => {
        if (x.closed) return;
        if (reply === undefined) goOn();
        else x.send(reply);
      },
      (error: unknown) => x.fail(error),
    );
  }
}
