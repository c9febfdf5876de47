import type { Listener, Model } from '../model/index.ts';
import { bindKey } from '../proxy/index.ts';
import { addUp, countsOf, type MetricsSnapshot } from '../telemetry/index.ts';
import { routeId } from './routeViews.ts';

/** The counts of workers that have ended. Those of a route go with it, as in a worker that serves. */
export class EndedCounts {
  private sum: Promise<MetricsSnapshot> = Promise.resolve([]);

  /** Adds the last metrics of a worker, which may be older than the model in use. */
  add(last: MetricsSnapshot, model: Model): void {
    const before = this.sum;
    this.sum = before.then(async (ended) => ofRoutes(await addUp([ended, countsOf(last)]), model));
  }

  /** Another model is in use. */
  keepRoutesOf(model: Model): void {
    this.sum = this.sum.then((ended) => ofRoutes(ended, model));
  }

  /** The present sum; another promise takes its place with every change. */
  get present(): Promise<MetricsSnapshot> {
    return this.sum;
  }
}

/** The counts without the series of routes that the model does not have. */
function ofRoutes(counts: MetricsSnapshot, { binds }: Model): MetricsSnapshot {
  if (counts.length === 0) return counts;
  const known = new Set(
    binds.flatMap((bind, index) =>
      bind.listeners.flatMap((listener) =>
        routesIn(listener).map(({ name }) => routeId(bindKey(bind, index), listener.name, name)),
      ),
    ),
  );
  // Requests without a route count under an empty name.
  return counts.map((metric) => ({
    ...metric,
    values: metric.values.filter(
      ({ labels: { bind, listener, route = '' } }) =>
        route === '' || known.has(routeId(String(bind), String(listener), String(route))),
    ),
  }));
}

const routesIn = (listener: Listener): readonly { readonly name: string }[] =>
  'routes' in listener ? listener.routes : 'tcpRoutes' in listener ? listener.tcpRoutes : listener.udpRoutes;
