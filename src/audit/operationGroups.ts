import type { AuditGroup } from '../model/index.ts';

/** The name of a request that was refused before the gateway knew an operation. */
export const refusedRequest = 'request.refused';

const groups: ReadonlyMap<string, AuditGroup> = new Map([
  ['tools/call', 'calls'],
  ['tools/list', 'lists'],
  ['prompts/list', 'lists'],
  ['resources/list', 'lists'],
  ['resources/templates/list', 'lists'],
  ['tasks/list', 'lists'],
  ['server/discover', 'lists'],
  ['initialize', 'sessions'],
  ['session/delete', 'sessions'],
  ['stream/open', 'sessions'],
  ['subscriptions/listen', 'sessions'],
  ['ping', 'pings'],
  [refusedRequest, 'refusals'],
]);

const acts = /^(?:gateway|config|pin|admin|audit)\./;

/** The group of an operation. A method that MCP does not know counts as a call: it may have any effect. */
export const groupOf = (operation: string): AuditGroup =>
  groups.get(operation) ?? (acts.test(operation) ? 'admin' : 'calls');
