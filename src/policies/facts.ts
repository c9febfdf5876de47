import type { z } from 'zod';
import { abortFacts } from './abort/facts.ts';
import { apiKeyFacts } from './apiKey/facts.ts';
import { authorizationFacts } from './authorization/facts.ts';
import { backendAuthFacts } from './backendAuth/facts.ts';
import { basicAuthFacts } from './basicAuth/facts.ts';
import { bufferFacts } from './buffer/facts.ts';
import { corsFacts } from './cors/facts.ts';
import { csrfFacts } from './csrf/facts.ts';
import { delayFacts } from './delay/facts.ts';
import { directResponseFacts } from './directResponse/facts.ts';
import { requestHeaderModifierFacts, responseHeaderModifierFacts } from './headerModifier/facts.ts';
import { extAuthzFacts } from './extAuthz/facts.ts';
import { jwtAuthFacts } from './jwtAuth/facts.ts';
import { localRateLimitFacts } from './localRateLimit/facts.ts';
import { mcpAuthenticationFacts } from './mcpAuthentication/facts.ts';
import { mcpAuthorizationFacts } from './mcpAuthorization/facts.ts';
import { mcpBudgetsFacts } from './mcpBudgets/facts.ts';
import { mcpGuardrailsFacts } from './mcpGuardrails/facts.ts';
import { mcpTimeoutsFacts } from './mcpTimeouts/facts.ts';
import { oidcFacts } from './oidc/facts.ts';
import { remoteRateLimitFacts } from './remoteRateLimit/facts.ts';
import { requestMirrorFacts } from './requestMirror/facts.ts';
import { requestRedirectFacts } from './requestRedirect/facts.ts';
import { retryFacts } from './retry/facts.ts';
import { sessionAffinityFacts } from './sessionAffinity/facts.ts';
import { sessionPersistenceFacts } from './sessionPersistence/facts.ts';
import { timeoutFacts } from './timeout/facts.ts';
import { transformationsFacts } from './transformations/facts.ts';
import { urlRewriteFacts } from './urlRewrite/facts.ts';
import { maskedNames } from '../schema/index.ts';
import type { ClusterForm, PolicyFacts, PolicyLogin, PolicyPlace } from './policyFacts.ts';
import type { PolicyUse } from '../model/index.ts';
import { ruleDecisions, type RuleDecision } from './rules/decisions.ts';
import type { Rule } from './rules/schema.ts';

export { constant, endedCondition, endedFields, samplingSetting } from './attributes/recordSchemas.ts';

/**
 * Policy name → facts, in the order in which policies act on a request, with the reason for each place. Every list of
 * policies in the program is derived from this table, so no list can miss a policy. The run-time parts are in
 * `index.ts`: reading a configuration does not load them.
 */
const table = {
  // The clock covers everything that follows.
  timeout: timeoutFacts,
  // A preflight carries no credentials, and pages must be able to read refusals, too.
  cors: corsFacts,
  // A page of another site must neither begin a login nor spend the limits of the user.
  csrf: csrfFacts,
  // Authentication comes before every decision about the caller. A browser that is not logged in is sent away first.
  oidc: oidcFacts,
  // Where oidc stands as well, both must accept the caller, and the token sets the identity.
  jwtAuth: jwtAuthFacts,
  // As jwtAuth; where both stand, both must accept the token and this one sets the identity.
  mcpAuthentication: mcpAuthenticationFacts,
  basicAuth: basicAuthFacts,
  apiKey: apiKeyFacts,
  // Its service knows the caller, and the rules know its values.
  extAuthz: extAuthzFacts,
  // A refused caller must cost no more work.
  authorization: authorizationFacts,
  mcpAuthorization: mcpAuthorizationFacts,
  // A call without room takes no token of a rate limit.
  mcpBudgets: mcpBudgetsFacts,
  // It limits the calls that the rules and the budgets allow.
  mcpTimeouts: mcpTimeoutsFacts,
  // Only admitted callers draw from the bucket: strangers cannot empty it for the others.
  localRateLimit: localRateLimitFacts,
  // Requests that the gateway itself refuses cost the service no call, and count nothing there.
  remoteRateLimit: remoteRateLimitFacts,
  // Services outside are asked about requests that the rules allow.
  mcpGuardrails: mcpGuardrailsFacts,
  // After the decisions about the caller. The fixed headers of requestHeaderModifier have the last word.
  transformations: transformationsFacts,
  // After the credential was removed, so that a new one can be set.
  requestHeaderModifier: requestHeaderModifierFacts,
  // The last word about the answer, errors included.
  responseHeaderModifier: responseHeaderModifierFacts,
  // It plays a slow backend, so it comes before policies that answer in place of the backend.
  delay: delayFacts,
  // A failing backend may be slow, too.
  abort: abortFacts,
  // A redirect needs no backend.
  requestRedirect: requestRedirectFacts,
  // After every policy that judges the path: rules see the path that the client asked for.
  urlRewrite: urlRewriteFacts,
  // It takes the place of the backend, so it comes where the backend would.
  directResponse: directResponseFacts,
  // The last word about the headers that the backend gets.
  backendAuth: backendAuthFacts,
  // A plan for the forwarding itself, as the policies that follow.
  buffer: bufferFacts,
  // The copy is of the request that the backend gets.
  requestMirror: requestMirrorFacts,
  // Each try sends the request as all others have made it.
  retry: retryFacts,
  // A plan for the choice of an address, the last step of all.
  sessionPersistence: sessionPersistenceFacts,
  // Settings of the balancing between addresses: it has no steps of a request.
  sessionAffinity: sessionAffinityFacts,
} as const satisfies Record<string, PolicyFacts>;

/** Policies that the format has and this version refuses by name, with their places. */
const notBuilt: Readonly<Record<string, readonly PolicyPlace[]>> = {
  extProc: ['listener', 'route'],
  a2a: ['route', 'backend'],
  ai: ['route', 'backend'],
  backendTunnel: ['route', 'backend', 'target'],
  inferenceRouting: ['backend'],
};

type Table = typeof table;

/** The names of the table, as literals. */
type Known = keyof Table;

/** Policies with steps of a request: each may stand on a route. */
export type RequestPolicy = {
  [Name in Known]: 'route' extends Table[Name]['on'][number] ? Name : never;
}[Known];

declare const madeHere: unique symbol;

/** A name of the table. Only this file makes one, so that a list of names elsewhere does not compile. */
export type PolicyName = string & { readonly [madeHere]: true };

/** Names that the format has and this version refuses. */
export const unbuiltPolicies: readonly string[] = Object.keys(notBuilt);

/** Every name of the table, to be written in code. */
export const policyNames = Object.fromEntries(Object.keys(table).map((name) => [name, name])) as {
  readonly [Name in Known]: PolicyName;
};

const rows: ReadonlyMap<string, PolicyFacts> = new Map(Object.entries(table));

/** The facts about a policy; undefined for a name that is none, and for policies that are not built. */
export const factsOf = (name: string): PolicyFacts | undefined => rows.get(name);

/** The shape of the settings of a policy. */
export const schemaOf = (name: PolicyName): z.ZodType => rows.get(name)!.schema;

const namesWhere = (holds: (facts: PolicyFacts) => boolean): readonly PolicyName[] =>
  Array.from(rows).flatMap(([name, facts]) => (holds(facts) ? [name as PolicyName] : []));

/** Policies that may stand there, in the order in which they act. */
export const policiesOn = (place: PolicyPlace): readonly PolicyName[] =>
  namesWhere(({ on }) => on.includes(place));

/** Policies of a route or listener that act on the messages for its MCP servers over the network. */
export const policiesForTargets: readonly PolicyName[] = namesWhere(
  ({ on, reachesTargets }) => reachesTargets === true || on.some((place) => place === 'target'),
);

/** Policies that the format has there and that this version refuses by name. */
export const policiesNotBuiltOn = (place: PolicyPlace): readonly string[] => [
  ...namesWhere(({ notYetOn = [] }) => notYetOn.includes(place)),
  ...Object.keys(notBuilt).filter((name) => notBuilt[name]?.includes(place)),
];

/** Policies about such a subject. */
export const policiesAbout = (subject: PolicyFacts['about']): ReadonlySet<string> =>
  new Set(namesWhere(({ about }) => about === subject));

/** Policies whose settings hold a set of authorization rules that may stand in a policy of its own, too. */
export const nestedRules = Array.from(rows).flatMap(([policy, { rules }]) =>
  typeof rules === 'object' ? [{ policy, ...rules }] : [],
);

/** Policies whose `path.prefix` replaces the path prefix of a match. */
export const prefixReplacers: readonly PolicyName[] = namesWhere(
  ({ replacesPrefix }) => replacesPrefix === true,
);

/** Policies that call servers, with the places of these servers in their settings. */
export const serverCallers = Array.from(rows).flatMap(([policy, { servers }]) =>
  servers === undefined ? [] : [{ policy, paths: servers.paths }],
);

/** Policies that need a shared store where a field of their settings has a value. */
export const stateSharers = Array.from(rows).flatMap(([policy, { sharesState }]) =>
  sharesState === undefined ? [] : [{ policy, ...sharesState }],
);

/** Policies that answer requests in the place of a backend. */
export const answeringPolicies: ReadonlySet<string> = new Set(namesWhere(({ answers }) => answers === true));

/** Does the policy keep state in cookies of its own? */
export function keepsCookies({ name, settings }: PolicyUse): boolean {
  const own = factsOf(name)?.ownCookies;
  return own !== undefined && (own.where?.(settings) ?? true);
}

/** The names that the cookies of policies begin with. */
export const ownCookieNames: readonly string[] = Array.from(rows.values()).flatMap(({ ownCookies }) =>
  ownCookies === undefined ? [] : [ownCookies.name],
);

/** Entries of Secrets, or of ConfigMaps, that the policies of a cluster can name. */
export const entriesIn = (field: ClusterForm['from']['field']): ReadonlySet<ClusterForm['from']['entry']> =>
  new Set(
    Array.from(rows.values()).flatMap(({ clusterForms = [] }) =>
      clusterForms.flatMap(({ from }) => (from.field === field ? [from.entry] : [])),
    ),
  );

const order = new Map(Array.from(rows.keys(), (name, index) => [name, index]));

/** Place of a policy in the life of a request; smaller comes first. Unknown names come last. */
export const policyOrder = (name: string): number => order.get(name) ?? order.size;

/** Policy name → shape of its settings, for each policy with steps of a request. */
export const policySchemas = Object.fromEntries(
  policiesOn('route').map((name) => [name, factsOf(name)?.schema]),
) as { readonly [Name in RequestPolicy]: Table[Name]['schema'] };

/** The same for policies that stand on a single backend and have no steps. */
export const backendPolicySchemas = Object.fromEntries(
  policiesOn('backend').map((name) => [name, factsOf(name)?.schema]),
) as { readonly [Name in Exclude<Known, RequestPolicy>]: Table[Name]['schema'] };

/** Policy name → fields of its settings in the model that dumps mask. */
export const maskedSettings = (): ReadonlyMap<string, ReadonlySet<string>> =>
  new Map(Array.from(rows, ([name, { schema }]) => [name, maskedNames(schema)]));

/** The schemas of all policies. */
export const allSchemas: readonly z.ZodType[] = Array.from(rows.values(), ({ schema }) => schema);

/** The credential that a policy asks callers for, and where to get it; undefined for a policy that asks for none. */
export function loginOf({ name, settings }: PolicyUse): PolicyLogin | undefined {
  const { logins, asksFor: credential, guidesClients = false } = factsOf(name) ?? {};
  if (credential === undefined) return undefined;
  const header = headerOf(settings, credential);
  return {
    kind: name,
    byToken: credential === 'token',
    credential,
    guidesClients,
    ...(header && { header }),
    ...(logins?.(settings) ?? { issuers: [], audiences: [], clientScopes: [] }),
  };
}

/** The header that carries a credential; undefined where it stands in another place. */
function headerOf(settings: unknown, credential: PolicyLogin['credential']): PolicyLogin['header'] {
  const place = member(settings, 'location') ?? member(settings, 'authorizationLocation');
  if (place === undefined)
    return { name: 'authorization', prefix: credential === 'password' ? 'Basic ' : 'Bearer ' };
  const [kind, name, prefix] = ['kind', 'name', 'prefix'].map((part) => member(place, part));
  return kind === 'header' && typeof name === 'string' ? { name, prefix: String(prefix ?? '') } : undefined;
}

/** The authorization rules that a policy is, or holds as a member. */
export function rulesOf({ name, settings }: PolicyUse): readonly Rule[] {
  const at = factsOf(name)?.rules;
  if (at === undefined) return [];
  const rules = member(at === 'self' ? settings : member(settings, at.member), 'rules');
  return Array.isArray(rules) ? (rules as Rule[]) : [];
}

/** Says of each rule of a policy what it decides. */
export function decisionsOf(policy: PolicyUse): readonly RuleDecision[] {
  const at = factsOf(policy.name)?.rules;
  const list = typeof at === 'object' ? `.${at.member}.rules` : '.rules';
  return ruleDecisions(policy.name, list, rulesOf(policy));
}

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;

export { valueExchange } from './backendAuth/valueExchange.ts';
export type { FindServer } from './fields/policyServer.ts';
export { oneOf } from './fields/crdRules.ts';
export type { ClusterForm, CrdRule, PolicyFacts, PolicyLogins, PolicyPlace } from './policyFacts.ts';
export { mcpRuleRules, ruleRules } from './rules/crdRules.ts';
export type { RuleDecision } from './rules/decisions.ts';
export { argumentsNeeded } from './rules/absentArguments.ts';
export { demandsTwoKinds } from './rules/toolNames.ts';
export { targetsNamedBy } from './rules/targets.ts';
