import type { TcpBackend, TcpRoute, UdpBackend, UdpRoute } from '../../model/index.ts';
import type { Path } from '../path.ts';
import type { BackendPolicySettings, RawBackendPolicySettings } from '../schema/backendPolicies.ts';
import type {
  TcpBackendSettings,
  TcpRouteSettings,
  UdpBackendSettings,
  UdpRouteSettings,
} from '../schema/rawRoute.ts';
import type { Surroundings } from './surroundings.ts';
import { buildAddress, buildTarget } from './target.ts';

/** @param owner Identity of what the route stands in; with the name of the route it makes the keys of its backends. */
export function buildTcpRoute(
  settings: TcpRouteSettings,
  name: string,
  owner: string,
  path: Path,
  around: Surroundings,
): TcpRoute {
  return {
    name,
    hostnames: [...new Set(settings.hostnames)],
    backends: (settings.backends ?? []).map((backend, index) =>
      buildTcpBackend(
        backend,
        `${owner}/${name}/backend${index}`,
        [...path, 'backends', index],
        around,
        settings.policies ?? {},
      ),
    ),
    place: around.place(path),
  };
}

function buildTcpBackend(
  settings: TcpBackendSettings,
  key: string,
  path: Path,
  around: Surroundings,
  ofRoute: RawBackendPolicySettings,
): TcpBackend {
  const reference = settings.backend;
  const found = reference === undefined ? settings : around.named.get(reference);
  if (found?.host === undefined) throw new Error('a backend without a host passed the checks');
  // The setting closest to the backend wins. What a named one says of HTTP is about its other routes.
  const named: BackendPolicySettings = reference === undefined ? {} : (found.policies ?? {});
  const { backendTLS, tcp, health, connections } = { ...ofRoute, ...named, ...settings.policies };
  return {
    kind: 'tcp',
    weight: settings.weight ?? 1,
    key: reference === undefined ? key : `backend/${reference}`,
    place: around.place(path),
    ...buildTarget(found.host, found.addresses, { backendTLS, tcp, health, connections }),
  };
}

export function buildUdpRoute(
  settings: UdpRouteSettings,
  name: string,
  owner: string,
  path: Path,
  around: Surroundings,
): UdpRoute {
  return {
    name,
    backends: (settings.backends ?? []).map((backend, index) =>
      buildUdpBackend(backend, `${owner}/${name}/backend${index}`, [...path, 'backends', index], around),
    ),
    place: around.place(path),
  };
}

function buildUdpBackend(
  { host, addresses, weight = 1 }: UdpBackendSettings,
  key: string,
  path: Path,
  around: Surroundings,
): UdpBackend {
  if (host === undefined) throw new Error('a backend without a host passed the checks');
  return {
    kind: 'udp',
    weight,
    key,
    place: around.place(path),
    host: host.host,
    port: host.port,
    ...(addresses === undefined ? {} : { addresses: addresses.map(buildAddress) }),
  };
}
