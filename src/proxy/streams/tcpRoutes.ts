import type { ErrorCode } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import {
  reachableHostnames,
  type ProcessSettings,
  type TcpBackend,
  type TcpListener,
  type TcpRoute,
} from '../../model/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { rawTargetOf, type Destination } from '../../upstream/index.ts';
import type { BackendTools } from '../forward/backendTools.ts';
import { HostTable } from '../routing/router.ts';
import type { TcpStats } from '../stats/tcpStats.ts';
import { byWeight } from '../routing/weights.ts';

/** The reason why a connection gets no backend. */
export interface NoBackend {
  readonly code: ErrorCode;
  readonly detail: string;
}

/** A route that is ready to take connections. */
export interface CompiledTcpRoute {
  readonly name: string;
  readonly listener: string;
  /** Draws the destination of the next connection. */
  readonly draw: () => Destination | NoBackend;
  /** No connection will ever get a backend: a TLS handshake would be for nothing. */
  readonly closed: boolean;
  readonly stats: TcpStats;
  /** The reason why the route is closed, if it could not be prepared. */
  readonly broken: string | undefined;
}

export interface CompiledTcpListener {
  readonly name: string;
  readonly protocol: 'TLS' | 'TCP';
  /** By the server name of TLS; '' where there is none. */
  readonly routes: HostTable<CompiledTcpRoute>;
}

export interface TcpTools extends Pick<BackendTools, 'endpoints' | 'uses'> {
  readonly log: Logger;
  /** Counters live longer than snapshots: the same key gives the same ones. */
  readonly tcpStats: (bind: string, listener: string, route: string) => TcpStats;
}

/** Makes the routes of a listener ready. One that cannot be is closed, and the others go on. */
export function compileTcp(
  bind: string,
  { name, protocol, hostname, tcpRoutes }: TcpListener,
  settings: ProcessSettings,
  tools: TcpTools,
): { readonly listener: CompiledTcpListener; readonly routes: readonly CompiledTcpRoute[] } {
  const routes = tcpRoutes.map((route) => compileRoute(bind, name, route, settings, tools));
  const byHost = tcpRoutes.flatMap((route, index) =>
    reachableHostnames(hostname, route.hostnames).map(
      (host) => [host, routes[index] as CompiledTcpRoute] as const,
    ),
  );
  return { listener: { name, protocol, routes: new HostTable(byHost) }, routes };
}

function compileRoute(
  bind: string,
  listener: string,
  route: TcpRoute,
  settings: ProcessSettings,
  tools: TcpTools,
): CompiledTcpRoute {
  const { name } = route;
  const base = { name, listener, stats: tools.tcpStats(bind, listener, name), broken: undefined };
  const none: NoBackend = { code: 'no_backend', detail: 'no backend has a weight above 0' };
  try {
    const draw = byWeight(
      route.backends.map((backend) => ({
        weight: backend.weight,
        value:
          backend.kind === 'invalid'
            ? { code: 'no_backend' as const, detail: backend.problem }
            : destinationOf(backend, settings, tools),
      })),
    );
    const closed = route.backends.every(({ kind, weight }) => kind === 'invalid' || weight === 0);
    return { ...base, draw: draw ?? (() => none), closed };
  } catch (error) {
    const problem = messageOf(error);
    tools.log.error('Route closed: it could not be prepared', { listener, route: name, problem });
    const refused: NoBackend = { code: 'route_broken', detail: problem };
    return { ...base, draw: () => refused, closed: true, broken: problem };
  }
}

function destinationOf(
  backend: TcpBackend,
  settings: ProcessSettings,
  { endpoints, uses }: TcpTools,
): Destination {
  const destination = endpoints.use(rawTargetOf(backend), settings.upstream, settings.limits);
  uses.destinations.add(destination);
  return destination;
}
