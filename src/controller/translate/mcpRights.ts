import type { ClusterRight } from '../../mcp/targets/facts.ts';
import type { GatewayParameters } from './parameters.ts';
import type { GatewayState } from './state.ts';

/** The rights that the owners of Gateways give McpBackends; none by default. */
export class GatewayRights {
  private readonly parameters: GatewayParameters;

  constructor(parameters: GatewayParameters) {
    this.parameters = parameters;
  }

  /** Does the Gateway let an McpBackend of a namespace have this? */
  permit({ name, byClass }: ClusterRight, { object }: GatewayState, namespace: string): boolean {
    const { ofClass, ofGateway } = this.parameters.of(object);
    // The closest setting counts most, as with all parameters.
    let right = { ...ofClass?.mcp, ...ofGateway?.mcp }[name];
    if (byClass === true && right === 'All' && ofClass?.mcp?.[name] !== 'All') right = 'Same';
    return right === 'All' || (right === 'Same' && object.metadata.namespace === namespace);
  }
}
