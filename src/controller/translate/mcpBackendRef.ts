import { buildFederation, type FederationSettings } from '../../config/index.ts';
import type { ClusterTarget, ClusterTools, Made, Refusal, ServicePort } from '../../mcp/targets/facts.ts';
import type { CallTimeouts, McpBackend, McpTarget } from '../../model/index.ts';
import type { BackendRef } from '../types/index.ts';
import { mcpParty, type Asker, type BackendResolver } from './backendRef.ts';
import { problem, type Problem } from './conditions.ts';
import { whyMissing } from './entries.ts';
import { written } from './grants.ts';
import type { Lookup } from './lookup.ts';
import type { McpBackends, McpState, TargetUse } from './mcpBackends.ts';
import type { PodSurroundings } from './contract.ts';
import { beingSetUp, remoteTarget, targetThatIsDown } from './mcpPod.ts';
import { podKeyOf } from './mcpPodNames.ts';
import { joinedProblem } from './mcpStatus.ts';
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

const unresolved = (why: Problem): Refusal => ({ as: 'unresolved', why });

/** The backend that a reference leads to, and its problem; without a backend, the reference leads nowhere. */
export type ResolvedMcp =
  | { readonly backend: Omit<McpBackend, 'weight' | 'place'>; readonly why: Problem | undefined }
  | { readonly backend?: undefined; readonly why: Problem };

/** A target as it is written, and the target of the model or the reason why there is none. */
interface MadeTarget {
  readonly written: ClusterTarget;
  readonly made: Made<McpTarget>;
}

/** Follows the references of HTTPRoutes to McpBackends, and those of McpBackends to what they need. */
export class McpResolver {
  private readonly tools: McpTools;
  private readonly services: Pick<BackendResolver, 'resolve'>;

  constructor(tools: McpTools, services: Pick<BackendResolver, 'resolve'>) {
    this.tools = tools;
    this.services = services;
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
    const all = state.targets.map((target) => this.make(target, state, namespace, asker));
    if (attached) state.uses.set(gateway.key, { gateway, targets: all.map(({ use }) => use) });
    const { spec } = state;
    if ('reason' in spec) return none(spec.reason, spec.message);
    if (port !== undefined)
      return none('UnsupportedValue', 'its ports are said by itself, so none can be named here');
    const targets = servedTargets(spec, all);
    const wrong = joinedProblem(
      all.flatMap(({ written: { name: target }, made }) =>
        'why' in made ? [{ name: target, why: made.why }] : [],
      ),
    );
    const why = wrong && problem(wrong.reason, `${what}: ${wrong.message}`);
    if (targets === undefined) return { why: why ?? problem('Invalid', `${what}: it has no target`) };
    return {
      backend: {
        kind: 'mcp',
        key: `mcp/${key}`,
        targets,
        ...buildFederation(spec),
        dnsRebindingProtection: false,
      },
      why,
    };
  }

  private make(
    target: ClusterTarget,
    state: McpState,
    namespace: string,
    asker: Asker,
  ): MadeTarget & { readonly use: TargetUse } {
    const { name } = target;
    const made = this.targetOf(target, state, namespace, asker);
    return {
      written: target,
      made,
      use: {
        name,
        ...('why' in made ? { wrong: made } : {}),
        ...this.programOf(target, made, namespace, asker),
      },
    };
  }

  /** The program of its own pod, where the Gateway allows it one. */
  private programOf(
    target: ClusterTarget,
    made: Made<McpTarget>,
    namespace: string,
    asker: Asker,
  ): Pick<TargetUse, 'program'> {
    if (target.pod === undefined || ('why' in made && made.as === 'refused')) return {};
    const program = target.build(this.toolsFor(namespace, asker));
    return 'why' in program ? {} : { program };
  }

  private targetOf(target: ClusterTarget, state: McpState, namespace: string, asker: Asker): Made<McpTarget> {
    const { right } = target;
    const { gateway } = asker;
    if (right !== undefined && !this.tools.rights.permit(right, gateway, namespace))
      return { as: 'refused', why: problem(right.lacking, notAllowed(right.name, gateway.key, namespace)) };
    const made = target.build(this.toolsFor(namespace, asker));
    return target.pod === undefined || 'why' in made ? made : this.inPod(target, made, state, asker);
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
      entry: (name, entry) => entryIn(name, entry, namespace, lookup),
    };
  }
}

/** The time that calls of a program may take, wherever it runs. */
const timesOf = ({ callTimeoutMs, toolTimeoutsMs }: McpTarget): CallTimeouts => ({
  ...(callTimeoutMs === undefined ? {} : { callTimeoutMs }),
  ...(toolTimeoutsMs === undefined ? {} : { toolTimeoutsMs }),
});

/**
 * The targets to serve. Where each target stands for itself, one that cannot be used is served as one that is down, so
 * that no other target inherits its names.
 * @returns undefined where none can be served
 */
function servedTargets(
  { failureMode }: FederationSettings,
  all: readonly MadeTarget[],
): readonly McpTarget[] | undefined {
  const usable = all.filter(({ made }) => !('why' in made)).length;
  if (usable === 0 || (usable < all.length && failureMode !== 'failOpen')) return undefined;
  return all.map(({ written: { name }, made }) => ('why' in made ? targetThatIsDown(name) : made));
}

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

/** The text of an entry of a ConfigMap. */
function entryIn(
  name: string,
  entry: string,
  namespace: string,
  { configMaps }: Lookup,
): ReturnType<ClusterTools['entry']> {
  const map = configMaps.get(`${namespace}/${name}`);
  const text = map?.data?.[entry];
  if (text !== undefined) return { text };
  const why = map === undefined ? 'there is none' : whyMissing(map, entry);
  return unresolved(problem('InvalidConfigMapRef', `${written('ConfigMap', namespace, name)}: ${why}`));
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
