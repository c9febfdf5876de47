import type { Gateway, GatewayClass, Reference } from '../types/index.ts';
import { problem, type Problem } from './conditions.ts';
import type { Parameters } from './contract.ts';
import { written } from './grants.ts';

/** The object that a `parametersRef` names. */
export const findParameters = (
  { group = '', kind = '', namespace, name }: Reference,
  known: readonly Parameters[],
): Parameters | undefined =>
  known.find(
    (one) => one.group === group && one.kind === kind && one.name === name && one.namespace === namespace,
  );

/** The problem of a `parametersRef`, if there is one. */
export function parametersProblem(reference: Reference, known: readonly Parameters[]): Problem | undefined {
  const { group = '', kind = '', namespace, name } = reference;
  const found = findParameters(reference, known);
  const what = `${written(kind, namespace, name)} of group ${group === '' ? 'core' : group}`;
  if (found === undefined) return problem('InvalidParameters', `${what}: there is none that can be used`);
  return found.problem === undefined ? undefined : problem('InvalidParameters', `${what}: ${found.problem}`);
}

/** The parameters that hold for a Gateway; where both say something, its own count. */
export interface ParametersOf {
  readonly ofClass: Parameters | undefined;
  readonly ofGateway: Parameters | undefined;
}

/** The parameters of Gateways, and of their classes. */
export class GatewayParameters {
  private readonly classes: ReadonlyMap<string, GatewayClass>;
  readonly known: readonly Parameters[];

  constructor(classes: readonly GatewayClass[], known: readonly Parameters[]) {
    this.classes = new Map(classes.map((one) => [one.metadata.name, one]));
    this.known = known;
  }

  of({ metadata, spec }: Gateway): ParametersOf {
    const own = spec.infrastructure?.parametersRef;
    return {
      ofClass: this.follow(this.classes.get(spec.gatewayClassName)?.spec.parametersRef),
      ofGateway: this.follow(own === undefined ? undefined : { ...own, namespace: metadata.namespace ?? '' }),
    };
  }

  private follow(reference: Reference | undefined): Parameters | undefined {
    return reference && findParameters(reference, this.known);
  }
}
