import type { GatewayClass, Reference } from '../types/index.ts';
import type { McpRights, Parameters } from './contract.ts';
import type { GatewayState } from './state.ts';

const none: McpRights = { stdio: 'None', hosts: 'None' };

/** What the owners of Gateways allow McpBackends; nothing unless they say so. */
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
    const rights = {
      ...none,
      ...this.follow(this.classes.get(spec.gatewayClassName)?.spec.parametersRef),
      // What is said closer to it counts more, as with all parameters.
      ...this.follow(own === undefined ? undefined : { ...own, namespace: metadata.namespace ?? '' }),
    };
    const right = rights[what];
    return right === 'All' || (right === 'Same' && metadata.namespace === namespace);
  }

  private follow(reference: Reference | undefined): Partial<McpRights> | undefined {
    if (reference === undefined) return undefined;
    const { group, kind, namespace, name } = reference;
    return this.parameters.find(
      (one) => one.group === group && one.kind === kind && one.namespace === namespace && one.name === name,
    )?.mcp;
  }
}
