import { GatewayError, NotEvaluated, type DecidedBy } from '../../errors.ts';
import type { Reply } from '../../http/index.ts';
import type { Steps } from '../../policies/index.ts';
import type { Step, StepName } from './step.ts';
import type { LiveExchange } from './liveExchange.ts';

/** A list shared by all routes that lack a kind of step. */
const none: readonly never[] = [];

/** A policy and its place in the configuration. */
export type StepOrigin = Required<Pick<DecidedBy, 'policy' | 'place'>> & Pick<Steps, 'explain' | 'withRule'>;

/** Read only when a step has answered or refused: steps that let a request pass do not pay for it. */
const originOfSteps = new WeakMap<Steps, StepOrigin>();
const originOfStep = new WeakMap<object, StepOrigin>();

/** Notes the policy that steps were prepared from. @returns the steps, or a view of them where two policies share them */
export function withOrigin(steps: Steps, { policy, place }: Pick<StepOrigin, 'policy' | 'place'>): Steps {
  const own: Steps = originOfSteps.has(steps) ? (Object.create(steps) as Steps) : steps;
  const { explain, withRule } = own;
  originOfSteps.set(own, {
    policy,
    place,
    ...(explain && { explain: explain.bind(own) }),
    ...(withRule && { withRule: withRule.bind(own) }),
  });
  return own;
}

/** The policy behind a step of a route. */
export const originOf = (step: Step<StepName>): StepOrigin | undefined => originOfStep.get(step);

/** The policy of a step and, where an error names one, the rule with its place. */
export function decisionOf(step: Step<StepName>, error?: unknown): DecidedBy | undefined {
  const origin = originOf(step);
  const by = error instanceof GatewayError ? error.by : undefined;
  if (origin === undefined) return by;
  const { policy, place } = origin;
  return { policy, ...by, place: `${place}${by?.place ?? ''}` };
}

/** The steps of one kind, bound to their policy. */
export function pickSteps<Of extends StepName>(all: readonly Steps[], name: Of): readonly Step<Of>[] {
  const steps = all.flatMap((of) => {
    const step = of[name];
    if (step === undefined) return [];
    const bound = step.bind(of) as Step<Of>;
    const origin = originOfSteps.get(of);
    if (origin !== undefined) originOfStep.set(bound, origin);
    return [bound];
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
    const step = steps[i] as Step<'onRequest'>;
    if (exchange.trial !== undefined) exchange.trial.step = step;
    let result: Reply | undefined | Promise<Reply | undefined>;
    try {
      result = step(exchange);
    } catch (error) {
      if (skipped(exchange, step, error)) continue;
      exchange.decidedBy = decisionOf(step, error);
      exchange.fail(error);
      return;
    }
    if (result === undefined) continue;
    settle(exchange, step, result, () => runSteps(exchange, steps, i + 1, serve));
    return;
  }
  try {
    serve(exchange);
  } catch (error) {
    exchange.fail(error);
  }
}

/** A request that is explained goes on behind a step that would leave something behind. */
export function skipped({ trial }: LiveExchange, step: Step<StepName>, error: unknown): boolean {
  if (trial === undefined || !(error instanceof NotEvaluated)) return false;
  trial.notes.set(step, { what: error.message, skipped: true });
  return true;
}

/**
 * Sends the reply of a step, or goes on where there is none, now or when the promise says so.
 * @param goOn does not throw
 */
export function settle(
  exchange: LiveExchange,
  step: Step<StepName>,
  result: Reply | undefined | Promise<Reply | undefined>,
  goOn: () => void,
): void {
  if (result === undefined) goOn();
  else if (!(result instanceof Promise)) {
    exchange.decidedBy = decisionOf(step);
    exchange.send(result);
  } else {
    result.then(
      (reply) => {
        if (exchange.closed) return;
        if (reply === undefined) goOn();
        else {
          exchange.decidedBy = decisionOf(step);
          exchange.send(reply);
        }
      },
      (error: unknown) => {
        if (skipped(exchange, step, error)) {
          goOn();
          return;
        }
        if (!exchange.closed) exchange.decidedBy = decisionOf(step, error);
        exchange.fail(error);
      },
    );
  }
}
