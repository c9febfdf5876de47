import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Bind, Model } from '../model/index.ts';

/** So many routes are compared in a few milliseconds. */
const routesPerTurn = 256;

/** Compares two models over many turns of the event loop, so that requests are served meanwhile. */
export async function sameModel(a: Model, b: Model): Promise<boolean> {
  if (!isDeepStrictEqual(withoutRoutes(a), withoutRoutes(b))) return false;
  const [of, others] = [routesOf(a), routesOf(b)];
  if (of.length !== others.length) return false;
  for (let at = 0; at < of.length; at += routesPerTurn) {
    const end = at + routesPerTurn;
    if (!isDeepStrictEqual(of.slice(at, end), others.slice(at, end))) return false;
    if (end < of.length) await nextTurn();
  }
  return true;
}

type Listener = Bind['listeners'][number];

const routesIn = (listener: Listener): readonly unknown[] => ('routes' in listener ? listener.routes : []);

const routesOf = ({ binds }: Model): readonly unknown[] =>
  binds.flatMap(({ listeners }) => listeners.flatMap(routesIn));

/** The number of routes stays, so that a route cannot move to the next listener unseen. */
const withoutRoutes = ({ binds, ...rest }: Model): unknown => ({
  ...rest,
  binds: binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) =>
      'routes' in listener ? { ...listener, routes: listener.routes.length } : listener,
    ),
  })),
});
