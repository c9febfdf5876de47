import type { ClusterRight } from '../../mcp/targets/facts.ts';
import type { GatewayClass, Reference } from '../types/index.ts';
import type { McpRights, Parameters } from './contract.ts';
import { findParameters } from './parameters.ts';
import type { GatewayState } from './state.ts';

/** The rights that the owners of Gateways give McpBackends; none by default. */
export class GatewayRights {
  private readonly classes: ReadonlyMap<string, GatewayClass>;
  private readonly parameters: readonly Parameters[];

  constructor(classes: readonly GatewayClass[], parameters: readonly Parameters[]) {
    this.classes = new Map(classes.map((one) => [one.metadata.name, one]));
    this.parameters = parameters;
  }

  /** Does the Gateway let an McpBackend of a namespace have this? */
  permit(
    { name, byClass }: ClusterRight,
    { object: { metadata, spec } }: GatewayState,
    namespace: string,
  ): boolean {
    const own = spec.infrastructure?.parametersRef;
    const ofClass = this.follow(this.classes.get(spec.gatewayClassName)?.spec.parametersRef);
    const ofGateway = this.follow(
      own === undefined ? undefined : { ...own, namespace: metadata.namespace ?? '' },
    );
    // The closest setting counts most, as with all parameters.
    let right = { ...ofClass, ...ofGateway }[name];
    if (byClass === true && right === 'All' && ofClass?.[name] !== 'All') right = 'Same';
    return right === 'All' || (right === 'Same' && metadata.namespace === namespace);
  }

  private follow(reference: Reference | undefined): McpRights | undefined {
    return reference && findParameters(reference, this.parameters)?.mcp;
  }
}
