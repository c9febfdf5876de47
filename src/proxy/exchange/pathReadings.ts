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
  x: LiveExchange,
  router: Router<CompiledRoute>,
  route: CompiledRoute,
): void {
  const readings = otherReadings(x.path);
  if (readings === undefined)
    throw new GatewayError('ambiguous_path', { detail: 'a reading leaves the root' });
  if (readings.length === 0) return;
  for (const path of readings)
    if (router.findAgain(readAs(x, path), x.host, path)?.route !== route)
      throw new GatewayError('ambiguous_path', { detail: `another route for ${path}` });
  x.pathReadings = readings;
}

/** The request, with another path. */
const readAs = (x: LiveExchange, path: string): Matchable => ({
  method: x.method,
  path,
  query: x.query,
  authority: x.authority,
  scheme: x.scheme,
  header: (name) => x.header(name),
});
