import type { Bind, HttpListener, Listener, Model, Route } from './model.ts';

/** The routes that a turn of the event loop takes over, in a few milliseconds. */
const routesPerPortion = 256;

/** A listener that names its routes by their numbers. */
type NumberedListener = Omit<HttpListener, 'routes'> & { readonly routes: readonly number[] };

/** A model without its HTTP routes, which travel apart from it. */
export interface ModelFrame extends Omit<Model, 'binds'> {
  readonly binds: readonly (Omit<Bind, 'listeners'> & {
    readonly listeners: readonly (Exclude<Listener, HttpListener> | NumberedListener)[];
  })[];
}

/** Takes a model apart, so that it can travel in portions. Numbers count the routes from 0; a shared route has one. */
export function withoutRoutes(model: Model): {
  readonly frame: ModelFrame;
  readonly routes: readonly Route[];
} {
  const numbers = new Map<Route, number>();
  const numberOf = (route: Route): number => {
    const number = numbers.get(route) ?? numbers.size;
    numbers.set(route, number);
    return number;
  };
  const binds = model.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) =>
      'routes' in listener ? { ...listener, routes: listener.routes.map(numberOf) } : listener,
    ),
  }));
  return { frame: { ...model, binds }, routes: [...numbers.keys()] };
}

/**
 * Undoes `withoutRoutes`. A route of several listeners stays one object.
 * @throws Error where a route is missing
 */
export function withRoutes(frame: ModelFrame, routes: readonly Route[]): Model {
  const routeOf = (number: number): Route => {
    const route = routes[number];
    if (route === undefined) throw new Error(`route ${number} of the model is missing`);
    return route;
  };
  const binds = frame.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) =>
      'routes' in listener ? { ...listener, routes: listener.routes.map(routeOf) } : listener,
    ),
  }));
  return { ...frame, binds };
}

/** Routes in portions, each small enough for one turn of the event loop. */
export function* portionsOf(routes: readonly Route[]): Generator<readonly Route[]> {
  for (let at = 0; at < routes.length; at += routesPerPortion) yield routes.slice(at, at + routesPerPortion);
}
