import type { z } from 'zod';
import { abortSchema } from './abort/schema.ts';
import { apiKeySchema } from './apiKey/schema.ts';
import { authorizationSchema } from './authorization/schema.ts';
import { backendAuthSchema } from './backendAuth/schema.ts';
import { basicAuthSchema } from './basicAuth/schema.ts';
import { bufferSchema } from './buffer/schema.ts';
import { corsSchema } from './cors/schema.ts';
import { delaySchema } from './delay/schema.ts';
import { directResponseSchema } from './directResponse/schema.ts';
import { requestHeaderModifierSchema, responseHeaderModifierSchema } from './headerModifier/schema.ts';
import { jwtAuthSchema } from './jwtAuth/schema.ts';
import { localRateLimitSchema } from './localRateLimit/schema.ts';
import { mcpAuthenticationSchema } from './mcpAuthentication/schema.ts';
import { mcpAuthorizationSchema } from './mcpAuthorization/schema.ts';
import { requestMirrorSchema } from './requestMirror/schema.ts';
import { requestRedirectSchema } from './requestRedirect/schema.ts';
import { retrySchema } from './retry/schema.ts';
import { sessionAffinitySchema } from './sessionAffinity/schema.ts';
import { sessionPersistenceSchema } from './sessionPersistence/schema.ts';
import { timeoutSchema } from './timeout/schema.ts';
import { urlRewriteSchema } from './urlRewrite/schema.ts';

/**
 * Policy name → shape of its settings. Stands apart from the policies themselves so that whoever only reads
 * configuration need not load what runs them.
 */
export const policySchemas = {
  timeout: timeoutSchema,
  cors: corsSchema,
  jwtAuth: jwtAuthSchema,
  mcpAuthentication: mcpAuthenticationSchema,
  basicAuth: basicAuthSchema,
  apiKey: apiKeySchema,
  authorization: authorizationSchema,
  mcpAuthorization: mcpAuthorizationSchema,
  localRateLimit: localRateLimitSchema,
  requestHeaderModifier: requestHeaderModifierSchema,
  responseHeaderModifier: responseHeaderModifierSchema,
  delay: delaySchema,
  abort: abortSchema,
  requestRedirect: requestRedirectSchema,
  urlRewrite: urlRewriteSchema,
  directResponse: directResponseSchema,
  backendAuth: backendAuthSchema,
  buffer: bufferSchema,
  requestMirror: requestMirrorSchema,
  retry: retrySchema,
  sessionPersistence: sessionPersistenceSchema,
} as const satisfies Record<string, z.ZodType>;

/** The same for what stands on a single backend: settings of its balancing, no steps of a request. */
export const backendPolicySchemas = { sessionAffinity: sessionAffinitySchema } as const;

export type PolicyName = keyof typeof policySchemas;

/** Policies of the format that are refused by name. */
export const policiesNotBuilt: readonly string[] = [
  ...['mcpGuardrails', 'a2a', 'ai', 'backendTunnel'],
  ...['remoteRateLimit', 'oidc', 'extAuthz', 'extProc'],
  ...['transformations', 'csrf'],
];
