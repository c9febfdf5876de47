import { portionsOf, withRoutes, type Model, type ModelFrame, type Route } from '../model/index.ts';
import type { Link } from './link.ts';
import type { RoutesPortion, ToWorker } from './workerMessages.ts';

/** A model that was taken apart. */
interface Parts {
  readonly frame: ModelFrame;
  readonly routes: readonly Route[];
}

/**
 * Sends the routes of a model ahead of it, in portions. Each portion waits for the answer to the portion before it, so
 * that both processes have turns of their event loops for other work.
 *
 * @returns the frame, which the next question to the worker brings
 * @throws LinkClosed when the worker goes away, Error when the worker refuses a portion
 */
export async function sendRoutes(
  link: Pick<Link<ToWorker, object>, 'ask'>,
  { frame, routes }: Parts,
): Promise<ModelFrame> {
  let first = 0;
  for (const portion of portionsOf(routes)) {
    await link.ask('routes', { first, routes: portion });
    first += portion.length;
  }
  return frame;
}

/** The other end: a model of which portions arrive. */
export class IncomingModel {
  private routes: Route[] = [];

  /**
   * The first portion of a model takes the place of everything before it.
   * @throws Error where a portion is missing; nothing is left of the model then
   */
  add({ first, routes }: RoutesPortion): void {
    if (first === 0) this.forget();
    const expected = this.routes.length;
    if (first !== expected) {
      this.forget();
      throw new Error(`a portion of a model begins with route ${first} where route ${expected} was expected`);
    }
    this.routes.push(...routes);
  }

  /**
   * Every portion has arrived. Nothing is kept of the model in here.
   * @throws Error where a route is missing
   */
  whole(frame: ModelFrame): Model {
    const { routes } = this;
    this.forget();
    return withRoutes(frame, routes);
  }

  /** The rest of the model does not come. */
  forget(): void {
    this.routes = [];
  }
}
