import { heading, line, show } from '../../../bench/report/cells.ts';
import { describeMachine } from '../../../bench/machine.ts';
import { spread } from '../../../bench/statistics.ts';
import type { ChangeTimes } from './changes.ts';
import { totals, type Shape } from './shape.ts';
import type { Start } from './start.ts';

export interface Measured {
  readonly shape: Shape;
  /** The versions of the controller and of Kubernetes. */
  readonly versions: string;
  readonly loadBefore: number;
  readonly minutes: number;
  /** The first, when no status was there and nothing was made. */
  readonly first: Start;
  readonly later: readonly Start[];
  /** A list for each round. */
  readonly rounds: readonly (readonly ChangeTimes[])[];
  /** Largest resident memory of each process of the controller, in bytes. */
  readonly peaks: readonly number[];
  readonly perChange: { readonly requests: number; readonly lists: number };
  readonly translationMs: { readonly whole: number; readonly part: number };
  readonly cpuMsPerChange: number;
  readonly asked: number;
  readonly failed: number;
}

/** The limits that issue 5 sets for the controller: the names of rows of the first table, and their limits. */
const limits = { startMs: 30_000, p99Ms: 1_000, peakBytes: 500 * 1_048_576 };

/** The value below which 99 of 100 are. */
function p99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.NaN;
}

const whole = ({ ready, served, written }: Start): number => Math.max(ready, served, written);
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
const milliseconds = (ms: number): string => `${ms.toFixed(0)} ms`;
const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(0)} MiB`;

/** Changes of one name in all rounds. */
function gathered(rounds: Measured['rounds']): { name: string; rounds: readonly ChangeTimes[] }[] {
  const names = [...new Set(rounds.flatMap((round) => round.map(({ name }) => name)))];
  return names.map((name) => ({
    name,
    rounds: rounds.flatMap((round) => round.filter((times) => times.name === name)),
  }));
}

/** The section of RESULTS.md, without its title. */
export function scaleReport(measured: Measured): string[] {
  const { shape, versions, first, later, rounds, peaks, perChange, translationMs, cpuMsPerChange } = measured;
  const { listeners, routes, endpoints } = totals(shape);
  const number = (value: number): string => value.toLocaleString('en').replaceAll(',', ' ');
  const all = gathered(rounds);
  const worst = Math.max(...all.map((one) => p99(one.rounds.flatMap(({ toTraffic }) => toTraffic))));
  const verdict = (holds: boolean): string => (holds ? 'met' : 'missed');
  const peak = Math.max(...peaks);
  const starts = [first, ...later];
  return [
    `Written by \`npm run scale:kube\`: ${number(shape.gateways)} Gateways with ${number(listeners)} listeners (half of them HTTPS), ${number(routes)} HTTPRoutes, ${number(shape.services)} Services with ${number(endpoints)} endpoints, ${number(shape.policies)} GatewayPolicies (for routes, Services, McpBackends and Gateways) and ${number(shape.mcpBackends)} McpBackends, on a real API server. \`portcullis controller\` runs as the chart starts it, with the heap that it may have in the 512 MiB of its container; a \`portcullis proxy\` serves one of the Gateways, and a client of the stream stands for the proxies of each of the others.`,
    '',
    `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${measured.minutes.toFixed(0)} minutes`,
    `- Machine: ${describeMachine()}; API server, store, controller, proxy, client and backends share it`,
    `- Others on it: load average before the run ${measured.loadBefore.toFixed(1)}`,
    `- Versions: ${versions}`,
    '',
    ...heading(['figure', 'at most', 'measured', 'verdict']),
    ...[
      ['full start, the longest', later] as const,
      ['the very first start, with every status to write and every proxy to make', [first]] as const,
    ].map(([name, some]) => {
      const longest = Math.max(...some.map(whole));
      return line([name, seconds(limits.startMs), seconds(longest), verdict(longest <= limits.startMs)]);
    }),
    line([
      'from a change to traffic that obeys it, p99 of the worst kind of change',
      milliseconds(limits.p99Ms),
      milliseconds(worst),
      verdict(worst <= limits.p99Ms),
    ]),
    line([
      'resident memory of the controller at its peak',
      mebibytes(limits.peakBytes),
      mebibytes(peak),
      verdict(peak <= limits.peakBytes),
    ]),
    line([
      'requests that failed while configurations changed',
      '0',
      `${number(measured.failed)} of ${number(measured.asked)}`,
      verdict(measured.failed === 0),
    ]),
    '',
    'From the start of the process; "served" is when each Gateway has had its model sent to a proxy that had nothing, "written" the last status or object of a proxy.',
    '',
    ...heading([
      'start',
      'ready',
      'served',
      'written',
      'statuses written',
      'objects of proxies',
      'requests to the API server',
      'lists',
      'translations of everything',
      'CPU',
    ]),
    ...starts.map((start, index) =>
      line([
        index === 0 ? 'the first: no status is there, nothing is made' : `again, ${String(index)}`,
        seconds(start.ready),
        seconds(start.served),
        seconds(start.written),
        ...[start.statusWrites, start.provisionWrites, start.requests, start.lists, start.translations].map(
          number,
        ),
        seconds(start.cpuMs),
      ]),
    ),
    '',
    'From sending a change to the API server until an answer obeys it, asked on one connection every few milliseconds; "status" is until the changed object says that the change was taken. Medians and p99 with the range of the rounds.',
    '',
    ...heading([
      'change',
      'changes',
      'median ms',
      'p99 ms',
      'longest ms',
      'p99 ms of each round',
      'to status, median ms',
      'to status, p99 ms',
    ]),
    ...all.map(({ name, rounds: list }) => {
      const traffic = list.flatMap(({ toTraffic }) => toTraffic);
      const status = list.flatMap(({ toStatus }) => toStatus);
      return line([
        name,
        String(traffic.length),
        show(
          {
            ...spread(list.map(({ toTraffic }) => spread(toTraffic).median)),
            median: spread(traffic).median,
          },
          0,
        ),
        p99(traffic).toFixed(0),
        Math.max(...traffic).toFixed(0),
        list.map(({ toTraffic }) => p99(toTraffic).toFixed(0)).join(', '),
        status.length === 0 ? '–' : spread(status).median.toFixed(0),
        status.length === 0 ? '–' : p99(status).toFixed(0),
      ]);
    }),
    '',
    `A translation took ${translationMs.part.toFixed(0)} ms on average where only some Gateways were translated, ${translationMs.whole > 0 ? `and ${translationMs.whole.toFixed(0)} ms where everything was translated` : 'and never had everything to be translated'}. Without other changes the controller used ${cpuMsPerChange.toFixed(0)} ms of CPU for each change, and made ${perChange.requests.toFixed(1)} requests to the API server, lease and status included, and ${String(perChange.lists)} lists after its start. Resident memory at the peak of each of its processes: ${peaks.map(mebibytes).join(', ')}.`,
  ];
}

/** Whether everything was as it ought to be. */
export const isMet = ({ first, later, rounds, peaks, failed }: Measured): boolean =>
  [first, ...later].every((start) => whole(start) <= limits.startMs) &&
  gathered(rounds).every((one) => p99(one.rounds.flatMap(({ toTraffic }) => toTraffic)) <= limits.p99Ms) &&
  Math.max(...peaks) <= limits.peakBytes &&
  failed === 0;
