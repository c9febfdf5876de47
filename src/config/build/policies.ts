import type { PolicyUse } from '../../model/index.ts';
import type { Path } from '../path.ts';
import { backendPolicyNames } from '../schema/policies.ts';
import type { Surroundings } from './surroundings.ts';

/** A use for each policy that is set, in the order of the file; `policies/index.ts` orders their running. */
export function buildPolicies(
  settings: Readonly<Record<string, unknown>> | undefined,
  path: Path,
  around: Surroundings,
): readonly PolicyUse[] {
  return Object.entries(settings ?? {})
    .filter(([name, value]) => value !== undefined && !backendPolicyNames.includes(name))
    .map(([name, value]) => ({ name, settings: value, place: around.place([...path, name]) }));
}
