import { z } from 'zod';
import { compile, isProblem } from '../../cel/index.ts';
import { hostAndPort } from '../../schema/index.ts';
import { requestAttributes } from '../attributes/declared.ts';
import { countedUnit } from '../fields/countedUnit.ts';
import { addProblem, expression } from '../fields/expression.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import { policyConnection } from '../fields/policyConnection.ts';
import { located, policyServer, serverName, type PolicyServer } from '../fields/policyServer.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** A rate limit service, and the descriptors that it gets. */
export interface RemoteRateLimitSettings extends PolicyServer {
  readonly domain: string;
  /** From the call to the end of the answer. */
  readonly timeoutMs: number;
  readonly failureMode: 'failClosed' | 'failOpen';
  readonly descriptors: readonly DescriptorSettings[];
}

/** The sources of CEL expressions for the parts of a descriptor. */
export interface DescriptorSettings {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  readonly cost?: string | undefined;
  readonly limitOverride?: string | undefined;
}

/** An expression that can come to a value of one of the types. */
const expressionOf = (types: readonly string[], wanted: string, description: string, sample: string) =>
  expression(requestAttributes, description)
    .superRefine((source, ctx) => {
      const program = compile(source, requestAttributes);
      if (!isProblem(program) && ![...types, 'dyn'].includes(program.type))
        addProblem(ctx, [], `expected ${wanted}; this is a ${program.type}`, 0);
    })
    .meta({ description, samples: [sample] });

const numbers = ['int', 'uint', 'double'];

const entry = z.strictObject({
  key: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'Key of the entry.', samples: ['user'] }),
  value: expressionOf(
    [...numbers, 'string', 'bytes', 'bool'],
    'a text, a number or a boolean',
    'CEL expression of the value. A request without a value leaves out the whole descriptor.',
    'jwt.sub',
  ),
});

const descriptor = z
  .strictObject({
    entries: z.array(entry).min(1).max(32).meta({ description: 'Keys and values, in their order.' }),
    type: countedUnit,
    cost: expressionOf(
      numbers,
      'a number',
      'CEL expression of the number of hits that the request counts; 1 by default.',
      'request.method == "GET" ? 1 : 5',
    ).optional(),
    limitOverride: expressionOf(
      ['map'],
      'a map with unit and requestsPerUnit',
      'CEL expression of the limit, in place of the one that the service has: a map such as {"unit": "minute", "requestsPerUnit": 100}.',
      '{"unit": "minute", "requestsPerUnit": 100}',
    ).optional(),
  })
  .transform(({ type: _, ...rest }): DescriptorSettings => rest);

const usualTimeoutMs = 10_000;

export const remoteRateLimitSchema: z.ZodType<RemoteRateLimitSettings> = z
  .strictObject({
    host: hostAndPort.meta({ description: 'The service: name:port, or https://name for TLS.' }).optional(),
    backend: serverName,
    service: notBuilt('services; write the host'),
    conditional: notBuilt('conditional limits'),
    policies: policyConnection(
      'rate limit service',
      'Time for one call, after which failureMode decides; 10s by default.',
    ).optional(),
    domain: z
      .string()
      .min(1)
      .max(256)
      .meta({ description: 'Name of the set of limits in the service.', samples: ['shop'] }),
    failureMode: z.enum(['failClosed', 'failOpen', 'FailClosed', 'FailOpen']).default('failClosed').meta({
      description:
        'Decides while the service gives no verdict: failClosed, the default, refuses the request with 500; failOpen lets it pass.',
    }),
    descriptors: z.array(descriptor).min(1).max(64).meta({
      description:
        'Parts of the request that the service counts. The request passes if none is over its limit.',
    }),
  })
  .transform((value, ctx): RemoteRateLimitSettings => {
    const { host, backend, policies, domain, failureMode, descriptors } = value;
    return {
      ...policyServer({ host, backend }, policies?.backendTLS, ctx),
      domain,
      timeoutMs: policies?.http?.requestTimeout ?? usualTimeoutMs,
      failureMode: failureMode.toLowerCase() === 'failopen' ? 'failOpen' : 'failClosed',
      descriptors,
    };
  })
  .meta({ description: 'Asks a rate limit service of Envoy (gRPC) whether a request may pass.' });

export const remoteRateLimitFacts = {
  schema: remoteRateLimitSchema,
  on: ['route'],
  about: 'request',
  servers: {
    paths: [''],
    located: (settings, find) => located(settings as RemoteRateLimitSettings, find),
  },
} as const satisfies PolicyFacts;
