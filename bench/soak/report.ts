import { describeMachine, versions } from '../machine.ts';
import { heading, line } from '../report/cells.ts';
import type { Counts } from './loads.ts';
import type { MemorySample } from './memory.ts';
import { floors, growth } from './slope.ts';

interface Soak {
  readonly samples: readonly MemorySample[];
  readonly counts: Counts;
  /** Was it still there at the end? */
  readonly alive: boolean;
  /** After all clients had left. */
  readonly rest: MemorySample | undefined;
  readonly errors: readonly string[];
  readonly minutes: number;
}

/** So much may the fitted line rise over the last two thirds: less than the noise of a collector, more than none. */
const allowed = 0.05;

const figures = [
  ['resident', 'resident memory, MB'],
  ['heap', 'heap in use, MB'],
  ['external', 'buffers outside the heap, MB'],
  ['files', 'open files'],
] as const;

/** The section of RESULTS.md, without its title. */
export function soakReport({ samples, counts, alive, rest, errors, minutes }: Soak): string[] {
  const late = samples.filter(({ minute }) => minute > minutes / 3);
  const rows = figures.map(([key, title]) => {
    const points = floors(
      late.map((sample) => [sample.minute, sample[key]]),
      minutes,
    );
    const values = samples.map((sample) => sample[key]);
    return {
      key,
      title,
      growth: growth(points),
      cells: [
        (values[0] ?? Number.NaN).toFixed(0),
        Math.min(...late.map((sample) => sample[key])).toFixed(0),
        Math.max(...late.map((sample) => sample[key])).toFixed(0),
        (values.at(-1) ?? Number.NaN).toFixed(0),
        rest === undefined ? '–' : rest[key].toFixed(0),
      ],
    };
  });
  const resident = rows.find(({ key }) => key === 'resident')?.growth ?? Number.NaN;
  const flat = alive && resident <= allowed;
  return [
    `Written by \`npm run bench:soak\` on ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC; ${describeMachine()}; portcullis ${versions()['portcullis'] ?? ''}.`,
    '',
    `${minutes} minutes of everything at once on one core: small, 10 KB and 1 MB answers, POSTs, TLS, HTTP/2, clients that break off in sixteen ways, MCP sessions that open, call and close, and a new configuration every 20 s (1 000 routes more, then none). ${counts.requests} requests (${counts.failed} failed), ${counts.brokenOff} broken off, ${counts.mcpCalls} MCP calls (${counts.mcpFailures} rounds failed), ${counts.reloads} reloads, ${errors.length} errors in the log${alive ? '' : '; THE GATEWAY ENDED'}.`,
    '',
    ...heading(['figure', 'at first', 'least', 'most', 'at last', 'at rest', 'rise']),
    ...rows.map(({ title, cells, growth: rise }) => line([title, ...cells, `${(rise * 100).toFixed(1)} %`])),
    '',
    `"Least" to "rise" are of the last two thirds; the rise is that of a line through the least value of each half minute, over that time. Target: resident memory rises by at most ${allowed * 100} %: **${flat ? 'met' : 'missed'}**.`,
    '',
    ...errors.slice(0, 5).map((text) => `    ${text.slice(0, 200)}`),
  ];
}
