import type { Route } from '../../model/index.ts';
import { factsOf } from '../../policies/facts.ts';
import type { DocumentSettings } from '../schema/document.ts';
import { buildPolicies } from './policies.ts';
import type { Surroundings } from './surroundings.ts';

/** The paths of the console and of its API. */
const paths = ['/ui', '/api/v1'];

/** The route to the console. */
export function buildConsoleRoute(
  { policies, operators }: NonNullable<DocumentSettings['ui']>,
  around: Surroundings,
): Route {
  const place = around.place(['ui']);
  const uses = buildPolicies(policies, ['ui', 'policies'], around);
  const logoutPath = uses.map(({ name, settings }) => factsOf(name)?.logoutPath?.(settings)).find(Boolean);
  return {
    name: 'ui',
    hostnames: [],
    matches: paths.map((value) => ({ path: { kind: 'prefix', value }, headers: [], query: [] })),
    policies: uses,
    backends: [
      {
        kind: 'console',
        weight: 1,
        key: 'ui',
        place,
        ...(operators !== undefined && { operators }),
        ...(logoutPath !== undefined && { logoutPath }),
      },
    ],
    place,
  };
}
