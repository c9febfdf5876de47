import type { Metrics } from '../telemetry/index.ts';
import type { WorkerView } from './contract.ts';

/** Exposes the metrics of the serving processes that need no answer from them. */
export function exposeWorkers(
  metrics: Metrics,
  serving: () => number,
  workers: () => readonly WorkerView[],
): void {
  metrics.collect('workers', 'Processes that serve.', 'gauge', [], () => [{ labels: {}, value: serving() }]);
  metrics.collect('worker_restarts_total', 'Workers that were replaced.', 'counter', ['worker'], () =>
    workers().map(({ worker, restarts }) => ({ labels: { worker: String(worker) }, value: restarts })),
  );
}
