import type { Reply } from '../http/index.ts';
import type { Steps } from '../policies/index.ts';
import type { LiveExchange } from './exchange.ts';

type Serve = (x: LiveExchange) => void;
type OnRequest = Required<Steps>['onRequest'];

/**
 * The policies of one backend: they run when it has been chosen, after those of the route.
 * @throws Error for one that does something else than look at requests and answers: it can stand on a route only
 */
export function withSteps(all: readonly Steps[], serve: Serve): Serve {
  if (all.length === 0) return serve;
  if (all.some(({ forwarding, onWellKnown, allowMcpItem }) => forwarding ?? onWellKnown ?? allowMcpItem))
    throw new Error('a policy of a backend can stand on a route only');
  const onRequest = all.flatMap((steps): OnRequest[] =>
    steps.onRequest ? [steps.onRequest.bind(steps)] : [],
  );
  const onResponse = all.flatMap((steps) => (steps.onResponse ? [steps.onResponse.bind(steps)] : []));
  return (x) => {
    x.backendOnResponse = onResponse.length === 0 ? undefined : onResponse;
    run(x, onRequest, 0, serve);
  };
}

function run(x: LiveExchange, steps: readonly OnRequest[], from: number, serve: Serve): void {
  for (let i = from; i < steps.length; i++) {
    const result = (steps[i] as OnRequest)(x);
    if (result === undefined) continue;
    if (!(result instanceof Promise)) {
      x.send(result);
      return;
    }
    result.then(
      (reply: Reply | undefined) => {
        if (x.closed) return;
        if (reply !== undefined) {
          x.send(reply);
          return;
        }
        try {
          run(x, steps, i + 1, serve);
        } catch (error) {
          x.fail(error);
        }
      },
      (error: unknown) => x.fail(error),
    );
    return;
  }
  serve(x);
}
