import { GatewayError } from '../../errors.ts';
import { isOf } from '../connections/tlsDetails.ts';
import type { CompiledRoute, LiveExchange } from './liveExchange.ts';
import { checkPathReadings } from './pathReadings.ts';
import { runSteps, settle } from './steps.ts';
import { wellKnownRoute } from './wellKnown.ts';

/**
 * The life of a request, from the end of its head to the choice of its backend:
 *
 * 1. the listener, by host name: it decides which routes exist at all;
 * 2. a document that belongs to a route without lying under it (`/.well-known/…`): clients that have no token yet ask
 *    for it to learn where to get one, so it comes before every policy;
 * 3. the route, in the order of precedence of the Gateway API; every reading of the path must find the same one;
 * 4. another worker, where the request is of an MCP session that lives there: everything below happens there, once;
 * 5. the policies, in the order of their table: time limits, CORS, who is calling, what they may do, headers;
 * 6. the backend, by weight.
 *
 * All of it is synchronous unless a policy has to wait (for a key set, say).
 */
export function handle(exchange: LiveExchange, bind: string): void {
  const { tls, port } = exchange.connection;
  port.tracing?.begin(exchange);
  const listener = exchange.snapshot.bind(bind, tls !== undefined)?.find(exchange.host);
  if (listener === undefined) {
    exchange.fail(new GatewayError('listener_not_found'));
    return;
  }
  // Another listener may ask for client certificates that this connection was never asked for, or not speak HTTP.
  if (listener.router === undefined || (tls !== undefined && !isOf(tls, listener))) {
    const detail =
      tls?.listener === listener.name
        ? `the TLS settings of ${listener.name} have changed since the handshake`
        : `${tls?.listener ?? ''} is not ${listener.name}`;
    exchange.fail(new GatewayError('misdirected', { detail }));
    return;
  }
  exchange.listener = listener;
  if (exchange.path.startsWith('/.well-known/')) {
    let document: ReturnType<typeof wellKnownRoute>;
    try {
      document = wellKnownRoute(exchange, listener);
    } catch (error) {
      exchange.fail(error);
      return;
    }
    if (document !== undefined) {
      settle(exchange, document.step, document.answer, () => runPolicies(exchange, document.route));
      return;
    }
  }
  let found: ReturnType<typeof listener.router.find>;
  try {
    found = listener.router.find(exchange, exchange.host, exchange.path);
    if (found !== undefined) checkPathReadings(exchange, listener.router, found.route);
  } catch (error) {
    exchange.fail(error);
    return;
  }
  const route = found === undefined ? listener.unrouted : found.route;
  exchange.rule = found?.rule;
  exchange.route = route;
  if (exchange.trial !== undefined) {
    runPolicies(exchange, (exchange.route = exchange.trial.routeFor(route)));
    return;
  }
  if (route.relays?.take(exchange, () => runPolicies(exchange, route)) === true) return;
  runPolicies(exchange, route);
}

function runPolicies(exchange: LiveExchange, { onRequest, serve }: CompiledRoute): void {
  exchange.policiesBegan = true;
  runSteps(exchange, onRequest, 0, serve);
}
