/** A line of the audit stream as a row of a table. */

import type { AuditLines } from '../api/types.ts';
import type { Tone } from '../parts/Tag.tsx';

type AuditLine = AuditLines['lines'][number];

/** The fields of a line that a reader looks for; empty where the line has none. */
export interface AuditRow {
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly operation: string;
  readonly item: string;
  readonly user: string;
  /** `Allowed` or `Denied`; empty for the intent of a call. */
  readonly action: string;
  readonly outcome: string;
  /** The policy and the rule, or the setting, that decided. */
  readonly decidedBy: string;
  readonly durationMs: number | undefined;
}

export const auditRow = (line: AuditLine): AuditRow => {
  const text = (...names: readonly string[]): string => {
    const found = names.map((name) => line[name]).find((value) => typeof value === 'string' && value !== '');
    return typeof found === 'string' ? found : '';
  };
  const { duration } = line as { readonly duration?: unknown };
  return {
    time: line.time,
    operation: text('api.operation'),
    item: text('mcp.name'),
    user: text('actor.user.uid', 'actor.user.name'),
    action: text('action'),
    outcome: text('mcp.outcome', 'mcp.phase'),
    decidedBy: [text('policy'), text('rule', 'mcp.refusal')].filter((part) => part !== '').join(' · '),
    durationMs: typeof duration === 'number' ? duration : undefined,
  };
};

export const auditTone = ({ action, outcome }: AuditRow): Tone =>
  action === 'Denied' ? 'bad' : ['error', 'tool_error', 'unfinished'].includes(outcome) ? 'warn' : 'good';

/** Whether a row is among the wanted ones. */
export const isWantedRow = (row: AuditRow, isDenied: boolean, user: string): boolean =>
  (!isDenied || row.action === 'Denied') && row.user.toLowerCase().includes(user.trim().toLowerCase());
