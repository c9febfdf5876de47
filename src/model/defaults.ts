import type {
  FixedSettings,
  HeaderSettings,
  Limits,
  ProcessSettings,
  TcpKeepAlive,
  UpstreamSettings,
} from './model.ts';

const minutes = 60_000;

const fixed: FixedSettings = {
  admin: { kind: 'tcp', host: '127.0.0.1', port: 15000 },
  stats: { kind: 'tcp', host: '::', port: 15020 },
  readiness: { kind: 'tcp', host: '::', port: 15021 },
  logLevel: 'info',
  logFormat: 'text',
  workers: 1,
  sessionTtlMs: 30 * minutes,
  sessionResumableMs: 24 * 60 * minutes,
  terminationDeadlineMs: 5_000,
  minTerminationDeadlineMs: 0,
};

const keepAlive: TcpKeepAlive = { enabled: true, timeMs: 180_000, intervalMs: 180_000, retries: 9 };

const limits: Limits = {
  maxHeadBytes: 65_536,
  maxHeaders: 100,
  maxUriBytes: 16_384,
  maxMethodBytes: 32,
  maxHeaderNameBytes: 256,
  maxBodyBytes: 0,
  maxBufferBytes: 2_097_152,
  firstRequestTimeoutMs: 10_000,
  headTimeoutMs: 10_000,
  handshakeTimeoutMs: 15_000,
  bodyTimeoutMs: 60_000,
  responseTimeoutMs: 5 * minutes,
  idleTimeoutMs: 10 * minutes,
  tunnelIdleTimeoutMs: 60 * minutes,
  tunnelHalfClosedTimeoutMs: 5 * minutes,
  clientKeepAlive: keepAlive,
  udpIdleTimeoutMs: minutes,
  maxUnreadBytes: 0,
  maxUnreadBytesPerConnection: 8_388_608,
  maxUdpFlows: 10_000,
  maxConnections: 50_000,
  maxRequests: 50_000,
  maxRequestsPerConnection: 0,
  maxConnectionAgeMs: 0,
  minBodyRate: 100,
  minBodyRateWindowMs: 30_000,
  http2: {
    maxStreams: 100,
    streamWindow: 65_535,
    connectionWindow: 1_048_576,
    frameSize: 16_384,
    keepaliveIntervalMs: 0,
    keepaliveTimeoutMs: 20_000,
  },
  overload: { closeLagMs: 500, shedLagMs: 1_000, closeMemory: 0.9, shedMemory: 0.95 },
  maxMcpSessions: 10_000,
  maxMcpSessionsPerPrincipal: 1_000,
  maxChildren: 256,
  maxChildrenPerPrincipal: 64,
  maxMcpCalls: 10_000,
  maxMcpCallsPerPrincipal: 2_000,
  maxMcpStreams: 10_000,
  maxMcpStreamsPerPrincipal: 1_000,
  mcpSessionGraceMs: minutes,
  mcpCallTimeoutMs: 15 * minutes,
  maxMcpCallTimeMs: 120 * minutes,
  maxMcpMessageBytes: 16_777_216,
  maxMcpRequestBytes: 16_777_216,
  maxJsonDepth: 128,
  maxJsonNodes: 200_000,
};

const headers: HeaderSettings = {
  forwardedFor: true,
  forwardedProto: true,
  forwardedHost: true,
  requestId: true,
  upstreamServiceTime: true,
  server: true,
};

const upstream: UpstreamSettings = {
  connectTimeoutMs: 10_000,
  poolIdleTimeoutMs: 90_000,
  poolMaxSize: 1_024,
  keepAlive,
  lookupFamily: 'V4Preferred',
};

/** The settings that apply unless the configuration says otherwise. */
export const defaults: ProcessSettings = { fixed, limits, headers, accessLog: 'text', upstream };
