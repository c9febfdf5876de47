import type { z } from 'zod';
import { abort } from './abort/index.ts';
import { apiKey } from './apiKey/index.ts';
import { authorization } from './authorization/index.ts';
import { backendAuth } from './backendAuth/index.ts';
import { basicAuth } from './basicAuth/index.ts';
import { buffer } from './buffer/index.ts';
import { cors } from './cors/index.ts';
import { csrf } from './csrf/index.ts';
import { delay } from './delay/index.ts';
import { directResponse } from './directResponse/index.ts';
import { extAuthz } from './extAuthz/index.ts';
import { requestHeaderModifier, responseHeaderModifier } from './headerModifier/index.ts';
import { jwtAuth } from './jwtAuth/index.ts';
import { localRateLimit } from './localRateLimit/index.ts';
import { mcpAuthentication } from './mcpAuthentication/index.ts';
import { mcpAuthorization } from './mcpAuthorization/index.ts';
import { mcpBudgets } from './mcpBudgets/index.ts';
import { mcpGuardrails } from './mcpGuardrails/index.ts';
import { mcpTimeouts } from './mcpTimeouts/index.ts';
import { oidc } from './oidc/index.ts';
import type { Policy } from './policy.ts';
import type { policySchemas, RequestPolicy } from './facts.ts';
import { remoteRateLimit } from './remoteRateLimit/index.ts';
import { requestMirror } from './requestMirror/index.ts';
import { requestRedirect } from './requestRedirect/index.ts';
import { retry } from './retry/index.ts';
import { sessionPersistence } from './sessionPersistence/index.ts';
import { timeout } from './timeout/index.ts';
import { transformations } from './transformations/index.ts';
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
  Host,
  HostAnswer,
  HostCall,
  HostRewrite,
  Hosts,
  Identity,
  MirrorPlan,
  Passage,
  PersistencePlan,
  PlacedCredential,
  Policy,
  PolicyTools,
  RetryPlan,
  RateLimitState,
  RuleVerdict,
  Steps,
  TokenLimit,
  TokenStore,
  Trial,
} from './policy.ts';
export { expiryOf } from './backendAuth/claims.ts';
export { putCredentialsAgain, withdrawCredentials } from './backendAuth/place.ts';
export { loginError } from './token/loginChallenge.ts';
export { expressionWork } from './attributes/evaluate.ts';
export {
  compileRecord,
  type CompiledRecord,
  type ComputedFields,
  type RecordSettings,
} from './attributes/recordFields.ts';
export { compileSampling, type Sampling } from './attributes/sampling.ts';
export type { EndedRequest } from './attributes/endedRequest.ts';
export { recordFilter } from './attributes/recordFilter.ts';
export {
  expressionWords,
  tryExpression,
  tryOnRecord,
  type TriedExpression,
} from './rules/triedExpression.ts';
export { allowedBy } from './authorization/allowedBy.ts';
export { allScopes, stepUpOf } from './rules/scopes.ts';
export { pageAccess } from './cors/pageAccess.ts';
export { budgetHolderOf } from './attributes/budgetHolder.ts';
export { subjectOf } from './attributes/identityTexts.ts';
export { CallsInProgress } from './mcpBudgets/callsInProgress.ts';
export { StoredCalls } from './mcpBudgets/storedCalls.ts';
export { LocalTokens } from './localRateLimit/localTokens.ts';
export { StoredTokens } from './localRateLimit/storedTokens.ts';
export { fetchFor } from './fetchFor.ts';
export { hideCookies } from './hideCookies.ts';
export { affinityKey, type AffinityKey } from './sessionAffinity/index.ts';
export type { PolicyLogin } from './policyFacts.ts';
export type { RuleDecision } from './rules/decisions.ts';
export {
  decisionsOf,
  keepsCookies,
  loginOf,
  policiesForTargets,
  policiesNotBuiltOn,
  policiesOn,
  policyOrder,
  policySchemas,
} from './facts.ts';

/** Policy name → its run-time part. */
const runTime = {
  abort,
  apiKey,
  authorization,
  backendAuth,
  basicAuth,
  buffer,
  cors,
  csrf,
  delay,
  directResponse,
  extAuthz,
  jwtAuth,
  localRateLimit,
  mcpAuthentication,
  mcpAuthorization,
  mcpBudgets,
  mcpGuardrails,
  mcpTimeouts,
  oidc,
  remoteRateLimit,
  requestHeaderModifier,
  requestMirror,
  requestRedirect,
  responseHeaderModifier,
  retry,
  sessionPersistence,
  timeout,
  transformations,
  urlRewrite,
} satisfies { readonly [Name in RequestPolicy]: Policy<z.output<(typeof policySchemas)[Name]>> };

/** Policy name → policy. */
export const policyTable: ReadonlyMap<string, Policy> = new Map(Object.entries(runTime));
