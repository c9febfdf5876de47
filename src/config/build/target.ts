import { isIP } from 'node:net';
import type { HttpBackend } from '../../model/index.ts';
import type { BackendAddressSettings, BackendPolicySettings } from '../schema/backendPolicies.ts';
import { buildTls, type HostAndPort } from '../../schema/index.ts';
import { buildKeepAlive } from './keepAlive.ts';

type Target = Omit<HttpBackend, 'kind' | 'weight' | 'key' | 'place'>;

/** The destination of an HTTP backend's requests, and their settings. */
export function buildTarget(
  { host, port, https = false }: HostAndPort,
  addresses: BackendAddressSettings | undefined,
  { backendTLS, health, connections, tcp, http, sessionAffinity }: BackendPolicySettings,
): Target {
  const tls = backendTLS ?? (https ? {} : undefined);
  return {
    host,
    port,
    ...(addresses === undefined ? {} : { addresses: addresses.map(buildAddress) }),
    ...(tls === undefined ? {} : { tls: buildTls(tls) }),
    ...(http?.version === 'HTTP/2.0' ? { http2: true } : {}),
    ...(http?.requestTimeout === undefined ? {} : { requestTimeoutMs: http.requestTimeout }),
    ...(health === undefined ? {} : buildHealth(health)),
    ...(connections === undefined ? {} : { connections: buildConnections(connections) }),
    ...(tcp === undefined ? {} : { tcp: buildTcp(tcp) }),
    ...(sessionAffinity === undefined ? {} : { affinity: sessionAffinity }),
  };
}

/** A backend that is named by host name is asked by that name, as the format has it; one with an address has none. */
export const ownHostOf = ({ host }: HostAndPort): Pick<HttpBackend, 'ownHost'> =>
  isIP(host) === 0 ? { ownHost: true } : {};

export function buildAddress(
  given: BackendAddressSettings[number],
): NonNullable<Target['addresses']>[number] {
  if (!('address' in given)) return { host: given.host, port: given.port };
  const { host, port } = given.address;
  return { host, port, ...(given.zone === undefined ? {} : { zone: given.zone }) };
}

/** A `health` that says nothing of eviction and asks for no checks still means something: the usual eviction. */
function buildHealth({
  eviction,
  check,
}: NonNullable<BackendPolicySettings['health']>): Pick<Target, 'eviction' | 'check'> {
  const evicts = eviction ?? (check === undefined ? {} : undefined);
  return {
    ...(evicts === undefined
      ? {}
      : {
          eviction: {
            consecutiveFailures: evicts.consecutiveFailures ?? 5,
            durationMs: evicts.duration ?? 30_000,
            maxEjectedPercent: evicts.maxEjectedPercent ?? 50,
          },
        }),
    ...(check === undefined
      ? {}
      : {
          check: {
            path: check.path,
            ...(check.host === undefined ? {} : { host: check.host }),
            intervalMs: check.interval ?? 10_000,
            timeoutMs: check.timeout ?? 2_000,
            unhealthyThreshold: check.unhealthyThreshold ?? 3,
            healthyThreshold: check.healthyThreshold ?? 2,
            statuses: check.statuses ?? [{ from: 200, to: 399 }],
          },
        }),
  };
}

function buildConnections(
  given: NonNullable<BackendPolicySettings['connections']>,
): NonNullable<Target['connections']> {
  const { maxConnections, maxPendingRequests = 1_024, maxRequestsPerConnection } = given;
  return {
    ...(maxConnections === undefined ? {} : { maxConnections }),
    maxPendingRequests,
    ...(maxRequestsPerConnection === undefined ? {} : { maxRequestsPerConnection }),
  };
}

function buildTcp({
  connectTimeout,
  keepalives,
}: NonNullable<BackendPolicySettings['tcp']>): NonNullable<Target['tcp']> {
  return {
    ...(connectTimeout === undefined ? {} : { connectTimeoutMs: connectTimeout }),
    ...(keepalives === undefined ? {} : { keepAlive: buildKeepAlive(keepalives) }),
  };
}
