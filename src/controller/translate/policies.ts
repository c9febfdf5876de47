import type { GatewayPolicy, PolicyTarget } from '../types/index.ts';
import { keyOf } from '../api/object.ts';
import { problem, type Problem } from './conditions.ts';
import type { KubeObjects } from './contract.ts';
import { written } from './grants.ts';
import type { Guard } from './guard.ts';
import { byAge, GATEWAY_GROUP, keyOfNamed, type Lookup } from './lookup.ts';
import { POLICY_GROUP, schemaOf, targetKind } from './policyKinds.ts';
import { nothing, over, servedBy, storeProblems, type Holding, type Level } from './policyLevel.ts';
import { readPolicies } from './policyReading.ts';
import { nameOf, newState, note, noteGateway, type GatewayPolicyState } from './policyState.ts';
import type { GatewayState, ListenerState, RouteKind } from './state.ts';

/** A policy at one of its targets. */
interface Attached {
  readonly state: GatewayPolicyState;
  readonly target: PolicyTarget;
  /** The problems of its settings there. */
  readonly problems: readonly Problem[];
}

/** A possible target, and its named parts. */
export interface Section {
  readonly name: string;
  /** The reason why no policy can be for it. */
  readonly refused?: string;
  /** It is no part of the target, but inherits what the target has. */
  readonly below?: true;
  /** The target reads policies itself, whether or not its parts do. */
  readonly apart?: true;
}

/** A listener of a Gateway, as far as it matters to the rules below it. */
interface Below {
  readonly gateway: GatewayState;
  /** The policies of the listener. */
  readonly inherited: Level;
}

/** The GatewayPolicies by what they are for. */
export class GatewayPolicies {
  readonly all: GatewayPolicyState[] = [];
  private readonly byName = new Map<string, GatewayPolicyState>();
  private readonly levels = new Map<string, Map<string, Holding>>();
  /** By kind and name of the target, whatever the section. */
  private readonly attached = new Map<string, Attached[]>();
  private readonly ofListeners = new Map<ListenerState, Level>();

  /** @param lookupOf what a policy asks for other objects */
  constructor(policies: readonly GatewayPolicy[], lookupOf: (policy: GatewayPolicy) => Lookup, guard: Guard) {
    for (const object of policies.toSorted(byAge))
      guard('GatewayPolicy', object, () =>
        this.add(newState(object, readPolicies(object, lookupOf(object), guard))),
      );
  }

  /** No translation without a policy pays for them. */
  get isEmpty(): boolean {
    return this.all.length === 0;
  }

  /** @param key `namespace/name` of the policy */
  named(key: string): GatewayPolicyState | undefined {
    return this.byName.get(key);
  }

  /** The policy that an `ExtensionRef` below a Gateway names. */
  extension(key: string, { lookup }: GatewayState): GatewayPolicyState | undefined {
    lookup.asked.gatewayPolicies.add(key);
    return this.byName.get(key);
  }

  /** The policies that the routes of a listener inherit. */
  ofListener(listener: ListenerState, gateway: GatewayState): Level {
    if (this.isEmpty) return nothing;
    let level = this.ofListeners.get(listener);
    if (level !== undefined) return level;
    const { owner, spec } = listener;
    const set = owner.kind === 'ListenerSet' ? keyOfNamed(owner.object) : undefined;
    level = this.level(gateway, GATEWAY_GROUP, 'Gateway', gateway.key);
    if (set === undefined)
      level = over(level, this.level(gateway, GATEWAY_GROUP, 'Gateway', gateway.key, spec.name));
    else {
      level = over(level, this.level(gateway, GATEWAY_GROUP, 'ListenerSet', set));
      level = over(level, this.level(gateway, GATEWAY_GROUP, 'ListenerSet', set, spec.name));
    }
    this.ofListeners.set(listener, level);
    return level;
  }

  /** The same, with what the route and the rule say themselves. */
  ofRule(
    { inherited, gateway }: Below,
    { kind, key }: { readonly kind: RouteKind; readonly key: string },
    rule: string | undefined,
  ): Level {
    if (this.isEmpty) return nothing;
    const ofRoute = over(inherited, this.level(gateway, GATEWAY_GROUP, kind, key));
    return rule === undefined ? ofRoute : over(ofRoute, this.level(gateway, GATEWAY_GROUP, kind, key, rule));
  }

  ofMcpBackend(key: string, gateway: GatewayState): Level {
    return this.level(gateway, POLICY_GROUP, 'McpBackend', key);
  }

  /** @param target as it is written in the McpBackend */
  ofMcpTarget(key: string, target: string, gateway: GatewayState): Level {
    return this.level(gateway, POLICY_GROUP, 'McpBackend', key, target);
  }

  /** @param port the name of the port, empty where it has none */
  ofService(key: string, port: string, gateway: GatewayState): Level {
    const all = this.level(gateway, '', 'Service', key);
    return port === '' ? all : over(all, this.level(gateway, '', 'Service', key, port));
  }

  /**
   * Notes for the status that requests of the Gateway meet a target.
   * @param sections its parts, where a policy can be for one of them
   */
  noteUse(
    group: string,
    kind: string,
    key: string,
    gateway: GatewayState,
    sections: readonly Section[] = [],
  ): void {
    const target = asked(gateway, group, kind, key);
    for (const { state, target: ref, problems } of this.attached.get(target) ?? [])
      noteGateway(state, gateway, [
        ...problems,
        ...sectionProblems(ref, sections),
        ...storeProblems(state, gateway),
      ]);
  }

  noteGateway(gateway: GatewayState): void {
    if (this.isEmpty) return;
    const sections = (listeners: readonly ListenerState[]): readonly Section[] =>
      listeners.map(({ spec: { name, protocol } }) =>
        protocol === 'HTTP' || protocol === 'HTTPS'
          ? { name }
          : { name, refused: `policies are about HTTP, and the listener ${name} speaks ${protocol}` },
      );
    const below = gateway.sets
      .filter(({ refused }) => refused === undefined)
      .flatMap(({ listeners }) => sections(listeners).map((one) => ({ ...one, below: true as const })));
    this.noteUse(GATEWAY_GROUP, 'Gateway', gateway.key, gateway, [...sections(gateway.listeners), ...below]);
    for (const { object, listeners, refused } of gateway.sets)
      if (refused === undefined)
        this.noteUse(GATEWAY_GROUP, 'ListenerSet', keyOfNamed(object), gateway, sections(listeners));
  }

  /** Targets that are nowhere; called when everything else was looked at. */
  noteMissing(objects: KubeObjects): void {
    if (this.isEmpty) return;
    const names = new Set(
      this.all.flatMap(({ object }) => (object.spec?.targetRefs ?? []).map(({ name }) => name)),
    );
    const known = existing(objects, names);
    for (const [target, all] of this.attached)
      for (const { state, target: ref } of all) {
        const namespace = state.object.metadata.namespace ?? '';
        const what = written(ref.kind, namespace, ref.name);
        const why =
          targetKind(ref.group, ref.kind) === undefined
            ? problem('Invalid', `${what} of group ${ref.group || 'core'}: no policy can be for it`)
            : known.has(target)
              ? undefined
              : problem('TargetNotFound', `${what}: there is none`);
        if (why !== undefined) note(state, { ...ref, namespace }, [why]);
      }
  }

  private level(gateway: GatewayState, group: string, kind: string, key: string, section = ''): Level {
    const target = asked(gateway, group, kind, key);
    // Most targets have none.
    if (!this.attached.has(target)) return nothing;
    return servedBy(gateway, this.levels.get(`${target} ${section}`) ?? nothing);
  }

  private add(state: GatewayPolicyState): void {
    const { object, policies } = state;
    const namespace = object.metadata.namespace ?? '';
    this.all.push(state);
    this.byName.set(keyOfNamed(object), state);
    for (const target of object.spec?.targetRefs ?? []) {
      const { kind, name, sectionName = '' } = target;
      const key = targetKey(target, namespace);
      const place = `${key} ${sectionName}`;
      let level = this.levels.get(place);
      if (level === undefined) this.levels.set(place, (level = new Map<string, Holding>()));
      const what =
        sectionName === ''
          ? written(kind, namespace, name)
          : `${sectionName} of ${written(kind, namespace, name)}`;
      const problems: Problem[] = [];
      for (const [policy, read] of policies) {
        const before = level.get(policy);
        const misfit = misfitOf(policy, target);
        if (misfit !== undefined) problems.push(misfit);
        // It asks for something that is not done there: nothing is served as if it had not asked.
        if (before === undefined) level.set(policy, { read: misfit ?? read, state });
        else if (before.state !== state)
          problems.push(
            problem('Conflicted', `${what}: ${policy} is that of ${nameOf(before.state)}, which is older`),
          );
      }
      const others = this.attached.get(key);
      const attached = { state, target, problems };
      if (others === undefined) this.attached.set(key, [attached]);
      else others.push(attached);
    }
  }
}

const targetName = (group: string, kind: string, key: string): string => `${group}/${kind} ${key}`;
const targetKey = ({ group, kind, name }: PolicyTarget, namespace: string): string =>
  targetName(group, kind, keyOf(namespace, name));

/** The targets that a policy names, in the words of `Asked.policyTargets`. */
export const targetKeys = ({ metadata: { namespace = '' }, spec }: GatewayPolicy): readonly string[] =>
  (spec?.targetRefs ?? []).map((target) => targetKey(target, namespace));

/** Notes that it matters to the Gateway which policies are for this. */
function asked({ lookup }: GatewayState, group: string, kind: string, key: string): string {
  const target = targetName(group, kind, key);
  lookup.asked.policyTargets.add(target);
  return target;
}

function misfitOf(policy: string, { group, kind, sectionName = '' }: PolicyTarget): Problem | undefined {
  const known = targetKind(group, kind);
  const possible = sectionName === '' ? known?.policies : known?.ofSection;
  // Invalid targets and unknown policies are reported elsewhere.
  return possible === undefined || schemaOf(policy) === undefined || possible.includes(policy)
    ? undefined
    : problem(
        'Invalid',
        `${policy} is not for ${sectionName === '' ? 'targets' : `a ${known?.section ?? 'section'}`} of kind ${kind}`,
      );
}

function sectionProblems(
  { kind, name, sectionName = '' }: PolicyTarget,
  sections: readonly Section[],
): readonly Problem[] {
  if (sectionName === '') {
    // No part of the target reads a policy, so a policy for all of it would have no effect.
    const [first] = sections;
    return first?.refused !== undefined &&
      sections.every(({ refused, apart }) => refused !== undefined && apart !== true)
      ? [problem('Invalid', first.refused)]
      : [];
  }
  const found = sections.find((one) => one.name === sectionName && one.below !== true);
  if (found?.refused !== undefined) return [problem('Invalid', found.refused)];
  return found === undefined
    ? [problem('TargetNotFound', `${kind} ${name}: nothing in it is called ${sectionName}`)]
    : [];
}

/** Everything of one of these names that a policy can be for, as `noteUse` names it. */
function existing(objects: KubeObjects, names: ReadonlySet<string>): ReadonlySet<string> {
  const { gateways, listenerSets, httpRoutes, grpcRoutes, services, mcpBackends } = objects;
  const known = new Set<string>();
  for (const [group, kind, all] of [
    [GATEWAY_GROUP, 'Gateway', gateways],
    [GATEWAY_GROUP, 'ListenerSet', listenerSets],
    [GATEWAY_GROUP, 'HTTPRoute', httpRoutes],
    [GATEWAY_GROUP, 'GRPCRoute', grpcRoutes],
    [POLICY_GROUP, 'McpBackend', mcpBackends],
    ['', 'Service', services],
  ] as const)
    for (const object of all)
      if (names.has(object.metadata.name)) known.add(targetName(group, kind, keyOfNamed(object)));
  return known;
}
