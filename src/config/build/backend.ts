import type { Backend } from '../../model/index.ts';
import type { Path } from '../path.ts';
import type { BackendPolicySettings } from '../schema/backendPolicies.ts';
import type { BackendSettings } from '../schema/route.ts';
import { buildMcp } from './mcp.ts';
import { buildPolicies, policiesFor } from './policies.ts';
import type { Surroundings } from './surroundings.ts';
import { buildTarget, ownHostOf } from './target.ts';

/**
 * @param key Identity of the backend; a reference to a named backend has the identity of that one instead.
 * @param ofRoute policies of the route that are about its backends
 */
export function buildBackend(
  settings: BackendSettings,
  key: string,
  path: Path,
  around: Surroundings,
  ofRoute: BackendPolicySettings = {},
): Backend {
  const reference = settings.backend;
  const found = reference === undefined ? settings : around.named.get(reference);
  const base = {
    weight: settings.weight ?? 1,
    key: reference === undefined ? key : `backend/${reference}`,
    place: around.place(path),
  };
  if (found?.host !== undefined) {
    // The policy closest to the backend wins.
    const policies = { ...ofRoute, ...found.policies, ...settings.policies };
    const target = buildTarget(found.host, found.addresses, policies);
    const uses = buildPolicies(policiesFor('backend', policies), [...path, 'policies'], around);
    return {
      kind: 'http',
      ...base,
      ...target,
      ...(uses.length > 0 && { policies: uses }),
      ...ownHostOf(found.host),
    };
  }
  if (found?.mcp !== undefined) {
    // A reference stands here, the servers stand there.
    const there: Path =
      reference === undefined ? path : ['backends', [...around.named.keys()].indexOf(reference)];
    const name = reference === undefined ? {} : { name: reference };
    return { ...base, ...name, ...buildMcp(found.mcp, [...there, 'mcp'], around, ofRoute) };
  }
  throw new Error('a backend without a kind passed the checks');
}
