import type { z } from 'zod';
import { backendTls } from './backendTls.ts';
import { fields } from './fields.ts';

/** `policies` of a single backend. */
export const backendPolicies = fields(
  {
    backendTLS: backendTls.optional().describe('Encrypt connections to it; also for https://.'),
  },
  [
    'requestHeaderModifier',
    'responseHeaderModifier',
    'transformations',
    'backendAuth',
    'http',
    'tcp',
    'backendTunnel',
    'requestRedirect',
    'health',
    'extAuthz',
    'authorization',
    'mcpAuthorization',
    'mcpGuardrails',
    'a2a',
    'inferenceRouting',
    'sessionAffinity',
    'ai',
  ],
).meta({ id: 'BackendPolicies' });

export type BackendPolicySettings = z.output<typeof backendPolicies>;
