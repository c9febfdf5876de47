import { z } from 'zod';
import { hostAndPort, mayHoldSecret } from '../../schema/index.ts';
import { authorizedAttributes, requestAttributes } from '../attributes/declared.ts';
import { oneOf } from '../fields/crdRules.ts';
import { durationOrExpression, type LengthOfTime } from '../fields/durationOrExpression.ts';
import { expression, textExpression } from '../fields/expression.ts';
import { headerName } from '../fields/httpText.ts';
import { headerOrPseudo } from '../fields/headerOrPseudo.ts';
import { notBuilt } from '../fields/notBuilt.ts';
import { policyConnection } from '../fields/policyConnection.ts';
import { located, policyServer, serverName, type PolicyServer } from '../fields/policyServer.ts';
import { refusedRequestHeaders } from '../headerModifier/facts.ts';
import type { PolicyFacts } from '../policyFacts.ts';

/** A service that speaks the external authorization protocol of Envoy, version 3. */
export interface GrpcProtocol {
  readonly name: 'grpc';
  readonly context: Readonly<Record<string, string>>;
  /** Name → CEL expression of an object; undefined: the claims of the caller. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

/** A service that decides by the status of its answer. All expressions are CEL. */
export interface HttpProtocol {
  readonly name: 'http';
  readonly path: string | undefined;
  readonly redirect: string | undefined;
  readonly body: string | undefined;
  /** In lower case. */
  readonly includeResponseHeaders: readonly string[];
  readonly addRequestHeaders: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Decisions hold for further requests with the same key. */
export interface CacheSettings {
  /** CEL expressions. */
  readonly key: readonly string[];
  /** The time for which a decision holds. */
  readonly ttl: LengthOfTime;
  readonly maxEntries: number;
}

export interface ExtAuthzSettings extends PolicyServer {
  readonly protocol: GrpcProtocol | HttpProtocol;
  /** From the call to the end of the answer. */
  readonly timeoutMs: number;
  /** A number: the status of the refusal. */
  readonly failureMode: 'allow' | 'deny' | number;
  /** In lower case; undefined: all for gRPC, `authorization` for HTTP. */
  readonly includeRequestHeaders: readonly string[] | undefined;
  /** Absent: the service gets no body. */
  readonly body?: BodySettings;
  readonly cache?: CacheSettings;
}

export interface BodySettings {
  /** Bytes. */
  readonly most: number;
  readonly asBytes: boolean;
}

const usualTimeoutMs = 2_000;

const ofConnection = 'this field belongs to the connection or frames the message';
const ownHeader = headerName().refine((name) => !refusedRequestHeaders.has(name.toLowerCase()), ofConnection);

const expressions = (description: string) =>
  z.record(z.string().min(1).max(256), expression(requestAttributes, 'CEL expression of the value.')).meta({
    description,
  });

const grpc = z
  .strictObject({
    context: z
      .record(z.string().min(1).max(256), mayHoldSecret(z.string().max(8_192)))
      .default({})
      .meta({ description: 'Fixed values for the service (context_extensions).' }),
    metadata: expressions(
      'Objects for the service (metadata_context): name and CEL expression. Without it, the claims of the caller as envoy.filters.http.jwt_authn.',
    ).optional(),
  })
  .meta({ description: 'The service speaks gRPC: envoy.service.auth.v3.Authorization.' });

const http = z
  .strictObject({
    path: textExpression(
      requestAttributes,
      'CEL expression of the path and query of the call; those of the request by default.',
    ).optional(),
    redirect: textExpression(
      requestAttributes,
      'CEL expression of an address, to which 401 and 403 of the service send the client.',
    )
      .meta({ examples: ['"https://login.example.com/?to=" + request.path'] })
      .optional(),
    body: expression(
      requestAttributes,
      'CEL expression of the body of the call: a text or bytes as they are, everything else as JSON.',
    ).optional(),
    includeResponseHeaders: z
      .array(ownHeader.transform((name) => name.toLowerCase()))
      .max(256)
      .default([])
      .meta({
        description:
          'Headers of the answer of the service that the backend gets, in place of those of the client.',
      }),
    addRequestHeaders: z
      .record(ownHeader, expression(requestAttributes, 'CEL expression of the value.'))
      .default({})
      .meta({ description: 'Further headers of the call: name and CEL expression.' }),
    metadata: z
      .record(
        z.string().min(1).max(256),
        expression(authorizedAttributes, 'CEL expression over the request and the answer of the service.'),
      )
      .default({})
      .meta({ description: 'Values that later expressions read as `extauthz`: name and CEL expression.' }),
  })
  .meta({
    description: 'The service speaks HTTP: a status of 200 to 299 allows the request, others refuse it.',
  });

const protocol = z
  .strictObject({ grpc: grpc.optional(), http: http.optional() })
  .refine(
    (given) => (given.grpc === undefined) !== (given.http === undefined),
    'expected either grpc or http',
  )
  .default({ grpc: { context: {} } })
  .transform((given): GrpcProtocol | HttpProtocol => {
    if (given.http === undefined)
      return { name: 'grpc', context: given.grpc?.context ?? {}, metadata: given.grpc?.metadata };
    const { path, redirect, body, ...lists } = given.http;
    return { name: 'http', path, redirect, body, ...lists };
  })
  .meta({ description: 'The protocol of the service; grpc by default.' });

const lifetime = durationOrExpression({
  attributes: requestAttributes,
  types: ['google.protobuf.Duration', 'google.protobuf.Timestamp', 'int', 'uint', 'double'],
  wanted: 'a duration, a timestamp, or a number of seconds since the epoch',
  description:
    'Time for which a decision holds, such as `1m`, or a CEL expression of a duration, of a timestamp (`timestamp(extauthz.until)`), or of seconds since the epoch.',
});

const usualBodyBytes = 8_192;

const body = z
  .strictObject({
    maxRequestBytes: z
      .int()
      .min(0)
      .max(16_777_216)
      .default(usualBodyBytes)
      .transform((given) => (given === 0 ? usualBodyBytes : given))
      .meta({ description: 'Largest body, in bytes; a request with a larger one gets 413.' }),
    allowPartialMessage: z
      .boolean()
      .default(false)
      .refine((given) => !given, {
        message: 'known, but not built yet: the beginning of a body',
        params: { notBuilt: true },
      })
      .meta({ description: 'Whether a larger body would be sent in part: false, the only value.' }),
    packAsBytes: z
      .boolean()
      .default(false)
      .meta({ description: 'Over gRPC: sends the body as bytes (raw_body), where it may be no text.' }),
  })
  .meta({ description: 'Sends the body of the request to the service, and forwards it afterwards.' });

const cache = z
  .strictObject({
    key: z
      .array(expression(requestAttributes, 'CEL expression of a part of the key.'))
      .max(64)
      .meta({ description: 'The parts of the key: requests with the same values share a decision.' }),
    ttl: lifetime,
    maxEntries: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(10_000)
      .transform((given) => (given === 0 ? 10_000 : given))
      .meta({ description: 'Decisions that are kept; the one that was not used for longest makes room.' }),
  })
  .meta({
    description:
      'Keeps decisions for further requests. The key must have everything that the service decides by, or callers get the decisions of others.',
  });

export const extAuthzSchema: z.ZodType<ExtAuthzSettings> = z
  .strictObject({
    host: hostAndPort.optional().meta({
      description: 'The service: name:port, or https://name for TLS.',
    }),
    backend: serverName,
    service: notBuilt('services; write the host'),
    conditional: notBuilt('conditional services'),
    policies: policyConnection(
      'authorization service',
      'Time for one decision, after which failureMode decides; 2s by default.',
    ).optional(),
    protocol,
    failureMode: z
      .union([
        z.enum(['allow', 'deny']),
        z.strictObject({
          denyWithStatus: z
            .int()
            .min(400)
            .max(599)
            .meta({ description: 'The status of the refusal.', examples: [503] }),
        }),
      ])
      .default('deny')
      .meta({
        description:
          'What happens to a request about which the service gives no decision: deny (403), allow, or denyWithStatus.',
      }),
    includeRequestHeaders: z.array(headerOrPseudo()).max(256).optional().meta({
      description:
        'Headers of the request that the service gets: by default all with gRPC, authorization with HTTP.',
    }),
    includeRequestBody: body.optional(),
    cache: cache.optional(),
  })
  .transform((given, ctx): ExtAuthzSettings => {
    const { host, backend, policies, protocol: spoken, failureMode, includeRequestHeaders } = given;
    const { includeRequestBody: sent } = given;
    if (spoken.name === 'http')
      for (const [index, name] of (includeRequestHeaders ?? []).entries())
        if (refusedByHttp(name))
          ctx.addIssue({
            code: 'custom',
            message: `${ofConnection}; a call over HTTP has its own`,
            path: ['includeRequestHeaders', index],
          });
    return {
      ...policyServer({ host, backend }, policies?.backendTLS, ctx),
      protocol: spoken,
      timeoutMs: policies?.http?.requestTimeout ?? usualTimeoutMs,
      failureMode: typeof failureMode === 'object' ? failureMode.denyWithStatus : failureMode,
      includeRequestHeaders,
      ...(sent === undefined ? {} : { body: { most: sent.maxRequestBytes, asBytes: sent.packAsBytes } }),
      ...(given.cache === undefined ? {} : { cache: given.cache }),
    };
  })
  .meta({
    description: 'Asks a service outside whether a request may pass (external authorization).',
  });

/** The service may be of the host that the client asked for. */
const refusedByHttp = (name: string): boolean =>
  name === 'host' || (name.startsWith(':') ? name !== ':authority' : refusedRequestHeaders.has(name));

export const extAuthzFacts = {
  schema: extAuthzSchema,
  on: ['listener', 'route'],
  notYetOn: ['backend'],
  about: 'caller',
  warnings: (settings) => {
    const { cache: kept, body: sent } = settings as ExtAuthzSettings;
    if (kept === undefined) return [];
    return [
      ...(kept.key.length === 0 ? ['cache keeps no decision: its `key` has no expression'] : []),
      ...(sent === undefined
        ? []
        : [
            'cache takes a decision about one body for all: a `key` cannot have what includeRequestBody sends',
          ]),
    ];
  },
  idleForMcp: (settings) => {
    const { protocol: spoken } = settings as ExtAuthzSettings;
    return spoken.name === 'http' && spoken.includeResponseHeaders.length > 0
      ? 'protocol.http.includeResponseHeaders'
      : undefined;
  },
  crdRules: { protocol: [oneOf('grpc', 'http')] },
  servers: {
    paths: [''],
    located: (settings, find) => located(settings as ExtAuthzSettings, find),
  },
} as const satisfies PolicyFacts;
