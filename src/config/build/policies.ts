import type { PolicyUse } from '../../model/index.ts';
import { factsOf, type FindServer, type PolicyPlace } from '../../policies/facts.ts';
import type { Path } from '../path.ts';
import { backendPolicyNames, policyFields } from '../schema/policies.ts';
import type { Surroundings } from './surroundings.ts';
import { buildTarget } from './target.ts';

/** The policies among the settings that are steps of a request at a place. */
export function policiesFor(
  place: PolicyPlace,
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const names: ReadonlySet<string> = new Set(Object.keys(policyFields(place)));
  return Object.fromEntries(Object.entries(settings).filter(([name]) => names.has(name)));
}

/** A use for each policy that is set, in the order of the file; `policies/index.ts` orders their running. */
export function buildPolicies(
  settings: Readonly<Record<string, unknown>> | undefined,
  path: Path,
  around: Surroundings,
): readonly PolicyUse[] {
  return Object.entries(settings ?? {})
    .filter(([name, value]) => value !== undefined && !backendPolicyNames.includes(name))
    .map(([name, value]) => ({
      name,
      settings: factsOf(name)?.servers?.located(value, findServer(around)) ?? value,
      place: around.place([...path, name]),
    }));
}

/** Finds the address of a named backend that a policy calls. */
const findServer =
  ({ named }: Surroundings): FindServer =>
  (name) => {
    const found = named.get(name);
    if (found?.host === undefined) throw new Error('references are checked before the model is built');
    const { host, port, tls } = buildTarget(found.host, undefined, found.policies ?? {});
    return { host, port, ...(tls === undefined ? {} : { tls }) };
  };
