import { isOverNetwork } from '../../mcp/targets/facts.ts';
import type {
  Backend,
  InvalidBackend,
  Match,
  McpTarget,
  Mirror,
  Place,
  PolicyUse,
  Route,
  RouteOrigin,
} from '../../model/index.ts';
import { RouteExpressions } from '../../regex/index.ts';
import type {
  FilteredBackendRef,
  GrpcRoute,
  GrpcRouteRule,
  HttpRoute,
  HttpRouteRule,
  MirrorFilter,
} from '../types/index.ts';
import { isMcpRef, type Asker, type BackendResolver, type Target } from './backendRef.ts';
import { limits, ruleTooLarge, type Budget } from './bulk.ts';
import { problem, type Problem } from './conditions.ts';
import { readFilters, repeated, type FilterPlace, type Filters } from './filters.ts';
import { hostnamesOf } from './attach.ts';
import { grpcMatches, httpMatches } from './matches.ts';
import type { McpResolver } from './mcpBackendRef.ts';
import { targetThatIsDown } from './mcpPod.ts';
import { mcpRuleProblem } from './mcpRule.ts';
import type { RulePolicies } from './policyRules.ts';
import { trafficPolicies } from './traffic.ts';

/** The rules of a route as a listener serves them, and what is to be said of them. */
export interface ReadRules<Item> {
  readonly items: readonly Item[];
  /** None of the rules can be served. */
  readonly refused?: Problem;
  /** Some of them cannot. */
  readonly partial?: Problem;
  /** A reference that cannot be followed. */
  readonly unresolved?: Problem;
}

type Kind = 'HTTPRoute' | 'GRPCRoute';
type Rule = HttpRouteRule | GrpcRouteRule;

const matchesOf: { [K in Kind]: (rule: Rule, expressions: RouteExpressions) => readonly Match[] | Problem } =
  {
    HTTPRoute: (rule, expressions) => httpMatches((rule as HttpRouteRule).matches, expressions),
    GRPCRoute: (rule, expressions) => grpcMatches((rule as GrpcRouteRule).matches, expressions),
  };

/** The tools that follow references to backends. */
export interface BackendResolvers {
  readonly services: BackendResolver;
  readonly mcp: McpResolver;
}

/**
 * @param port of the listener, which redirects name
 * @param policies those that hold for the route there
 */
export function readRules(
  kind: Kind,
  route: HttpRoute | GrpcRoute,
  port: number,
  asker: Asker,
  backends: BackendResolvers,
  policies: RulePolicies,
): ReadRules<Route> {
  const rules: readonly Rule[] = route.spec.rules ?? [];
  const reader = new RuleReader(kind, route, port, asker, backends, policies);
  const items: Route[] = [];
  const dropped: { readonly name: string; readonly why: Problem }[] = [];
  const budget = { left: limits.route };
  for (const [index, rule] of rules.entries()) {
    const read = withinBudget(reader.read(rule, index), budget);
    if (read.route !== undefined) items.push(read.route);
    if (read.dropped !== undefined) dropped.push({ name: rule.name ?? `#${index}`, why: read.dropped });
  }
  const [first] = dropped;
  const unresolved = reader.unresolved === undefined ? {} : { unresolved: reader.unresolved };
  if (first === undefined) return { items, ...unresolved };
  const told = dropped.map(({ name, why }) => `${name}: ${why.message}`).join('; ');
  if (dropped.length === rules.length)
    return { items: [], refused: problem(first.why.reason, told), ...unresolved };
  // The beginning of the message is the API's ("PartiallyInvalid").
  return { items, partial: problem(first.why.reason, `Dropped Rule(s) ${told}`), ...unresolved };
}

/** A rule that cannot be done answers 500 where it is known what it is for, so that its requests reach no other rule. */
interface ReadRule {
  readonly route?: Route;
  readonly dropped?: Problem;
}

/** A rule that is too large answers 500, so that the rest of the model can be sent. */
function withinBudget(read: ReadRule, budget: Budget): ReadRule {
  const { route } = read;
  const told = route === undefined ? undefined : ruleTooLarge(route, budget);
  if (route === undefined || told === undefined) return read;
  const why = problem('UnsupportedValue', told);
  return { route: closedFor(route, why), dropped: why };
}

const closedFor = ({ mirrors: _, ...route }: Route, why: Problem): Route => ({
  ...route,
  policies: [],
  backends: [invalid(why, 1, route.place)],
});

class RuleReader {
  unresolved: Problem | undefined;
  private readonly expressions = new RouteExpressions();
  private readonly kind: Kind;
  private readonly route: HttpRoute | GrpcRoute;
  private readonly port: number;
  private readonly asker: Asker;
  private readonly backends: BackendResolvers;
  private readonly policies: RulePolicies;
  private readonly id: string;
  private readonly hostnames: readonly string[];

  constructor(
    kind: Kind,
    route: HttpRoute | GrpcRoute,
    port: number,
    asker: Asker,
    backends: BackendResolvers,
    policies: RulePolicies,
  ) {
    this.policies = policies;
    this.kind = kind;
    this.route = route;
    this.port = port;
    this.asker = asker;
    this.backends = backends;
    const { namespace, name } = route.metadata;
    this.id = `${kind}/${namespace}/${name}`;
    this.hostnames = hostnamesOf(route);
  }

  read(rule: Rule, index: number): ReadRule {
    const place = this.place(`spec.rules[${index}]`);
    const matches = matchesOf[this.kind](rule, this.expressions);
    if ('reason' in matches) return { dropped: matches };
    const prefixed = matches.every(({ path }) => path.kind === 'prefix');
    const filters = readFilters(rule.filters, this.at(place, prefixed, 'rule'));
    const traffic = 'reason' in filters ? filters : trafficPolicies(rule, place);
    const base = {
      name: rule.name === undefined ? `${this.id}#${index}` : `${this.id}/${rule.name}`,
      hostnames: this.hostnames,
      matches,
      origin: this.origin(rule.name),
      place,
    };
    const closed = (why: Problem): Route => ({ ...base, policies: [], backends: [invalid(why, 1, place)] });
    const drop = (why: Problem): ReadRule => ({ route: closed(why), dropped: why });
    if ('reason' in filters) return drop(filters);
    if ('reason' in traffic) return drop(traffic);
    const own = [...filters.policies, ...traffic];
    const mixed = this.kind === 'HTTPRoute' ? mcpRuleProblem(rule, own) : undefined;
    const wrong = repeated(own) ?? mixed;
    if (wrong !== undefined) return drop(wrong);
    this.unresolved ??= filters.unresolved;
    const reference = this.kind === 'HTTPRoute' ? rule.backendRefs?.find(isMcpRef) : undefined;
    const mcp = reference && { reference, sections: this.backends.mcp.sectionsOf(reference, this.asker) };
    const policies = filters.unresolved ?? this.policies.ofRule({ name: rule.name, prefixed, mcp }, own);
    if ('reason' in policies) return { route: closed(policies) };
    const backends = (rule.backendRefs ?? []).map((ref, at) =>
      this.backend(ref, this.place(`${place.path}.backendRefs[${at}]`), prefixed),
    );
    return {
      route: {
        ...base,
        policies,
        backends,
        ...mirrorsField(this.mirrors(filters, place)),
      },
    };
  }

  private backend(ref: FilteredBackendRef, place: Place, prefixed: boolean): Backend {
    const { weight = 1 } = ref;
    if (this.kind === 'HTTPRoute' && isMcpRef(ref)) return this.mcp(ref, weight, place);
    const target = this.backends.services.resolve(ref, this.asker);
    if ('reason' in target) {
      this.unresolved ??= target;
      return invalid(target, weight, place);
    }
    const filters = readFilters(ref.filters, this.at(place, prefixed, 'backend'));
    const wrong = 'reason' in filters ? filters : filters.unresolved;
    if ('reason' in filters || wrong !== undefined) {
      this.unresolved ??= wrong;
      return invalid(wrong as Problem, weight, place);
    }
    const backend = this.policies.backends.http({
      ...httpBackend(target, weight, place),
      ...policiesField(filters.policies),
      ...mirrorsField(this.mirrors(filters, place)),
    });
    return 'reason' in backend ? invalid(backend, weight, place) : backend;
  }

  private mcp(ref: FilteredBackendRef, weight: number, place: Place): Backend {
    const { backend, why } = this.backends.mcp.resolve(ref, this.asker);
    this.unresolved ??= why;
    if (backend === undefined) return invalid(why, weight, place);
    const targets: McpTarget[] = [];
    for (const { section, target } of backend.targets) {
      const made = this.withPolicies(target, ref, section);
      if (!('reason' in made)) targets.push(made);
      else if (backend.failOpen === true) targets.push(targetThatIsDown(target.name));
      else return invalid(made, weight, place);
    }
    return { ...backend, targets, weight, place };
  }

  private withPolicies(target: McpTarget, ref: FilteredBackendRef, section: string): McpTarget | Problem {
    const policies = this.policies.ofMcpTarget(ref, section);
    if ('reason' in policies) return policies;
    return isOverNetwork(target) ? this.policies.backends.mcp(target, policies) : target;
  }

  private mirrors({ mirrors }: Filters, place: Place): readonly Mirror[] {
    return mirrors.flatMap((mirror): Mirror[] => {
      const target = this.backends.services.resolve(mirror.backendRef, this.asker);
      if ('reason' in target) {
        this.unresolved ??= target;
        return [];
      }
      const backend = this.policies.backends.mirror(httpBackend(target, 1, place));
      return 'reason' in backend ? [] : [{ share: shareOf(mirror), backend }];
    });
  }

  private at(place: Place, prefixed: boolean, where: 'rule' | 'backend'): FilterPlace {
    const extension: FilterPlace['extension'] = (reference) =>
      this.policies.extension(reference, where, prefixed);
    return { place, port: this.port, prefixed, extension };
  }

  private origin(rule: string | undefined): RouteOrigin {
    const { namespace = '', name } = this.route.metadata;
    return { kind: this.kind, name, namespace, ...(rule === undefined ? {} : { rule }) };
  }

  private place(path: string): Place {
    const { namespace, name } = this.route.metadata;
    return { file: `${this.kind} ${namespace}/${name}`, line: 1, column: 1, path };
  }
}

const httpBackend = (target: Target, weight: number, place: Place) => ({
  kind: 'http' as const,
  weight,
  key: target.endpoints,
  place,
  ...target,
});

export const invalid = ({ message }: Problem, weight: number, place: Place): InvalidBackend => ({
  kind: 'invalid',
  weight,
  key: `${place.file} ${place.path}`,
  place,
  problem: message,
});

function shareOf({ percent, fraction }: MirrorFilter): number {
  if (fraction !== undefined) return Math.min(1, fraction.numerator / (fraction.denominator ?? 100));
  return percent === undefined ? 1 : percent / 100;
}

const mirrorsField = (mirrors: readonly Mirror[]): { mirrors?: readonly Mirror[] } =>
  mirrors.length === 0 ? {} : { mirrors };

const policiesField = (policies: readonly PolicyUse[]): { policies?: readonly PolicyUse[] } =>
  policies.length === 0 ? {} : { policies };
