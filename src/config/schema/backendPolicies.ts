import { z } from 'zod';
import { backendPolicySchemas, policiesNotBuiltOn } from '../../policies/facts.ts';
import {
  backendTls,
  fields,
  hostAndPort,
  parsed,
  positiveDuration,
  rawBackendTls,
  requestTarget,
} from '../../schema/index.ts';
import { keepalives } from './keepalives.ts';
import { policyFields } from './policies.ts';

const count = (most: number): z.ZodInt => z.int().min(1).max(most);

const eviction = fields(
  {
    duration: positiveDuration
      .optional()
      .describe(
        'How long an address is out the first time; longer when it fails again soon. 30s by default.',
      ),
    consecutiveFailures: count(1_000)
      .optional()
      .describe('Failures in a row (status 500 and above, or no answer) that put it out; 5 by default.'),
    maxEjectedPercent: z
      .int()
      .min(0)
      .max(100)
      .optional()
      .describe('Share of the addresses that may be out at a time; 50 by default.'),
  },
  ['restoreHealth', 'healthThreshold'],
);

const statusRange = parsed('a status such as 200, or a range such as 200-399', (text) => {
  const [, from = '', to = from] = /^([1-5]\d\d)(?:-([1-5]\d\d))?$/.exec(text) ?? [];
  return from !== '' && Number(to) >= Number(from) ? { from: Number(from), to: Number(to) } : undefined;
});

const authority = parsed('a host, with or without port', (text) =>
  /^[a-z0-9._-]+(?::\d{1,5})?$|^\[[0-9a-f:.]+\](?::\d{1,5})?$/i.test(text) ? text : undefined,
);

const check = fields({
  path: requestTarget.describe('What to ask for, with GET.'),
  host: authority.optional().describe('Host of the request; that of the backend by default.'),
  interval: positiveDuration.optional().describe('From the end of one check to the next; 10s by default.'),
  timeout: positiveDuration.optional().describe('For the whole check; 2s by default.'),
  unhealthyThreshold: count(100)
    .optional()
    .describe('Checks in a row that must fail before no requests go there; 3 by default.'),
  healthyThreshold: count(100)
    .optional()
    .describe('Checks in a row that must pass before requests go there again; 2 by default.'),
  statuses: z
    .array(statusRange)
    .min(1, { error: 'expected at least one status' })
    .optional()
    .describe('Statuses that pass, as 200 or 200-399; 200-399 by default.'),
});

const health = fields(
  {
    eviction: eviction.optional().describe('Addresses that fail are left out for a while.'),
    check: check.optional().describe('Ask every address regularly whether it works.'),
  },
  ['unhealthyExpression'],
);

const connections = fields({
  maxConnections: count(1_000_000)
    .optional()
    .describe('Open connections to one address; no limit by default.'),
  maxPendingRequests: z
    .int()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe(
      'Requests that wait for a connection where the limit is reached; 1024 by default. Over it: 503.',
    ),
  maxRequestsPerConnection: count(1_000_000_000)
    .optional()
    .describe('Requests after which a connection is closed; no limit by default.'),
});

const tcp = fields({
  connectTimeout: positiveDuration
    .optional()
    .describe('Time to connect, TLS included; that of config.backend by default.'),
  keepalives: keepalives.optional().describe('TCP keep-alive; that of config.backend by default.'),
});

const versions: Readonly<Record<string, 'HTTP/1.1' | 'HTTP/2.0'>> = {
  'HTTP/1.1': 'HTTP/1.1',
  HTTP1: 'HTTP/1.1',
  'HTTP/2.0': 'HTTP/2.0',
  'HTTP/2': 'HTTP/2.0',
  HTTP2: 'HTTP/2.0',
};

const http = fields({
  version: parsed('HTTP/1.1 or HTTP/2.0', (text) =>
    Object.hasOwn(versions, text) ? versions[text] : undefined,
  )
    .optional()
    .describe('HTTP/1.1, the default, or HTTP/2.0: with TLS by ALPN, without by prior knowledge.'),
  requestTimeout: positiveDuration
    .optional()
    .describe(
      'From the choice of the backend to the end of its answer, in place of what timeout.backendRequestTimeout of the route says.',
    ),
});

/** ALPN says which version of HTTP is spoken, so the two must not differ. */
function oneVersion<
  Schema extends z.ZodType<{
    http?: { version?: string | undefined } | undefined;
    backendTLS?: { alpn?: unknown } | undefined;
  }>,
>(schema: Schema): Schema {
  return schema.superRefine(({ http: version, backendTLS: tls }, context) => {
    if (version?.version === 'HTTP/2.0' && tls?.alpn !== undefined)
      context.addIssue({
        code: 'custom',
        path: ['backendTLS', 'alpn'],
        message: 'says something else than http.version: leave it out, h2 is offered then',
      });
  });
}

/** `policies` of a single backend. */
export const backendPolicies = oneVersion(
  fields(
    {
      backendTLS: backendTls.optional().describe('Encrypt connections to it; also for https://.'),
      http: http.optional().describe('The version of HTTP it is spoken to in.'),
      tcp: tcp.optional().describe('How connections are opened and kept.'),
      health: health.optional().describe('Which addresses of the backend work.'),
      connections: connections.optional().describe('Limits of its connections.'),
      sessionAffinity: backendPolicySchemas.sessionAffinity
        .optional()
        .describe('Which requests are to go to the same address.'),
      ...policyFields('backend'),
      ...policyFields('mcpBackend'),
    },
    policiesNotBuiltOn('backend'),
  ),
).meta({ id: 'BackendPolicies' });

/** `policies` of an MCP target that is reached over the network; they take the place of those of the route. */
export const targetPolicies = oneVersion(
  fields(
    {
      backendTLS: backendTls.optional().describe('Encrypt connections to it; also for https://.'),
      ...policyFields('target'),
      http: http.optional().describe('The version of HTTP it is spoken to in, and how long a call may take.'),
      tcp: tcp.optional().describe('How connections are opened and kept.'),
    },
    policiesNotBuiltOn('target'),
  ),
).meta({ id: 'McpTargetPolicies' });

/** The same for a backend of TCP routes. */
export const rawBackendPolicies = fields(
  {
    backendTLS: rawBackendTls.optional().describe('Encrypt connections to it.'),
    tcp: tcp.optional().describe('How connections are opened and kept.'),
    health: health.optional().describe('Which addresses of the backend work.'),
    connections: connections.optional().describe('Limits of its connections.'),
  },
  ['backendTunnel'],
).meta({ id: 'RawBackendPolicies' });

const address = z.union(
  [
    hostAndPort,
    fields({
      address: hostAndPort.describe('As name:port.'),
      zone: z.string().min(1).optional().describe('Where it runs; the zone of the gateway is preferred.'),
    }),
  ],
  { error: 'expected name:port, or a map with `address` and `zone`' },
);

export const backendAddresses = z
  .array(address)
  .min(1, { error: 'expected at least one address' })
  .refine(
    (list) => list.every((one) => !('https' in one || ('address' in one && one.address.https === true))),
    { error: 'expected addresses without https://; say so in `host`, or with backendTLS' },
  );

export type BackendPolicySettings = z.output<typeof backendPolicies>;
export type TargetPolicySettings = z.output<typeof targetPolicies>;
export type RawBackendPolicySettings = z.output<typeof rawBackendPolicies>;
export type BackendAddressSettings = z.output<typeof backendAddresses>;
