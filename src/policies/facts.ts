import type { z } from 'zod';
import { abortSchema } from './abort/facts.ts';
import { apiKeySchema } from './apiKey/facts.ts';
import { authorizationSchema } from './authorization/facts.ts';
import { backendAuthSchema } from './backendAuth/facts.ts';
import { basicAuthSchema } from './basicAuth/facts.ts';
import { bufferSchema } from './buffer/facts.ts';
import { corsSchema } from './cors/facts.ts';
import { delaySchema } from './delay/facts.ts';
import { maskedNames } from './fields/secret.ts';
import { directResponseSchema } from './directResponse/facts.ts';
import { requestHeaderModifierSchema, responseHeaderModifierSchema } from './headerModifier/facts.ts';
import { jwtAuthSchema } from './jwtAuth/facts.ts';
import { localRateLimitSchema } from './localRateLimit/facts.ts';
import { mcpAuthenticationSchema } from './mcpAuthentication/facts.ts';
import { mcpAuthorizationSchema } from './mcpAuthorization/facts.ts';
import { requestMirrorSchema } from './requestMirror/facts.ts';
import { requestRedirectSchema } from './requestRedirect/facts.ts';
import { retrySchema } from './retry/facts.ts';
import { sessionAffinitySchema } from './sessionAffinity/facts.ts';
import { sessionPersistenceSchema } from './sessionPersistence/facts.ts';
import { timeoutSchema } from './timeout/facts.ts';
import { urlRewriteSchema } from './urlRewrite/facts.ts';

/**
 * A place of a configuration where a policy can stand: a listener (or a gateway, for its listener), a route, a backend
 * of a route, a Service of a cluster, an MCP target that is reached over the network.
 */
export type PolicyPlace = 'listener' | 'route' | 'backend' | 'service' | 'target';

/** Everything that the rest of the program knows of a policy without loading what runs it. */
export interface PolicyRecord {
  /** Shape of its settings; absent where this version does not have the policy. */
  readonly schema?: z.ZodType;
  /** The places where it may stand, and is enforced. */
  readonly on: readonly PolicyPlace[];
  /** The places where the format has it and this version refuses it by name. */
  readonly notYetOn?: readonly PolicyPlace[];
  /** Its subject, where a server without such a thing does not read it. */
  readonly about?: 'forwarding' | 'connection';
  /** The credential that it asks callers for. */
  readonly asksFor?: 'token' | 'password' | 'key';
  /** A cluster has another object for it. */
  readonly fileOnly?: true;
}

/**
 * Policy name → its record. Every list of policies in the program is derived from this table, so that a policy cannot
 * be missing from one of them. It stands apart from the policies themselves: reading a configuration does not load what
 * runs them.
 */
const records = {
  timeout: { schema: timeoutSchema, on: ['route'] },
  cors: { schema: corsSchema, on: ['listener', 'route'] },
  jwtAuth: { schema: jwtAuthSchema, on: ['listener', 'route'], asksFor: 'token' },
  mcpAuthentication: { schema: mcpAuthenticationSchema, on: ['route'], asksFor: 'token' },
  basicAuth: { schema: basicAuthSchema, on: ['listener', 'route'], asksFor: 'password' },
  apiKey: { schema: apiKeySchema, on: ['listener', 'route'], asksFor: 'key' },
  authorization: { schema: authorizationSchema, on: ['listener', 'route'], notYetOn: ['backend'] },
  mcpAuthorization: { schema: mcpAuthorizationSchema, on: ['route'], notYetOn: ['backend'] },
  localRateLimit: { schema: localRateLimitSchema, on: ['route'] },
  requestHeaderModifier: {
    schema: requestHeaderModifierSchema,
    on: ['route', 'service', 'target'],
    notYetOn: ['backend'],
  },
  responseHeaderModifier: {
    schema: responseHeaderModifierSchema,
    on: ['route', 'service'],
    notYetOn: ['backend'],
  },
  delay: { schema: delaySchema, on: ['route'] },
  abort: { schema: abortSchema, on: ['route'] },
  requestRedirect: { schema: requestRedirectSchema, on: ['route'], notYetOn: ['backend'] },
  urlRewrite: { schema: urlRewriteSchema, on: ['route'], about: 'forwarding' },
  directResponse: { schema: directResponseSchema, on: ['route'] },
  backendAuth: {
    schema: backendAuthSchema,
    on: ['route', 'service', 'target'],
    notYetOn: ['backend'],
    about: 'connection',
  },
  buffer: { schema: bufferSchema, on: ['route'], about: 'forwarding' },
  requestMirror: { schema: requestMirrorSchema, on: ['route'], about: 'forwarding', fileOnly: true },
  retry: { schema: retrySchema, on: ['route'], about: 'forwarding' },
  sessionPersistence: { schema: sessionPersistenceSchema, on: ['route'], about: 'forwarding' },
  sessionAffinity: { schema: sessionAffinitySchema, on: ['backend', 'service'] },
  oidc: { on: [], notYetOn: ['listener', 'route'] },
  extAuthz: { on: [], notYetOn: ['listener', 'route', 'backend'] },
  extProc: { on: [], notYetOn: ['listener', 'route'] },
  transformations: { on: [], notYetOn: ['listener', 'route', 'backend', 'target'] },
  mcpGuardrails: { on: [], notYetOn: ['route', 'backend'] },
  a2a: { on: [], notYetOn: ['route', 'backend'] },
  ai: { on: [], notYetOn: ['route', 'backend'] },
  backendTunnel: { on: [], notYetOn: ['route', 'backend', 'target'] },
  remoteRateLimit: { on: [], notYetOn: ['route'] },
  csrf: { on: [], notYetOn: ['route'] },
  inferenceRouting: { on: [], notYetOn: ['backend'] },
} as const satisfies Record<string, PolicyRecord>;

type Records = typeof records;

/** Policies with steps of a request: each may stand on a route. */
export type PolicyName = {
  [Name in keyof Records]: 'route' extends Records[Name]['on'][number] ? Name : never;
}[keyof Records];

/** The same for what stands on a single backend: settings of its balancing, no steps of a request. */
type BackendPolicyName = 'sessionAffinity';

export const policyRecords: Readonly<Record<string, PolicyRecord>> = records;

export {
  eachMark,
  eachSecretField,
  maskedNames,
  mayHoldSecret,
  mayHoldShownSecret,
  secret,
} from './fields/secret.ts';

export { eachNamedFile, fileMarkOf, namesFile, type FileMark } from './fields/namedFile.ts';
export { eachPart } from './fields/walk.ts';

const all = Object.entries(policyRecords);
const namesOf = (holds: (policy: PolicyRecord) => boolean): readonly string[] =>
  all.filter(([, policy]) => holds(policy)).map(([name]) => name);

/** Policies that may stand there. */
export const policiesOn = (place: PolicyPlace): readonly string[] => namesOf(({ on }) => on.includes(place));

/** Policies that the format has there and that are refused by name. */
export const policiesNotBuiltOn = (place: PolicyPlace): readonly string[] =>
  namesOf(({ notYetOn = [] }) => notYetOn.includes(place));

/** Policies that say nothing to a server that has no such thing: MCP servers get messages, no forwarded requests. */
export const policiesAbout = (what: NonNullable<PolicyRecord['about']>): ReadonlySet<string> =>
  new Set(namesOf(({ about }) => about === what));

/** Policy name → shape of its settings. */
export const policySchemas = Object.fromEntries(
  policiesOn('route').map((name) => [name, policyRecords[name]?.schema]),
) as { readonly [Name in PolicyName]: Records[Name]['schema'] };

/** The same for what stands on a single backend. */
export const backendPolicySchemas: { readonly [Name in BackendPolicyName]: Records[Name]['schema'] } = {
  sessionAffinity: records.sessionAffinity.schema,
};

export { targetsNamedBy } from './rules/targets.ts';

/** Policies of the format that are refused by name on a route. */
export const policiesNotBuilt = policiesNotBuiltOn('route');

/** Policy name → fields of its settings in the model that dumps mask. */
export const maskedSettings: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  all.flatMap(([name, { schema }]) => (schema === undefined ? [] : [[name, maskedNames(schema)] as const])),
);
