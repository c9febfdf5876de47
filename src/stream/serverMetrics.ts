import type { Metrics } from '../telemetry/index.ts';

/** A connected proxy, as far as the metrics count it. */
interface CountedProxy {
  /** The proxy runs the newest model of its Gateway. */
  readonly current: boolean;
  /** The reasons why the proxy refused its last model. */
  readonly problems: readonly unknown[];
}

export interface ServerMetrics {
  accepted(): void;
  refused(result: string): void;
  sent(lines: number, bytes: number): void;
  answered(result: 'taken' | 'refused'): void;
}

/** Exposes the controller's metrics of its proxies. */
export function serverMetrics(metrics: Metrics, proxies: () => readonly CountedProxy[]): ServerMetrics {
  const streams = metrics.counter('stream_requests_total', 'Streams that proxies asked for', ['result']);
  const updates = metrics.counter('stream_updates_sent_total', 'Models and changes of models sent', []);
  const lines = metrics.counter('stream_lines_sent_total', 'Parts of models and lists of addresses sent', []);
  const bytes = metrics.counter('stream_sent_bytes_total', 'Bytes of them', []);
  const answers = metrics.counter('stream_answers_total', 'What proxies made of what they were sent', [
    'result',
  ]);
  metrics.collect(
    'stream_proxies',
    'Proxies that are connected, by whether they run the newest model of their Gateway',
    'gauge',
    ['state'],
    () => {
      const all = proxies();
      const current = all.filter((proxy) => proxy.current).length;
      const refused = all.filter(({ problems }) => problems.length > 0).length;
      return [
        { labels: { state: 'current' }, value: current },
        { labels: { state: 'refused' }, value: refused },
        { labels: { state: 'behind' }, value: all.length - current - refused },
      ];
    },
  );
  return {
    accepted: () => streams.add({ result: 'accepted' }),
    refused: (result) => streams.add({ result }),
    sent: (count, length) => {
      updates.add({});
      lines.add({}, count);
      bytes.add({}, length);
    },
    answered: (result) => answers.add({ result }),
  };
}
