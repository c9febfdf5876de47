import type { AuditGroup } from '../model/index.ts';

const lists: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'tasks/list',
  'server/discover',
]);
const sessions: ReadonlySet<string> = new Set([
  'initialize',
  'session/delete',
  'stream/open',
  'subscriptions/listen',
]);

/** The name of a request that was refused before the gateway knew an operation. */
export const refusedRequest = 'request.refused';

const acts = /^(?:gateway|config|pin|admin|audit)\./;

/** The group of an operation. A method that MCP does not know counts as a call: it may have any effect. */
export function groupOf(operation: string): AuditGroup {
  if (lists.has(operation)) return 'lists';
  if (sessions.has(operation)) return 'sessions';
  if (operation === 'ping') return 'pings';
  if (operation === refusedRequest) return 'refusals';
  return acts.test(operation) ? 'admin' : 'calls';
}
