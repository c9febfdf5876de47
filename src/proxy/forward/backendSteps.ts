import { putCredentialsAgain, withdrawCredentials, type Steps } from '../../policies/index.ts';
import type { LiveExchange } from '../exchange/liveExchange.ts';
import { pickSteps, runSteps } from '../exchange/steps.ts';

type Serve = (exchange: LiveExchange) => void;

/**
 * The policies of one backend: they run when it has been chosen, after those of the route.
 * @throws Error for one that does something else than look at requests and answers: it can stand on a route only
 */
export function withSteps(all: readonly Steps[], serve: Serve): Serve {
  if (all.length === 0) return serve;
  if (
    all.some(
      ({ forwarding, onWellKnown, refuseMcpItem, countMcpCall, mcpCallTime, onMcpRequest, onMcpResult }) =>
        forwarding ??
        onWellKnown ??
        refuseMcpItem ??
        countMcpCall ??
        mcpCallTime ??
        onMcpRequest ??
        onMcpResult,
    )
  )
    throw new Error('a policy of a backend can stand on a route only');
  const onRequest = pickSteps(all, 'onRequest');
  const onResponse = pickSteps(all, 'onResponse');
  const noteAnswer = (exchange: LiveExchange): void => {
    exchange.backendOnResponse = onResponse.length === 0 ? undefined : onResponse;
  };
  if (all.some(({ sendsCredentials }) => sendsCredentials === true))
    return (exchange) => {
      noteAnswer(exchange);
      withdrawCredentials(exchange);
      runSteps(exchange, onRequest, 0, serve);
    };
  // The credentials of the route have the last word, as on a route without policies of a backend.
  const withCredentials: Serve = (exchange) => {
    putCredentialsAgain(exchange);
    serve(exchange);
  };
  return (exchange) => {
    noteAnswer(exchange);
    runSteps(exchange, onRequest, 0, withCredentials);
  };
}
