import {
  clusterTargetOf,
  type ClusterTarget,
  type ClusterTools,
  type Made,
  type Refusal,
  type ServicePort,
} from '../../mcp/targets/facts.ts';
import type { McpBackend, McpTarget } from '../../model/index.ts';
import type { BackendRef } from '../types/index.ts';
import { mcpParty, type Asker, type BackendResolver } from './backendRef.ts';
import { problem, type Problem } from './conditions.ts';
import { written } from './grants.ts';
import type { Lookup } from './lookup.ts';
import type { McpBackends, McpState, McpUse } from './mcpBackends.ts';
import type { PodSurroundings } from './contract.ts';
import { backendDefaults, beingSetUp, remoteTarget } from './mcpPod.ts';
import { environmentOf } from './mcpEnvironment.ts';
import type { GatewayRights } from './mcpRights.ts';
import { authoritiesOf, type Checked } from './pem.ts';
import { namespaceOf } from './state.ts';

/** The tools for resolving the McpBackends of a translation. */
export interface McpTools {
  readonly backends: McpBackends;
  readonly rights: GatewayRights;
  readonly pods: PodSurroundings | undefined;
  readonly controllerName: string;
}

const refused = (reason: string, message: string): Refusal => ({
  as: 'refused',
  why: problem(reason, message),
});
const unresolved = (why: Problem): Refusal => ({ as: 'unresolved', why });

/** Follows the references of HTTPRoutes to McpBackends, and those of McpBackends to what they need. */
export class McpResolver {
  private readonly tools: McpTools;
  private readonly services: Pick<BackendResolver, 'resolve'>;

  constructor(tools: McpTools, services: Pick<BackendResolver, 'resolve'>) {
    this.tools = tools;
    this.services = services;
  }

  /** @param reference one of `isMcpRef` */
  resolve(reference: BackendRef, asker: Asker): Omit<McpBackend, 'weight' | 'place'> | Problem {
    const { from, gateway, attached } = asker;
    const { name, port } = reference;
    const namespace = namespaceOf(reference, from.namespace);
    const key = `${namespace}/${name}`;
    const party = mcpParty(namespace);
    const what = written(party.kind, namespace, name);
    if (!gateway.lookup.grants.permit(from, party, name))
      return problem('RefNotPermitted', `${what}: no ReferenceGrant allows it`);
    const state = this.tools.backends.find(key, gateway);
    if (state === undefined) return problem('BackendNotFound', `${what}: there is none`);
    const target = this.targetOf(state, namespace, asker);
    const wrong = 'why' in target ? { [target.as]: target.why } : {};
    if (attached) state.uses.set(gateway.key, { gateway, ...wrong, ...this.programOf(state, target, asker) });
    if ('why' in target) return problem(target.why.reason, `${what}: ${target.why.message}`);
    if (port !== undefined)
      return problem('UnsupportedValue', `${what}: its ports are said by itself, so none can be named here`);
    return {
      kind: 'mcp',
      key: `mcp/${key}`,
      targets: [target],
      ...backendDefaults,
    };
  }

  /** The program of its own pod, where the Gateway allows it one. */
  private programOf(
    { spec, object }: McpState,
    made: Made<McpTarget>,
    asker: Asker,
  ): Pick<McpUse, 'program'> {
    const target = writtenTarget(spec);
    if (target?.pod === undefined || ('why' in made && made.as === 'refused')) return {};
    const program = target.build(this.toolsFor(object.metadata.namespace ?? '', asker));
    return 'why' in program ? {} : { program };
  }

  private targetOf(state: McpState, namespace: string, asker: Asker): Made<McpTarget> {
    const { spec } = state;
    if ('reason' in spec) return { as: 'refused', why: spec };
    const target = writtenTarget(spec);
    // The schema sees to it that there is one.
    if (target === undefined) return refused('Invalid', 'a target has none of its forms');
    const { right } = target;
    const { gateway } = asker;
    if (right !== undefined && !this.tools.rights.permit(right, gateway, namespace))
      return refused(right.lacking, notAllowed(right.name, gateway.key, namespace));
    const made = target.build(this.toolsFor(namespace, asker));
    return target.pod === undefined || 'why' in made ? made : this.inPod(target, state, asker);
  }

  /** The proxies know where its pod is and what to show there, and nothing of the program. */
  private inPod(
    target: ClusterTarget,
    { object: { metadata } }: McpState,
    { gateway, attached }: Asker,
  ): Made<McpTarget> {
    const { namespace = '', name } = metadata;
    const { pods, controllerName } = this.tools;
    const state = podState(pods, `${namespace}/${name}`);
    if ('reason' in state) {
      if (attached && pods !== undefined && !pods.isKnown) gateway.waits = true;
      return { as: 'pending', why: state };
    }
    const remote = remoteTarget(target, { namespace, name, controllerName }, state.key);
    if (attached && remote.endpoints !== undefined) gateway.endpoints.add(remote.endpoints);
    return remote;
  }

  private toolsFor(namespace: string, asker: Asker): ClusterTools {
    const { lookup } = asker.gateway;
    return {
      environment: (variables) => {
        const found = environmentOf(variables, namespace, lookup);
        return 'reason' in found ? unresolved(found) : found;
      },
      service: (port) => {
        const from = mcpParty(namespace);
        const found = this.services.resolve(definite(port), { ...asker, from, spoken: 'http' });
        return 'reason' in found ? unresolved(found) : found;
      },
      authorities: (configMaps) => authoritiesIn(configMaps, namespace, lookup),
    };
  }
}

/** The target of an McpBackend; its schema allows exactly one. */
export const writtenTarget = (spec: McpState['spec']): ClusterTarget | undefined => {
  const target = 'reason' in spec ? undefined : spec.targets[0];
  return target && clusterTargetOf(target);
};

/** The authorities that ConfigMaps of a namespace hold. */
function authoritiesIn(
  names: readonly { readonly name: string }[],
  namespace: string,
  { configMaps }: Lookup,
): ReturnType<ClusterTools['authorities']> {
  const texts: string[] = [];
  for (const { name } of names) {
    const map = configMaps.get(`${namespace}/${name}`);
    const checked: Checked<string> =
      map === undefined ? { ok: false, why: 'there is none' } : authoritiesOf(map);
    // Fewer authorities than were asked for would still be safe, but nobody would learn of it.
    if (!checked.ok)
      return unresolved(
        problem('InvalidCACertificateRef', `${written('ConfigMap', namespace, name)}: ${checked.why}`),
      );
    texts.push(checked.value);
  }
  return { texts };
}

/** The key to a pod that can be reached, or why there is none. */
function podState(pods: PodSurroundings | undefined, key: string): { readonly key: string } | Problem {
  if (pods === undefined)
    return problem('Pending', 'this controller makes no pods: it was given no image for proxies');
  const secret = pods.key(key);
  if (secret === undefined)
    return problem('Pending', 'what proxies show to its pod is not known yet (Secret portcullis-sessions)');
  const { reachable = false, pending = beingSetUp } = pods.infrastructure.get(key) ?? {};
  return reachable ? { key: secret } : problem('Pending', pending);
}

const notAllowed = (right: string, gateway: string, namespace: string): string =>
  `Gateway ${gateway} allows it to no McpBackend of namespace ${namespace}: see spec.mcp.${right} of PortcullisParameters`;

/** Without fields that are there and undefined. */
const definite = ({ name, namespace, port }: ServicePort): BackendRef => ({
  name,
  port,
  ...(namespace === undefined ? {} : { namespace }),
});
