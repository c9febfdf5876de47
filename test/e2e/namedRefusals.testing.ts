import assert from 'node:assert/strict';
import { catalogue, type ErrorCode } from '../../src/errors.ts';

/** Refusals of settings that are no policies, with the setting. */
const ofSettings: Readonly<Partial<Record<ErrorCode, string>>> = {
  origin_refused: 'dnsRebindingProtection',
  mcp_budget_full: 'limits',
  mcp_target_busy: 'limits',
  mcp_caller_value_missing: 'env of a target',
  mcp_caller_value_denied: 'env of a target',
  // The policy stands on a target, or in env of a target.
  backend_login_required: 'backendAuth',
  backend_login_denied: 'backendAuth',
  mcp_user_required: 'scope of a target',
  mcp_user_denied: 'scope of a target',
};

/** Refusals by a rule, a limit or a processor, which has a name. */
const byRule: ReadonlySet<string> = new Set<ErrorCode>([
  'authorization_denied',
  'scope_missing',
  'mcp_scope_missing',
  'mcp_token_missing',
  'rate_limited',
]);

/** The statuses of answers that refuse a caller. */
const refusing: ReadonlySet<number> = new Set([401, 403, 429]);

/**
 * Every refusal of a caller in an access log, as text or JSON, names its policy, and its rule where it has one.
 * @throws AssertionError that shows the line
 */
export function checkRefusals(accessLog: string): void {
  for (const line of accessLog.split('\n')) {
    const field = fieldsOf(line);
    const error = field('error');
    const item = field('mcp.refusal');
    const byItem = item === 'item rule' || item === 'guardrail';
    if (!byItem && !(error !== undefined && isRefusal(error))) continue;
    assert.ok(field('policy') !== undefined, `a refusal names no policy: ${line}`);
    if (byItem || byRule.has(error ?? ''))
      assert.ok(field('rule') !== undefined, `a refusal names no rule: ${line}`);
  }
}

const isRefusal = (code: string): boolean =>
  Object.hasOwn(catalogue, code) &&
  refusing.has(catalogue[code as ErrorCode].status) &&
  ofSettings[code as ErrorCode] === undefined;

function fieldsOf(line: string): (name: string) => string | undefined {
  if (line.startsWith('{')) {
    const values = JSON.parse(line) as Record<string, unknown>;
    return (name) => (values[name] === undefined ? undefined : String(values[name]));
  }
  return (name) => {
    const found = new RegExp(`(?:^| )${name.replace('.', '\\.')}=(?:"([^"]*)"|(\\S+))`).exec(line);
    return found?.[1] ?? found?.[2];
  };
}
