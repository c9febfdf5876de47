import type { BackendTls, HttpBackend } from '../../../model/index.ts';
import type { BackendPolicySettings } from '../schema/backendPolicies.ts';
import type { BackendTlsSettings } from '../schema/backendTls.ts';
import type { HostAndPort } from '../schema/scalars.ts';

/** Where the requests of an HTTP backend go, and how. */
export function buildTarget(
  { host, port, https = false }: HostAndPort,
  { backendTLS }: BackendPolicySettings,
): Omit<HttpBackend, 'kind' | 'weight' | 'key' | 'place'> {
  const tls = backendTLS ?? (https ? {} : undefined);
  return { host, port, ...(tls === undefined ? {} : { tls: buildTls(tls) }) };
}

function buildTls(settings: BackendTlsSettings): BackendTls {
  const { hostname, root, cert, key, keyExchangeGroups } = settings;
  return {
    ...(hostname === undefined ? {} : { hostname }),
    ...(root === undefined ? {} : { root }),
    ...(cert === undefined || key === undefined ? {} : { client: { cert, key } }),
    insecure: settings.insecure ?? false,
    insecureHost: settings.insecureHost ?? false,
    subjectAltNames: settings.subjectAltNames ?? [],
    ...(keyExchangeGroups === undefined ? {} : { groups: keyExchangeGroups }),
  };
}
