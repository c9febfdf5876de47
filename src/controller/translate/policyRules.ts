import type { PolicyUse } from '../../model/index.ts';
import type { BackendRef, Reference } from '../types/index.ts';
import type { Asker } from './backendRef.ts';
import { problem, type Problem } from './conditions.ts';
import { written } from './grants.ts';
import type { GatewayPolicies, Section } from './policies.ts';
import { BackendPolicies } from './policyBackends.ts';
import { aboutForwarding, backendSteps, POLICY_GROUP, requestPolicies } from './policyKinds.ts';
import {
  nothing,
  over,
  prefixReplacers,
  servedBy,
  storeProblems,
  usesOf,
  type Holding,
  type Level,
} from './policyLevel.ts';
import { nameOf, noteGateway } from './policyState.ts';
import { namespaceOf, type RouteKind } from './state.ts';

/** The route whose rules are read. */
interface RouteName {
  readonly kind: RouteKind;
  readonly namespace: string;
  readonly key: string;
}

/** A rule as far as policies can depend on it. */
export interface PolicedRule {
  readonly name: string | undefined;
  /** All of its matches are prefixes. */
  readonly prefixed: boolean;
  /** The only backend of a rule that leads to MCP servers, and its targets. */
  readonly mcp: { readonly reference: BackendRef; readonly sections: readonly Section[] } | undefined;
}

/** The GatewayPolicies of a route below a listener. */
export class RulePolicies {
  readonly backends: BackendPolicies;
  private readonly policies: GatewayPolicies;
  private readonly inherited: Level;
  private readonly asker: Asker;
  private readonly route: RouteName;

  constructor(policies: GatewayPolicies, inherited: Level, route: RouteName, asker: Asker) {
    this.policies = policies;
    this.inherited = inherited;
    this.route = route;
    this.asker = asker;
    this.backends = new BackendPolicies(policies, asker);
  }

  /**
   * All policies of a rule.
   * @param own what the rule says itself: it stands closer than what is attached to it. Only the McpBackend stands
   *   closer still, since whoever lets others use it must be able to say who may come in
   * @returns a problem where one of them cannot be used: the rule must not be served without it
   */
  ofRule(rule: PolicedRule, own: readonly PolicyUse[]): readonly PolicyUse[] | Problem {
    if (this.policies.isEmpty) return own;
    const below = { gateway: this.asker.gateway, inherited: this.inherited };
    const level = new Map(this.policies.ofRule(below, this.route, rule.name));
    for (const { name } of own) level.delete(name);
    const ofBackend = this.ofMcp(rule.mcp);
    if (rule.mcp !== undefined) for (const name of aboutForwarding) level.delete(name);
    const effective = over(level, ofBackend);
    const attached = this.prefixProblem(effective, rule) ?? usesOf(effective);
    if ('reason' in attached) return attached;
    return [...own.filter(({ name }) => !ofBackend.has(name)), ...attached];
  }

  private prefixProblem(level: Level, { name, prefixed }: PolicedRule): Problem | undefined {
    if (prefixed) return undefined;
    let first: Problem | undefined;
    for (const [policy, state] of prefixReplacers(level)) {
      const why = problem(
        'Invalid',
        `${this.route.kind} ${this.route.key}${name === undefined ? '' : ` (${name})`}: ${policy}.path.prefix needs PathPrefix in every match of a rule`,
      );
      if (this.asker.attached) noteGateway(state, this.asker.gateway, [why]);
      first ??= problem(why.reason, `${nameOf(state)}: ${why.message}`);
    }
    return first;
  }

  private ofMcp(mcp: PolicedRule['mcp']): Level {
    if (mcp === undefined) return nothing;
    const { gateway, attached } = this.asker;
    const key = this.keyOf(mcp.reference);
    if (attached) this.policies.noteUse(POLICY_GROUP, 'McpBackend', key, gateway, mcp.sections);
    return this.policies.ofMcpBackend(key, gateway);
  }

  /** The policies of one of the targets of an McpBackend, by its written name. */
  ofMcpTarget(reference: BackendRef, target: string): readonly PolicyUse[] | Problem {
    if (this.policies.isEmpty) return [];
    return usesOf(this.policies.ofMcpTarget(this.keyOf(reference), target, this.asker.gateway));
  }

  private keyOf(reference: BackendRef): string {
    return `${namespaceOf(reference, this.route.namespace)}/${reference.name}`;
  }

  /** The policies that an `ExtensionRef` of a rule, or of one of its backends, stands for. */
  extension(
    { group = '', kind = '', name }: Reference,
    where: 'rule' | 'backend',
    prefixed: boolean,
  ): readonly PolicyUse[] | Problem {
    const { namespace } = this.route;
    const what = written(kind, namespace, name);
    if (group !== POLICY_GROUP || kind !== 'GatewayPolicy')
      return problem('InvalidKind', `${what} of group ${group || 'core'} is no filter`);
    const state = this.policies.extension(`${namespace}/${name}`, this.asker.gateway);
    if (state === undefined) return problem('FilterNotFound', `${what}: there is none`);
    const { gateway } = this.asker;
    if (this.asker.attached) noteGateway(state, gateway, storeProblems(state, gateway));
    const possible = where === 'rule' ? requestPolicies : backendSteps;
    const level = new Map<string, Holding>();
    for (const [policy, read] of state.policies) {
      if (!possible.some((one) => one === policy))
        return problem('InvalidFilter', `${what}: ${policy} cannot be the filter of a ${where}`);
      level.set(policy, { read, state });
    }
    if (!prefixed && prefixReplacers(level).length > 0)
      return problem('InvalidFilter', `${what}: path.prefix needs PathPrefix in every match of the rule`);
    const uses = usesOf(servedBy(gateway, level));
    return 'reason' in uses ? problem('InvalidFilter', uses.message) : uses;
  }
}
