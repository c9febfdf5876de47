import { defaults, type AccessFields, type Limits, type ProcessSettings } from '../../model/index.ts';
import type { Overrides } from '../overrides.ts';
import type { DocumentSettings } from '../schema/document.ts';
import { buildAudit } from './audit.ts';
import { buildKeepAlive } from './keepAlive.ts';
import { buildStore } from './store.ts';
import { buildLogExport } from './logExport.ts';
import { buildTracing } from './tracing.ts';

/** `config` and `frontendPolicies` with what the environment overrides and with defaults for the rest. */
export function buildProcess(document: DocumentSettings, overrides: Overrides): ProcessSettings {
  const config = document.config ?? {};
  const { fixed, headers, upstream } = defaults;
  const logFormat = config.logging?.format ?? fixed.logFormat;
  const accessFields = buildAccessFields(document);
  const tracing = buildTracing(document);
  const logExport = buildLogExport(document, accessFields);
  const sessionKey = overrides.sessionKey ?? config.session?.key;
  return {
    fixed: {
      admin: overrides.admin ?? config.adminAddr ?? fixed.admin,
      stats: overrides.stats ?? config.statsAddr ?? fixed.stats,
      readiness: overrides.readiness ?? config.readinessAddr ?? fixed.readiness,
      logLevel: config.logging?.level ?? fixed.logLevel,
      logFormat,
      workers: overrides.workers ?? config.workers ?? config.workerThreads ?? fixed.workers,
      ...(sessionKey === undefined ? {} : { sessionKey }),
      ...(config.mcp?.pins !== undefined && { pins: config.mcp.pins }),
      ...(config.store && { store: buildStore(config.store) }),
      ...(config.audit && { audit: buildAudit(config.audit) }),
      ...(tracing && { tracing }),
      ...(logExport && { logExport }),
      sessionTtlMs: config.mcp?.sessionTtl ?? fixed.sessionTtlMs,
      sessionResumableMs: config.mcp?.resumableFor ?? fixed.sessionResumableMs,
      terminationDeadlineMs:
        overrides.terminationDeadlineMs ??
        config.connectionTerminationDeadline ??
        overrides.deadlineOfPlatformMs ??
        fixed.terminationDeadlineMs,
      minTerminationDeadlineMs:
        overrides.minTerminationDeadlineMs ??
        config.connectionMinTerminationDeadline ??
        fixed.minTerminationDeadlineMs,
    },
    limits: buildLimits(document),
    headers: {
      forwardedFor: config.headers?.xForwardedFor ?? headers.forwardedFor,
      forwardedProto: config.headers?.xForwardedProto ?? headers.forwardedProto,
      forwardedHost: config.headers?.xForwardedHost ?? headers.forwardedHost,
      requestId: config.headers?.xRequestId ?? headers.requestId,
      upstreamServiceTime: config.headers?.upstreamServiceTime ?? headers.upstreamServiceTime,
      server: config.headers?.server ?? headers.server,
    },
    ...(config.trustedProxies === undefined ? {} : { trustedProxies: config.trustedProxies }),
    ...(config.storage?.mode === 'file' && { consoleWrites: true as const }),
    accessLog: config.logging?.accessLog ?? logFormat,
    ...(accessFields && { accessFields }),
    upstream: {
      connectTimeoutMs: config.backend?.connectTimeout ?? upstream.connectTimeoutMs,
      poolIdleTimeoutMs: config.backend?.poolIdleTimeout ?? upstream.poolIdleTimeoutMs,
      poolMaxSize: config.backend?.poolMaxSize ?? upstream.poolMaxSize,
      keepAlive: buildKeepAlive(config.backend?.keepalives),
      lookupFamily:
        config.dns?.lookupFamily === undefined || config.dns.lookupFamily === 'Auto'
          ? upstream.lookupFamily
          : config.dns.lookupFamily,
      ...(overrides.zone === undefined ? {} : { zone: overrides.zone }),
    },
  };
}

/** Fields of `frontendPolicies` replace those of `config`. */
function buildAccessFields({ config, frontendPolicies }: DocumentSettings): AccessFields | undefined {
  const own = config?.logging;
  const policy = frontendPolicies?.accessLog ?? frontendPolicies?.logging;
  const filter = policy?.filter ?? own?.filter;
  const add = { ...own?.fields?.add, ...policy?.add };
  const remove = [...new Set([...(own?.fields?.remove ?? []), ...(policy?.remove ?? [])])];
  const fields = {
    ...(filter !== undefined && { filter }),
    ...(Object.keys(add).length > 0 && { add }),
    ...(remove.length > 0 && { remove }),
  };
  return Object.keys(fields).length === 0 ? undefined : fields;
}

function buildLimits(document: DocumentSettings): Limits {
  const given = document.config?.limits;
  const http = document.frontendPolicies?.http;
  const { limits } = defaults;
  return {
    maxHeadBytes: given?.maxHeadBytes ?? limits.maxHeadBytes,
    maxHeaders: http?.http1MaxHeaders ?? limits.maxHeaders,
    maxUriBytes: given?.maxUriBytes ?? limits.maxUriBytes,
    maxMethodBytes: given?.maxMethodBytes ?? limits.maxMethodBytes,
    maxHeaderNameBytes: given?.maxHeaderNameBytes ?? limits.maxHeaderNameBytes,
    maxBodyBytes: given?.maxBodyBytes ?? limits.maxBodyBytes,
    maxBufferBytes: http?.maxBufferSize ?? limits.maxBufferBytes,
    firstRequestTimeoutMs: given?.firstRequestTimeout ?? limits.firstRequestTimeoutMs,
    headTimeoutMs: given?.headTimeout ?? limits.headTimeoutMs,
    handshakeTimeoutMs: document.frontendPolicies?.tls?.handshakeTimeout ?? limits.handshakeTimeoutMs,
    bodyTimeoutMs: given?.bodyTimeout ?? limits.bodyTimeoutMs,
    responseTimeoutMs: given?.responseTimeout ?? limits.responseTimeoutMs,
    idleTimeoutMs: http?.http1IdleTimeout ?? limits.idleTimeoutMs,
    tunnelIdleTimeoutMs: given?.tunnelIdleTimeout ?? limits.tunnelIdleTimeoutMs,
    tunnelHalfClosedTimeoutMs: given?.tunnelHalfClosedTimeout ?? limits.tunnelHalfClosedTimeoutMs,
    clientKeepAlive: buildKeepAlive(document.frontendPolicies?.tcp?.keepalives),
    udpIdleTimeoutMs: given?.udpIdleTimeout ?? limits.udpIdleTimeoutMs,
    maxUnreadBytes: given?.maxUnreadBytes ?? limits.maxUnreadBytes,
    maxUnreadBytesPerConnection: given?.maxUnreadBytesPerConnection ?? limits.maxUnreadBytesPerConnection,
    maxUdpFlows: given?.maxUdpFlows ?? limits.maxUdpFlows,
    maxConnections: given?.maxConnections ?? limits.maxConnections,
    maxRequests: given?.maxRequests ?? limits.maxRequests,
    maxRequestsPerConnection: given?.maxRequestsPerConnection ?? limits.maxRequestsPerConnection,
    maxConnectionAgeMs: http?.maxConnectionDuration ?? limits.maxConnectionAgeMs,
    minBodyRate: given?.minBodyRate ?? limits.minBodyRate,
    minBodyRateWindowMs: given?.minBodyRateWindow ?? limits.minBodyRateWindowMs,
    http2: {
      maxStreams: given?.maxHttp2Streams ?? limits.http2.maxStreams,
      streamWindow: http?.http2WindowSize ?? limits.http2.streamWindow,
      connectionWindow: http?.http2ConnectionWindowSize ?? limits.http2.connectionWindow,
      frameSize: http?.http2FrameSize ?? limits.http2.frameSize,
      ...(http?.http2MaxHeaderSize === undefined ? {} : { maxHeadBytes: http.http2MaxHeaderSize }),
      keepaliveIntervalMs: http?.http2KeepaliveInterval ?? limits.http2.keepaliveIntervalMs,
      keepaliveTimeoutMs: http?.http2KeepaliveTimeout ?? limits.http2.keepaliveTimeoutMs,
    },
    overload: {
      closeLagMs: given?.overload?.closeLag ?? limits.overload.closeLagMs,
      shedLagMs: given?.overload?.shedLag ?? limits.overload.shedLagMs,
      closeMemory: given?.overload?.closeMemory ?? limits.overload.closeMemory,
      shedMemory: given?.overload?.shedMemory ?? limits.overload.shedMemory,
    },
    maxMcpSessions: given?.maxMcpSessions ?? limits.maxMcpSessions,
    maxMcpSessionsPerPrincipal: given?.maxMcpSessionsPerPrincipal ?? limits.maxMcpSessionsPerPrincipal,
    maxChildren: given?.maxChildren ?? limits.maxChildren,
    maxChildrenPerPrincipal: given?.maxChildrenPerPrincipal ?? limits.maxChildrenPerPrincipal,
    maxMcpCalls: given?.maxMcpCalls ?? limits.maxMcpCalls,
    maxMcpCallsPerPrincipal: given?.maxMcpCallsPerPrincipal ?? limits.maxMcpCallsPerPrincipal,
    maxMcpStreams: given?.maxMcpStreams ?? limits.maxMcpStreams,
    maxMcpStreamsPerPrincipal: given?.maxMcpStreamsPerPrincipal ?? limits.maxMcpStreamsPerPrincipal,
    mcpSessionGraceMs: given?.mcpSessionGrace ?? limits.mcpSessionGraceMs,
    mcpCallTimeoutMs: given?.mcpCallTimeout ?? limits.mcpCallTimeoutMs,
    maxMcpCallTimeMs: given?.maxMcpCallTime ?? limits.maxMcpCallTimeMs,
    maxMcpMessageBytes:
      given?.maxMcpMessageBytes ?? Math.max(http?.maxBufferSize ?? 0, limits.maxMcpMessageBytes),
    // In the format, this bounds what clients send to MCP servers.
    maxMcpRequestBytes: given?.maxMcpMessageBytes ?? http?.maxBufferSize ?? limits.maxMcpRequestBytes,
    maxJsonDepth: given?.maxJsonDepth ?? limits.maxJsonDepth,
    maxJsonNodes: given?.maxJsonNodes ?? limits.maxJsonNodes,
  };
}
