import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ConfigChanges } from '../admin/index.ts';
import type { Listener, Model, Route, TcpRoute, UdpRoute } from '../model/index.ts';
import { bindKey, routeId, type PlaneView } from '../workers/index.ts';

/** So many routes are compared in a few milliseconds. */
const routesPerTurn = 256;

type AnyRoute = Route | TcpRoute | UdpRoute;
type AnyBackend = AnyRoute['backends'][number];

/** A route with everything above it that decides about its requests. */
interface Placed {
  readonly route: AnyRoute;
  readonly listener: unknown;
}

/**
 * Tells what another model changes for clients and servers. It compares over many turns of the event loop, so that
 * requests are served meanwhile.
 * @param mcp the sessions that are open now
 */
export async function configChanges(now: Model, next: Model, mcp: PlaneView['mcp']): Promise<ConfigChanges> {
  const [before, after] = [routesOf(now), routesOf(next)];
  const changed: string[] = [];
  let compared = 0;
  for (const [id, { route, listener }] of after) {
    const old = before.get(id);
    if (++compared % routesPerTurn === 0) await nextTurn();
    if (old === undefined) continue;
    if (
      !isDeepStrictEqual(old.listener, listener) ||
      !isDeepStrictEqual(placeless(old.route), placeless(route))
    )
      changed.push(id);
  }
  return {
    routes: {
      added: [...after.keys()].filter((id) => !before.has(id)),
      removed: [...before.keys()].filter((id) => !after.has(id)),
      changed,
    },
    ...endings(next, mcp),
    needsRestart: !isDeepStrictEqual(now.process.fixed, next.process.fixed),
  };
}

function routesOf({ binds }: Model): ReadonlyMap<string, Placed> {
  const found = new Map<string, Placed>();
  for (const [index, bind] of binds.entries())
    for (const listener of bind.listeners) {
      const above = [{ ...bind, listeners: [] }, placeless(withoutRoutes(listener))];
      const key = bindKey(bind, index);
      for (const route of routesIn(listener))
        found.set(routeId(key, listener.name, route.name), { route, listener: above });
    }
  return found;
}

const routesIn = (listener: Listener): readonly AnyRoute[] =>
  'routes' in listener ? listener.routes : 'tcpRoutes' in listener ? listener.tcpRoutes : listener.udpRoutes;

const withoutRoutes = (listener: Listener): object =>
  Object.fromEntries(
    Object.entries(listener).filter(([name]) => !/^(?:routes|tcpRoutes|udpRoutes)$/.test(name)),
  );

/** A line that moves changes no route. */
const placeless = (value: object): unknown =>
  JSON.parse(JSON.stringify(value, (name, member: unknown) => (name === 'place' ? undefined : member)));

/** Sessions and children that end, because the configuration has their backend or target no more. */
function endings(
  next: Model,
  { sessions }: PlaneView['mcp'],
): Pick<ConfigChanges, 'sessionsEnded' | 'childrenStopped'> {
  const targets = new Map<string, ReadonlySet<string>>();
  for (const { listeners } of next.binds)
    for (const listener of listeners)
      for (const backend of routesIn(listener).flatMap((route): readonly AnyBackend[] => route.backends))
        if (backend.kind === 'mcp')
          targets.set(backend.key, new Set(backend.targets.map(({ name }) => name)));
  const stopped = new Set<number>();
  for (const session of sessions)
    for (const { name, pid } of session.targets)
      if (pid !== undefined && targets.get(session.backend)?.has(name) !== true) stopped.add(pid);
  return {
    sessionsEnded: sessions.filter(({ backend }) => !targets.has(backend)).length,
    childrenStopped: stopped.size,
  };
}
