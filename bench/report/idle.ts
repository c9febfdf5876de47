import type { IdleCell } from '../idle/run.ts';
import { heading, line } from './cells.ts';

/** Kilobytes that a connection holds while nothing happens on it: the worst round against the time before the first. */
export const idleKilobytes = ({ base, rounds, connections }: IdleCell) =>
  (Math.max(...rounds.map(({ open }) => open)) - base) * (1024 / connections);

export function idleSection(cells: readonly IdleCell[]): string[] {
  const [first] = cells;
  if (first === undefined) return [];
  return [
    '## Idle connections',
    '',
    `${first.connections} connections to each, one small request on each, then silence until memory stood still; closed, and the same again. Resident memory of the process, from before the first round. What the kernel keeps for a socket is the same for all and not part of it.`,
    '',
    ...heading(['proxy', 'KB a connection', 'before, MB', 'open, MB', 'closed again, MB']),
    ...cells.map((cell) =>
      line([
        cell.name,
        idleKilobytes(cell).toFixed(1),
        cell.base.toFixed(0),
        cell.rounds.map(({ open }) => open.toFixed(0)).join(', '),
        cell.rounds.map(({ closed }) => closed.toFixed(0)).join(', '),
      ]),
    ),
    '',
  ];
}
