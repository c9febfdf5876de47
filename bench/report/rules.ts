import type { RuleCell } from '../rules/run.ts';
import { heading, line } from './cells.ts';

/** Milliseconds of the rule that takes longest; not a number where none was measured. */
export const worstRule = (cells: readonly RuleCell[]): number =>
  cells.length === 0 ? Number.NaN : Math.max(...cells.map(({ ms }) => ms));

const shown = 10;

export function rulesSection(cells: readonly RuleCell[]): string[] {
  if (cells.length === 0) return [];
  const dearest = [...cells].sort((one, other) => other.ms - one.ms).slice(0, shown);
  return [
    '## Rules at their worst',
    '',
    `${cells.length} rules, each on a head of 64 KiB that was made to keep it busy, in one thread without a socket. A request has a budget of work for all of its expressions; "budget" is the share of it that the rule took. The ${shown} that took longest.`,
    '',
    ...heading(['rule', 'CPU ms', 'budget']),
    ...dearest.map(({ rule, ms, units, spent }) =>
      line([
        `\`${rule.replaceAll('|', '\\|')}\``,
        ms.toFixed(1),
        spent ? 'all' : `${Math.round(units / 10_000)} %`,
      ]),
    ),
    '',
  ];
}
