import { z } from 'zod';
import {
  choice,
  duration,
  fields,
  listenAddress,
  network,
  parsed,
  positiveDuration,
  positiveSize,
  secret,
  size,
} from '../../schema/index.ts';
import { logging, loggingPolicy } from './accessLog.ts';
import { audit } from './audit.ts';
import { keepalives } from './keepalives.ts';
import { proxyProtocol } from './proxyProtocol.ts';
import { store } from './store.ts';
import { frontendTracing, tracing } from './tracing.ts';
import { frontendHasSuite, frontendSuites, frontendTlsFields, frontendVersionsInOrder } from './serverTls.ts';

/** RFC 9113 §6.9.1. */
const WINDOW_MOST = 2_147_483_647;

const within = (least: number, most: number): typeof size =>
  size.refine((bytes) => bytes >= least && bytes <= most, {
    error: `expected a size between ${least} and ${most} bytes`,
  });

const count = z.int().min(1).max(100_000_000);

/** 32 bytes for AES-256-GCM. */
export function parseSessionKey(text: string): string | undefined {
  return /^[0-9a-f]{64}$/i.test(text) ? text.toLowerCase() : undefined;
}

/** More than any machine of today has use for. */
const maxWorkers = 256;

/** A number or `auto`, as text. */
export function parseWorkers(text: string): number | 'auto' | undefined {
  if (text === 'auto') return text;
  const workers = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return workers >= 1 && workers <= maxWorkers ? workers : undefined;
}

export const expectedWorkers = `auto or a number from 1 to ${maxWorkers}`;

const workers = z
  .union([z.int().min(1).max(maxWorkers), parsed(expectedWorkers, parseWorkers)], {
    error: `expected ${expectedWorkers}`,
  })
  .optional()
  .describe(
    'Processes that serve: a number, or auto for as many as the machine has processors; 1 by default.',
  );

const backend = fields({
  connectTimeout: positiveDuration.optional().describe('Time to connect to a backend; 10s by default.'),
  poolIdleTimeout: positiveDuration
    .optional()
    .describe('Time an idle connection to a backend is kept; 1m30s by default.'),
  poolMaxSize: z
    .int()
    .min(0)
    .optional()
    .describe('Idle connections kept for one backend address; 1024 by default.'),
  keepalives: keepalives.optional().describe('TCP keep-alive towards backends.'),
});

const share = z.number().min(0).max(1);

const overload = fields({
  closeLag: duration
    .optional()
    .describe('Event loop this late: connections end after their request; 500ms by default, 0s is never.'),
  shedLag: duration
    .optional()
    .describe('Event loop this late: new requests get 503; 1s by default, 0s is never.'),
  closeMemory: share
    .optional()
    .describe(
      'This share of the memory in use: connections end after their request; 0.9 by default, 0 is never.',
    ),
  shedMemory: share
    .optional()
    .describe('This share of the memory in use: new requests get 503; 0.95 by default, 0 is never.'),
});

const limits = fields({
  maxHeadBytes: positiveSize.optional().describe('Request line and headers; 64KiB by default. Over it: 431.'),
  maxUriBytes: positiveSize.optional().describe('Request target; 16KiB by default. Over it: 414.'),
  maxMethodBytes: count.optional().describe('Method of a request; 32 bytes by default. Over it: 501.'),
  maxHeaderNameBytes: positiveSize
    .optional()
    .describe('Name of one header of a request or of an answer; 256 bytes by default. Over it: 431 or 502.'),
  maxBodyBytes: size.optional().describe('Request body; 0, the default, is no limit. Over it: 413.'),
  firstRequestTimeout: positiveDuration
    .optional()
    .describe(
      'Time a connection of an HTTP listener may stay open before the first byte of its first request; 10s by default. Over it: closed without an answer.',
    ),
  headTimeout: positiveDuration
    .optional()
    .describe('First byte to the end of the head; 10s by default. Over it: 408.'),
  bodyTimeout: positiveDuration
    .optional()
    .describe('Longest pause within a body; 1m by default. Over it: 408.'),
  responseTimeout: duration
    .optional()
    .describe(
      'From a whole request to the head of its answer, where no timeout policy says something else; 5m by default, 0s is no limit. Over it: 504.',
    ),
  tunnelIdleTimeout: positiveDuration
    .optional()
    .describe('Time a tunnel (WebSocket, TCP route) may stay open while no byte moves; 1h by default.'),
  tunnelHalfClosedTimeout: positiveDuration
    .optional()
    .describe(
      'The same where one side of the tunnel has ended; 5m by default, and never longer than tunnelIdleTimeout.',
    ),
  udpIdleTimeout: positiveDuration
    .optional()
    .describe('Time after which a silent client of a UDP listener is forgotten; 1m by default.'),
  maxUnreadBytes: size
    .optional()
    .describe(
      'Memory in which answers of HTTP/2 wait for their clients; 0, the default, is a quarter of what the system grants. Over it: streams are reset.',
    ),
  maxUnreadBytesPerConnection: positiveSize
    .optional()
    .describe('The same for one connection; 8MiB by default. Over it: its streams are reset.'),
  maxUdpFlows: count
    .optional()
    .describe(
      'Clients of UDP listeners at the same time; 10000 by default. Over it: the datagram is dropped.',
    ),
  maxConnections: count
    .optional()
    .describe('Open client connections; 50000 by default, and at most half of what the process may open.'),
  maxRequests: count
    .optional()
    .describe('Requests under way at the same time; 50000 by default. Over it: 503.'),
  maxRequestsPerConnection: z
    .int()
    .min(0)
    .optional()
    .describe('Requests of one client connection, which ends after the last; 0, the default, is no limit.'),
  maxHttp2Streams: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      'Requests at a time on one client connection of HTTP/2; 100 by default. Over it: refused streams.',
    ),
  minBodyRate: size
    .optional()
    .describe('Bytes a second that a request body must bring; 100 by default, 0 is no limit. Under it: 408.'),
  minBodyRateWindow: positiveDuration
    .optional()
    .describe('Time over which minBodyRate is averaged; 30s by default.'),
  overload: overload.optional().describe('When the process has more to do than it can.'),
  maxMcpSessions: count.optional().describe('Live MCP sessions; 10000 by default. Over it: 503.'),
  maxMcpSessionsPerPrincipal: count
    .optional()
    .describe(
      'Live MCP sessions of one principal (the subject of a token; without a token, the address of the client, an IPv6 address by its /64); 1000 by default. Over it: 429.',
    ),
  maxChildren: count.optional().describe('Child processes of stdio targets; 256 by default. Over it: 503.'),
  maxChildrenPerPrincipal: count
    .optional()
    .describe('Child processes of stdio targets for one principal; 64 by default. Over it: 429.'),
  maxMcpCalls: count
    .optional()
    .describe('MCP requests that wait for their response; 10000 by default. Over it: 503.'),
  maxMcpCallsPerPrincipal: count
    .optional()
    .describe('MCP requests of one principal that wait for their response; 2000 by default. Over it: 429.'),
  maxMcpStreams: count
    .optional()
    .describe('MCP event streams that clients opened with GET; 10000 by default. Over it: 503.'),
  maxMcpStreamsPerPrincipal: count
    .optional()
    .describe('MCP event streams of one principal; 1000 by default. Over it: 429.'),
  mcpCallTimeout: duration
    .optional()
    .describe(
      'Time that a call of an MCP server may take without progress, where neither its target nor a timeout policy says it; 15m by default, 0s is no limit.',
    ),
  maxMcpCallTime: positiveDuration
    .optional()
    .describe('Time that a call of an MCP server may take, however much progress it makes; 2h by default.'),
  mcpSessionGrace: duration
    .optional()
    .describe(
      'Time for which an MCP session without stream and call keeps its child, however full a budget is; 1m by default.',
    ),
  maxJsonDepth: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe(
      'Objects and lists within each other in one message of an MCP client; 128 by default. Over it: 400.',
    ),
  maxJsonNodes: count
    .optional()
    .describe('JSON values in one message of an MCP client; 200000 by default. Over it: 413.'),
  maxMcpMessageBytes: positiveSize
    .optional()
    .describe(
      'One MCP message, in either direction; 16MiB by default. frontendPolicies.http.maxBufferSize bounds messages of clients where this is left out.',
    ),
});

const toggle = (what: string): z.ZodOptional<z.ZodBoolean> =>
  z.boolean().optional().describe(`${what}; true by default.`);

const headers = fields({
  xForwardedFor: toggle('Add the address of the client to x-forwarded-for'),
  xForwardedProto: toggle('Set x-forwarded-proto'),
  xForwardedHost: toggle('Set x-forwarded-host'),
  xRequestId: toggle('Send a request id to the backend: the one of the client where it is sane'),
  upstreamServiceTime: toggle('Answer with x-envoy-upstream-service-time, the milliseconds the backend took'),
  server: toggle('Answer with server: portcullis where the backend sent no server header'),
});

const address = (what: string, standard: string): z.ZodOptional<typeof listenAddress> =>
  listenAddress
    .optional()
    .describe(`${what}: ip:port, localhost:port, unix:/path or off; ${standard} by default.`);

/** `config`: settings of the process; read at start, except `limits`, `headers`, `logging.accessLog` and `backend`. */
export const processSchema = fields(
  {
    adminAddr: address('Where the admin interface listens', 'localhost:15000'),
    statsAddr: address('Where /metrics is served', '[::]:15020'),
    readinessAddr: address('Where /healthz/ready is served', '[::]:15021'),
    session: fields({
      key: secret(
        parsed('64 hexadecimal digits, as `openssl rand -hex 32` prints', parseSessionKey).describe(
          'Key that seals session ids. Without it a random key is made at every start.',
        ),
        'sessionKey',
      ),
    })
      .optional()
      .describe('Sealing of session ids.'),
    mcp: fields({
      sessionTtl: positiveDuration
        .optional()
        .describe('Idle time after which an MCP session ends; 30m by default.'),
      resumableFor: duration
        .optional()
        .describe(
          'How long after its beginning an MCP session with a server over the network may be resumed by another process that has the session key; 24h by default, 0s: never.',
        ),
      pins: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Folder that remembers the definitions of tools and prompts, for backends with `pin`; the store where it is left out.',
        ),
    })
      .optional()
      .describe('MCP sessions.'),
    store: store.optional(),
    storage: fields({
      mode: choice(['file', 'readOnly'], ['hybrid'])
        .optional()
        .describe(
          'file: the console and the admin API may write the configuration file. readOnly, the default: they may not.',
        ),
    })
      .optional()
      .describe('Where the console saves the configuration.'),
    audit: audit.optional(),
    tracing: tracing.optional(),
    connectionTerminationDeadline: duration
      .optional()
      .describe('How long a shutdown waits for open connections; 5s by default.'),
    connectionMinTerminationDeadline: duration
      .optional()
      .describe('How long new connections are still accepted after the order to stop; 0s by default.'),
    logging: logging.optional().describe('The log and the access log.'),
    dns: fields(
      {
        lookupFamily: choice(['All', 'Auto', 'V4Preferred', 'V4Only', 'V6Only'])
          .optional()
          .describe(
            'Which addresses of a name are used; V4Preferred, which Auto stands for, by default: those of IPv6 when no other works.',
          ),
      },
      ['edns0'],
    )
      .optional()
      .describe('How names of backends are looked up.'),
    backend: backend.optional().describe('Connections to HTTP backends.'),
    limits: limits.optional().describe('What clients and servers can make grow, and how long they may take.'),
    headers: headers.optional().describe('Headers that the gateway adds by itself.'),
    trustedProxies: z
      .array(network)
      .max(1_024)
      .optional()
      .describe(
        'Addresses and networks of the proxies in front: from them alone X-Forwarded-For, X-Forwarded-Proto, X-Forwarded-Host, Forwarded and the PROXY protocol tell of the client.',
      ),
    workers,
    workerThreads: workers.describe('Another name of workers.'),
  },
  [
    'enableIpv6',
    'localXdsPath',
    'modelCatalog',
    'database',
    'caAddress',
    'caAuthToken',
    'xdsAddress',
    'xdsAuthToken',
    'spiffe',
    'namespace',
    'gateway',
    'trustDomain',
    'additionalTrustDomains',
    'skipValidateTrustDomain',
    'serviceAccount',
    'clusterId',
    'network',
    'standardAttributes',
    'histograms',
    'sensitiveHeaders',
    'customFunctions',
    'metrics',
    'hbone',
  ],
).refine((config) => config.workers === undefined || config.workerThreads === undefined, {
  path: ['workerThreads'],
  error: 'is another name of workers: leave one of them out',
});

/** `frontendPolicies`: what holds for all traffic of clients. */
export const frontendSchema = fields(
  {
    http: fields(
      {
        maxBufferSize: positiveSize
          .optional()
          .describe(
            'A body that has to be held in memory, such as an MCP message; 2MiB by default. Over it: 413.',
          ),
        http1MaxHeaders: z
          .int()
          .min(1)
          .max(10_000)
          .optional()
          .describe('Header lines of a request; 100 by default.'),
        http1IdleTimeout: positiveDuration
          .optional()
          .describe('Time a client connection may stay open without a request; 10m by default.'),
        maxConnectionDuration: positiveDuration
          .optional()
          .describe('Age at which a client connection ends, after the present request; no limit by default.'),
        http2WindowSize: within(1_024, WINDOW_MOST)
          .optional()
          .describe('Bytes of one request body that may be under way; 65535 by default.'),
        http2ConnectionWindowSize: within(65_535, WINDOW_MOST)
          .optional()
          .describe('The same for all bodies of a connection together; 1MiB by default.'),
        http2FrameSize: within(16_384, 16_777_215)
          .optional()
          .describe('Largest frame that clients may send; 16KiB by default.'),
        http2MaxHeaderSize: positiveSize
          .optional()
          .describe(
            'Head of a request over HTTP/2; config.limits.maxHeadBytes by default. Over it: the stream is refused.',
          ),
        http2KeepaliveInterval: positiveDuration
          .optional()
          .describe('Time between two pings to a client of HTTP/2; none are sent by default.'),
        http2KeepaliveTimeout: positiveDuration
          .optional()
          .describe('Time for the answer to a ping; 20s by default. Over it: the connection is closed.'),
      },
      ['http1HeaderCase'],
    )
      .superRefine(({ http2KeepaliveInterval, http2KeepaliveTimeout }, context) => {
        if (http2KeepaliveTimeout !== undefined && http2KeepaliveInterval === undefined)
          context.addIssue({
            code: 'custom',
            path: ['http2KeepaliveTimeout'],
            message: 'belongs to http2KeepaliveInterval, which is missing',
          });
      })
      .optional()
      .describe('Limits of client connections.'),
    tls: fields(
      {
        handshakeTimeout: positiveDuration
          .optional()
          .describe('Beginning of a connection to the end of its TLS handshake; 15s by default.'),
        ...frontendTlsFields,
      },
      ['alpn'],
    )
      .refine(frontendVersionsInOrder, {
        path: ['maxVersion'],
        error: 'is older than the oldest version allowed',
      })
      .refine(frontendHasSuite, frontendSuites)
      .optional()
      .describe('TLS of clients, where a listener says nothing else.'),
    tcp: fields({ keepalives: keepalives.describe('TCP keep-alive towards clients.') })
      .optional()
      .describe('Connections of clients.'),
    accessLog: loggingPolicy
      .optional()
      .describe('Changes to the access log; they go before those of config.logging.'),
    logging: loggingPolicy.optional().describe('Older name of accessLog.'),
    tracing: frontendTracing.optional(),
    proxy: proxyProtocol
      .optional()
      .describe('Every port takes the address of the client from the PROXY protocol.'),
    proxyProtocol: proxyProtocol.optional().describe('The same as proxy.'),
  },
  ['networkAuthorization', 'networkExtAuthz', 'connect'],
).superRefine(({ proxy, proxyProtocol: same, accessLog, logging: sameLog }, context) => {
  if (accessLog !== undefined && sameLog !== undefined)
    context.addIssue({
      code: 'custom',
      path: ['logging'],
      message: 'is the same field as accessLog: keep one of them',
    });
  if (proxy !== undefined && same !== undefined)
    context.addIssue({
      code: 'custom',
      path: ['proxyProtocol'],
      message: 'is the same field as proxy: keep one of them',
    });
});
