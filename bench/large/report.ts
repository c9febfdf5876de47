import { describeMachine, versions } from '../machine.ts';
import { heading, line } from '../report/cells.ts';
import { spread } from '../statistics.ts';
import type { LargeCase } from './cases.ts';
import type { LargeSample } from './measure.ts';

export interface LargeRow {
  readonly way: LargeCase;
  readonly samples: readonly LargeSample[];
}

const targets = { rise: 60, delay: 20 };

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;

function figures({ samples }: LargeRow) {
  const alone = percentile(
    samples.flatMap((sample) => sample.alone),
    0.99,
  );
  const beside = percentile(
    samples.flatMap((sample) => sample.beside),
    0.99,
  );
  return {
    rise: spread(samples.map((sample) => sample.rise)).median,
    alone,
    beside,
    delay: beside - alone,
    most: Math.max(...samples.flatMap((sample) => sample.beside)),
    took: spread(samples.map((sample) => sample.took)).median,
  };
}

/** The section of RESULTS.md, without its title. */
export function largeReport(rows: readonly LargeRow[]): string[] {
  return [
    `Written by \`npm run bench:large\` on ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC; ${describeMachine()}; portcullis ${versions()['portcullis'] ?? ''}.`,
    '',
    `The rise of resident memory while eight sessions get a result of 12 MB each at the same time, in a gateway that was just started. Then small calls of another session, one after the other, while a result of 15 MB passes, and without one. Targets: the rise is at most ${targets.rise} MB, and the p99 of small calls grows by at most ${targets.delay} ms.`,
    '',
    ...heading([
      'large results',
      'rise, MB',
      'p99 of small calls alone, ms',
      'beside, ms',
      'longest, ms',
      '15 MB take, ms',
      'targets',
    ]),
    ...rows.map((row) => {
      const { rise, alone, beside, delay, most, took } = figures(row);
      const met = rise <= targets.rise && delay <= targets.delay;
      return line([
        row.way.title,
        rise.toFixed(0),
        alone.toFixed(1),
        beside.toFixed(1),
        most.toFixed(0),
        took.toFixed(0),
        met ? 'met' : 'missed',
      ]);
    }),
    '',
  ];
}
