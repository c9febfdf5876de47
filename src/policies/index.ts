import { abort } from './abort/index.ts';
import { apiKey } from './apiKey/index.ts';
import { authorization } from './authorization/index.ts';
import { backendAuth } from './backendAuth/index.ts';
import { basicAuth } from './basicAuth/index.ts';
import { buffer } from './buffer/index.ts';
import { cors } from './cors/index.ts';
import { delay } from './delay/index.ts';
import { directResponse } from './directResponse/index.ts';
import { requestHeaderModifier, responseHeaderModifier } from './headerModifier/index.ts';
import { jwtAuth } from './jwtAuth/index.ts';
import { localRateLimit } from './localRateLimit/index.ts';
import { mcpAuthentication } from './mcpAuthentication/index.ts';
import { mcpAuthorization } from './mcpAuthorization/index.ts';
import type { Policy } from './policy.ts';
import type { PolicyName } from './facts.ts';
import { requestMirror } from './requestMirror/index.ts';
import { requestRedirect } from './requestRedirect/index.ts';
import { retry } from './retry/index.ts';
import { sessionPersistence } from './sessionPersistence/index.ts';
import { timeout } from './timeout/index.ts';
import { urlRewrite } from './urlRewrite/index.ts';

export type {
  ApiKeyHolder,
  BodyLimit,
  ChosenBackend,
  BufferPlan,
  Draws,
  Exchange,
  Forwarding,
  HedgePlan,
  HostRewrite,
  Identity,
  MirrorPlan,
  Passage,
  PersistencePlan,
  Policy,
  PolicyTools,
  RetryPlan,
  Standing,
  Steps,
  TokenLimit,
  TokenStore,
} from './policy.ts';
export { expressionWork } from './attributes/evaluate.ts';
export { LocalTokens } from './localRateLimit/localTokens.ts';
export { affinityKey, type AffinityKey } from './sessionAffinity/index.ts';
export { policiesNotBuilt, policiesOn, policyRecords, policySchemas, type PolicyName } from './facts.ts';

/** Every policy, in the order in which they act on a request, with the reason for each place. */
const rows: readonly { readonly policy: Policy; readonly why: string }[] = [
  { policy: timeout, why: 'the clock covers everything that follows' },
  { policy: cors, why: 'a preflight carries no credentials, and refusals must be readable for the page too' },
  { policy: jwtAuth, why: 'who is calling must be known before anything is decided about the caller' },
  {
    policy: mcpAuthentication,
    why: 'as jwtAuth; where both stand, both must be content and this one counts',
  },
  { policy: basicAuth, why: 'as jwtAuth' },
  { policy: apiKey, why: 'as jwtAuth' },
  { policy: authorization, why: 'what a caller may not do must cost no more work' },
  { policy: mcpAuthorization, why: 'as authorization' },
  {
    policy: localRateLimit,
    why: 'only who may come in draws from the bucket: strangers cannot empty it for the others',
  },
  { policy: requestHeaderModifier, why: 'after the credential was removed, so that a new one can be set' },
  { policy: responseHeaderModifier, why: 'the last word about the answer, errors included' },
  { policy: delay, why: 'a slow backend is played before whatever answers in its place' },
  { policy: abort, why: 'a failing backend may be slow, too' },
  { policy: requestRedirect, why: 'where it stands there is no backend' },
  { policy: urlRewrite, why: 'after everything that judges the path: rules see what the client asked for' },
  { policy: directResponse, why: 'it takes the place of the backend, so it comes where the backend would' },
  { policy: backendAuth, why: 'the last word about what the backend gets' },
  { policy: buffer, why: 'a plan for the forwarding itself, as the two that follow' },
  { policy: requestMirror, why: 'the copy is of what the backend gets' },
  { policy: retry, why: 'each try sends what all others have made of the request' },
  { policy: sessionPersistence, why: 'a plan for the choice of an address, which is the last thing done' },
];

/** Policy name → policy. */
export const policyTable: ReadonlyMap<string, Policy> = new Map(
  rows.map(({ policy }) => [policy.name, policy]),
);

const order = new Map(rows.map(({ policy }, index) => [policy.name, index]));

/** Place of a policy in the life of a request; smaller comes first. Unknown names come last. */
export const policyOrder = (name: PolicyName | (string & {})): number => order.get(name) ?? rows.length;
