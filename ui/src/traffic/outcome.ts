import type { RequestRecord } from '../api/types.ts';
import type { Tone } from '../parts/Tag.tsx';

/** The end of a request, as a reader sorts requests. */
export type Outcome = 'served' | 'denied' | 'failed';

export const outcomeTones: Readonly<Record<Outcome, Tone>> = {
  served: 'good',
  denied: 'bad',
  failed: 'warn',
};

/** `denied`: a rule or a policy said no; `failed`: the gateway or the backend could not serve it. */
export function outcomeOf(record: RequestRecord): Outcome {
  const kind = record.decision?.outcome.kind;
  if (kind === 'refused' || record.extra?.['mcp.outcome'] === 'refused') return 'denied';
  if (record.decidedBy !== undefined && (record.status >= 400 || record.decidedBy.rule !== undefined))
    return 'denied';
  if (kind === 'failed' || record.error !== undefined || record.status >= 500) return 'failed';
  return 'served';
}

/** The item of an MCP request, or its method: `tools/call echo`. */
export function mcpText({ extra }: RequestRecord): string | undefined {
  const item = extra?.['mcp.tool'] ?? extra?.['mcp.prompt'] ?? extra?.['mcp.resource'];
  const method = extra?.['mcp.method'];
  return method === undefined ? undefined : [method, item].filter((part) => part !== undefined).join(' ');
}

/** Why a request ended as it did, in a line: the rule, or the error with its reason. */
export const reasonOf = (record: RequestRecord): string =>
  [
    record.decidedBy?.rule ?? record.decidedBy?.policy,
    record.error,
    // The reason of a refusal by a rule only names the rule again.
    record.reason === `rule: ${record.decidedBy?.rule}` ? undefined : record.reason,
  ]
    .filter((part) => part !== undefined)
    .join(' · ');

/** What a reader looks for in the list of requests. */
export interface Wanted {
  readonly outcome: Outcome | 'all';
  /** Part of the name of a user. */
  readonly user: string;
  /** Part of the path, the MCP item, the route or the reason. */
  readonly text: string;
}

const contains = (text: string | undefined, part: string): boolean =>
  text?.toLowerCase().includes(part) === true;

/** Whether a request is among the wanted ones. */
export function isWanted(record: RequestRecord, wanted: Wanted): boolean {
  if (wanted.outcome !== 'all' && outcomeOf(record) !== wanted.outcome) return false;
  const user = wanted.user.trim().toLowerCase();
  if (user !== '' && !contains(record.subject ?? record.decision?.caller?.subject, user)) return false;
  const text = wanted.text.trim().toLowerCase();
  return (
    text === '' ||
    [record.path, mcpText(record), record.route, reasonOf(record), record.requestId].some((part) =>
      contains(part, text),
    )
  );
}
