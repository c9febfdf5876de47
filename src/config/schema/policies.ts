import type { z } from 'zod';
import { policiesNotBuiltOn, policiesOn, policySchemas, type PolicyPlace } from '../../policies/facts.ts';
import { backendTls, fields } from '../../schema/index.ts';

type PolicyFields = Record<string, z.ZodOptional<z.ZodType>>;

const described = new Map(
  Object.entries(policySchemas).map(([name, schema]) => [name, (schema as z.ZodType).meta({ id: name })]),
);

/** The policies with steps of a request that may stand there, as fields. */
export const policyFields = (place: PolicyPlace): PolicyFields =>
  Object.fromEntries(
    policiesOn(place).flatMap((name) => {
      const schema = described.get(name);
      return schema === undefined ? [] : [[name, schema.optional()]];
    }),
  );

/** Policies of the way to a backend: no steps of a request, but part of the backends of the route. */
const ofBackends = {
  backendTLS: backendTls.optional().describe('TLS of the connections from the route to its backends.'),
};
export const backendPolicyNames: readonly string[] = Object.keys(ofBackends);

export const routePolicies = fields(
  { ...policyFields('route'), ...ofBackends },
  policiesNotBuiltOn('route'),
).meta({ id: 'Policies' });

/** Policies written right on a gateway, among its other fields. */
export const inlinePolicies = policyFields('listener');
export const inlinePoliciesUnbuilt = policiesNotBuiltOn('listener');

export const listenerPolicies = fields(inlinePolicies, inlinePoliciesUnbuilt);
