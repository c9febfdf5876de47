import type { z } from 'zod';
import { policiesNotBuilt, policySchemas } from '../../../policies/schemas.ts';
import { backendTls } from './backendTls.ts';
import { fields } from './fields.ts';

type PolicyFields = Record<string, z.ZodOptional<z.ZodType>>;

/** Policies that may stand on a listener or gateway, built or not. */
const onListeners = [
  'oidc',
  'jwtAuth',
  'authorization',
  'extAuthz',
  'extProc',
  'cors',
  'transformations',
  'basicAuth',
  'apiKey',
];

const built: PolicyFields = Object.fromEntries(
  Object.entries(policySchemas).map(([name, schema]) => [
    name,
    (schema as z.ZodType).meta({ id: name }).optional(),
  ]),
);

/** Policies of the way to a backend: no steps of a request, but part of the backends of the route. */
const ofBackends = { backendTLS: backendTls.optional() };
export const backendPolicyNames: readonly string[] = Object.keys(ofBackends);

export const routePolicies = fields({ ...built, ...ofBackends }, policiesNotBuilt).meta({ id: 'Policies' });

/** Policies written right on a gateway, among its other fields. */
export const inlinePolicies: PolicyFields = Object.fromEntries(
  Object.entries(built).filter(([name]) => onListeners.includes(name)),
);
export const inlinePoliciesUnbuilt = onListeners.filter((name) => inlinePolicies[name] === undefined);

export const listenerPolicies = fields(inlinePolicies, inlinePoliciesUnbuilt);
