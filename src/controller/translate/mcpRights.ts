import type { GatewayClass, Reference } from '../types/index.ts';
import type { McpRights, Parameters } from './contract.ts';
import { findParameters } from './parameters.ts';
import type { GatewayState } from './state.ts';

const none: McpRights = { stdio: 'None', pods: 'None', hosts: 'None' };

/** The rights that the owners of Gateways give McpBackends; none by default. */
export class GatewayRights {
  private readonly classes: ReadonlyMap<string, GatewayClass>;
  private readonly parameters: readonly Parameters[];

  constructor(classes: readonly GatewayClass[], parameters: readonly Parameters[]) {
    this.classes = new Map(classes.map((one) => [one.metadata.name, one]));
    this.parameters = parameters;
  }

  /** Does the Gateway let an McpBackend of a namespace have this? */
  permit(what: keyof McpRights, { object: { metadata, spec } }: GatewayState, namespace: string): boolean {
    const own = spec.infrastructure?.parametersRef;
    const ofClass = this.follow(this.classes.get(spec.gatewayClassName)?.spec.parametersRef);
    const ofGateway = this.follow(
      own === undefined ? undefined : { ...own, namespace: metadata.namespace ?? '' },
    );
    // The closest setting counts most, as with all parameters.
    let right = { ...none, ...ofClass, ...ofGateway }[what];
    // Pods are made where the McpBackend is: who owns a Gateway has no say in the namespaces of others.
    if (what === 'pods' && right === 'All' && ofClass?.pods !== 'All') right = 'Same';
    return right === 'All' || (right === 'Same' && metadata.namespace === namespace);
  }

  private follow(reference: Reference | undefined): Partial<McpRights> | undefined {
    return reference && findParameters(reference, this.parameters)?.mcp;
  }
}
