import { GatewayError } from '../../errors.ts';
import { otherReadings } from '../../http/index.ts';
import type { CompiledRoute, LiveExchange } from './liveExchange.ts';
import type { Matchable } from '../routing/match.ts';
import type { Router } from '../routing/router.ts';

/**
 * A backend may read the path in another way than the gateway. Where such a reading belongs to another route, the
 * policies of that route would be walked around, so the request is refused. Rules judge the readings that are left
 * (`policies/rules`).
 * @param route what the path as it is written has found
 * @throws GatewayError ambiguous_path, route_work_limit
 */
export function checkPathReadings(
  exchange: LiveExchange,
  router: Router<CompiledRoute>,
  route: CompiledRoute,
): void {
  const readings = otherReadings(exchange.path);
  if (readings === undefined)
    throw new GatewayError('ambiguous_path', { detail: 'a reading leaves the root' });
  if (readings.length === 0) return;
  for (const path of readings)
    if (router.findAgain(readAs(exchange, path), exchange.host, path)?.route !== route)
      throw new GatewayError('ambiguous_path', { detail: `another route for ${path}` });
  exchange.pathReadings = readings;
}

/** The request, with another path. */
const readAs = (exchange: LiveExchange, path: string): Matchable => ({
  method: exchange.method,
  path,
  query: exchange.query,
  authority: exchange.authority,
  scheme: exchange.scheme,
  header: (name) => exchange.header(name),
});
