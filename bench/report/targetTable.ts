import { heading, line } from './cells.ts';

/** A figure that the gateway is held to. */
export interface Target {
  readonly name: string;
  readonly limit: number;
  /** NaN where it was not measured. */
  readonly measured: number;
  readonly digits?: number;
  readonly unit?: string;
  /** The doubt about the figure. */
  readonly doubt?: string;
}

/** Targets that a part of a run did not measure are left out. */
export function targetTable(targets: readonly Target[]): string[] {
  const rows = targets.filter((target) => Number.isFinite(target.measured));
  if (rows.length === 0) return [];
  return [
    ...heading(['figure', 'at most', 'measured', 'verdict']),
    ...rows.map(({ name, limit, measured: value, digits = 2, unit = '', doubt = '' }) =>
      line([
        name,
        `${limit}${unit}`,
        `${value.toFixed(digits)}${unit}`,
        `${value <= limit ? 'met' : 'missed'}${doubt}`,
      ]),
    ),
    '',
  ];
}
