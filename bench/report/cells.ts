import { spread, type Spread } from '../statistics.ts';

/** The spread of one figure over the rounds. */
export function of<Key extends string>(samples: readonly Readonly<Record<Key, number>>[], key: Key): Spread {
  return spread(samples.map((sample) => sample[key]));
}

export const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** Heading and rule of a table; all columns but the first are numbers. */
export const heading = (columns: readonly string[]) => [
  line(columns),
  line(columns.map((_, index) => (index === 0 ? '---' : '---:'))),
];

export const show = ({ median, min, max }: Spread, digits: number) =>
  Number.isFinite(median) ? `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})` : '–';

export const ratio = (value: number, base: number | undefined) =>
  base === undefined || !Number.isFinite(value / base) ? '–' : (value / base).toFixed(2);

export const percent = (share: number) => (Number.isFinite(share) ? `${Math.round(share * 100)} %` : '–');
