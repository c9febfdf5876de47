import { buildFederation } from '../../config/index.ts';
import type { ClusterTarget, Made, Refusal } from '../../mcp/targets/facts.ts';
import type { CallTimeouts, McpBackend, McpTarget } from '../../model/index.ts';
import type { BackendRef } from '../types/index.ts';
import { mcpParty, type Asker, type BackendResolver } from './backendRef.ts';
import { problem, type Problem } from './conditions.ts';
import { written } from './grants.ts';
import type { McpBackends, McpState } from './mcpBackends.ts';
import type { PodSurroundings } from './contract.ts';
import { beingSetUp, remoteTarget } from './mcpPod.ts';
import { podKeyOf } from './mcpPodNames.ts';
import { joinedProblem } from './mcpStatus.ts';
import type { GatewayRights } from './mcpRights.ts';
import type { McpBackendSpec } from './mcpSchema.ts';
import {
  distinct,
  servedTargets,
  useOfChosen,
  type ResolvedTarget,
  type ServedTarget,
} from './mcpTargets.ts';
import { clusterTools } from './mcpTools.ts';
import type { Section } from './policies.ts';
import { namespaceOf, type GatewayState } from './state.ts';

/** The tools for resolving the McpBackends of a translation. */
export interface McpTools {
  readonly backends: McpBackends;
  readonly rights: GatewayRights;
  readonly pods: PodSurroundings | undefined;
  readonly controllerName: string;
}

/** A backend whose targets do not have their policies yet. */
type ServedBackend = Omit<McpBackend, 'weight' | 'place' | 'targets'> & {
  readonly targets: readonly ServedTarget[];
};

/** The backend that a reference leads to, and its problem; without a backend, the reference leads nowhere. */
export type ResolvedMcp =
  | { readonly backend: ServedBackend; readonly why: Problem | undefined }
  | { readonly backend?: undefined; readonly why: Problem };

/** Follows the references of HTTPRoutes to McpBackends, and those of McpBackends to what they need. */
export class McpResolver {
  private readonly tools: McpTools;
  private readonly services: Pick<BackendResolver, 'resolve'>;

  constructor(tools: McpTools, services: Pick<BackendResolver, 'resolve'>) {
    this.tools = tools;
    this.services = services;
  }

  /**
   * The targets of an McpBackend, as sections for policies.
   * @param reference one of `isMcpRef`
   */
  sectionsOf(reference: BackendRef, { from, gateway }: Asker): readonly Section[] {
    const state = this.tools.backends.find(
      `${namespaceOf(reference, from.namespace)}/${reference.name}`,
      gateway,
    );
    return (state?.targets ?? []).map(({ name, isProgram }) => ({
      name,
      apart: true,
      ...(isProgram ? { refused: `the target ${name} is a program, which gets no HTTP requests` } : {}),
    }));
  }

  /** @param reference one of `isMcpRef` */
  resolve(reference: BackendRef, asker: Asker): ResolvedMcp {
    const { from, gateway, attached } = asker;
    const { name, port } = reference;
    const namespace = namespaceOf(reference, from.namespace);
    const key = `${namespace}/${name}`;
    const party = mcpParty(namespace);
    const what = written(party.kind, namespace, name);
    const none = (reason: string, message: string): ResolvedMcp => ({
      why: problem(reason, `${what}: ${message}`),
    });
    if (!gateway.lookup.grants.permit(from, party, name))
      return none('RefNotPermitted', 'no ReferenceGrant allows it');
    const state = this.tools.backends.find(key, gateway);
    if (state === undefined) return none('BackendNotFound', 'there is none');
    const all = distinct(state.targets.map((target) => this.make(target, state, namespace, asker)));
    const { spec } = state;
    const lacking = 'reason' in spec ? undefined : pinProblem(spec, gateway);
    if (attached)
      state.uses.set(gateway.key, {
        gateway,
        // Without a use of its targets, the Gateway gets no pods for them.
        targets: lacking === undefined ? all.map(({ use }) => use) : [],
        ...(lacking && { wrong: lacking }),
      });
    if ('reason' in spec) return none(spec.reason, spec.message);
    if (port !== undefined)
      return none('UnsupportedValue', 'its ports are said by itself, so none can be named here');
    if (lacking !== undefined) return none(lacking.reason, lacking.message);
    const targets = servedTargets(spec, all);
    const wrong = joinedProblem(
      all.flatMap(({ use }) => (use.wrong === undefined ? [] : [{ name: use.name, why: use.wrong.why }])),
    );
    const why = wrong && problem(wrong.reason, `${what}: ${wrong.message}`);
    if (targets === undefined) return { why: why ?? problem('Invalid', `${what}: it has no target`) };
    const federation = buildFederation(spec);
    // Names must not depend on how many Services have the labels at the moment.
    const isPrefixed =
      federation.prefixMode === 'conditional' && state.targets.some(({ several }) => several);
    return {
      backend: {
        kind: 'mcp',
        key: `mcp/${key}`,
        name: key.slice(key.indexOf('/') + 1),
        targets,
        ...federation,
        ...(isPrefixed ? { prefixMode: 'always' } : {}),
        dnsRebindingProtection: false,
      },
      why,
    };
  }

  private make(target: ClusterTarget, state: McpState, namespace: string, asker: Asker): ResolvedTarget {
    const { name, right, pod, several } = target;
    const { gateway } = asker;
    if (right !== undefined && !this.tools.rights.permit(right, gateway, namespace)) {
      const why = problem(right.lacking, notAllowed(right.name, gateway.key, namespace));
      const refused: Refusal = { as: 'refused', why };
      return { use: { name, wrong: refused }, built: [{ name, made: refused }] };
    }
    const built = target.build(clusterTools(this.services, namespace, asker));
    if (several) return { use: useOfChosen(name, built), built };
    const made = built[0]?.made;
    // A form of one target builds one.
    if (made === undefined) throw new TypeError(`target ${name} was not built`);
    if ('why' in made) return { use: { name, wrong: made }, built };
    if (pod === undefined) return { use: { name }, built };
    const remote = this.inPod(target, made, state, asker);
    // The program of its own pod: the Gateway allows it one, and everything it needs is there.
    const use = { name, program: made, ...('why' in remote ? { wrong: remote } : {}) };
    return { use, built: [{ name, made: remote }] };
  }

  /** The proxies know where its pod is and what to show there, and nothing of the program. */
  private inPod(
    target: ClusterTarget,
    program: McpTarget,
    { object: { metadata } }: McpState,
    { gateway, attached }: Asker,
  ): Made<McpTarget> {
    const { namespace = '', name } = metadata;
    const { pods, controllerName } = this.tools;
    const state = podState(pods, podKeyOf(`${namespace}/${name}`, target.name));
    if ('reason' in state) {
      if (attached && pods !== undefined && !pods.isKnown) gateway.waits = true;
      return { as: 'pending', why: state };
    }
    const remote = remoteTarget(target, { namespace, name, controllerName }, state.key);
    if (attached && remote.endpoints !== undefined) gateway.endpoints.add(remote.endpoints);
    return { ...remote, ...timesOf(program) };
  }
}

/** The time that calls of a program may take, wherever it runs. */
const timesOf = ({ callTimeoutMs, toolTimeoutsMs }: McpTarget): CallTimeouts => ({
  ...(callTimeoutMs === undefined ? {} : { callTimeoutMs }),
  ...(toolTimeoutsMs === undefined ? {} : { toolTimeoutsMs }),
});

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

/** Pins are in the store of the Gateway: without it, each proxy would trust what it sees first. */
const pinProblem = ({ pin }: McpBackendSpec, { hasStore, key }: GatewayState): Problem | undefined =>
  pin === undefined || hasStore
    ? undefined
    : problem('Invalid', `pin: needs a store, and the PortcullisParameters of Gateway ${key} name none`);

const notAllowed = (right: string, gateway: string, namespace: string): string =>
  `Gateway ${gateway} allows it to no McpBackend of namespace ${namespace}: see spec.mcp.${right} of PortcullisParameters`;
