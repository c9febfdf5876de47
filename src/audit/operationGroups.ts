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

/** Acts of the gateway and its operator. */
const acts = /^(?:gateway|config|pin|admin|audit)\./;

/** The group of an operation. A method that MCP does not know counts as a call: it may have any effect. */
export const groupOf = (operation: string): AuditGroup =>
  groups.get(operation) ?? (acts.test(operation) ? 'admin' : 'calls');

/** Operations that are HTTP requests. */
const requests: ReadonlySet<string> = new Set(['session/delete', 'stream/open', refusedRequest]);
const methodMark = 'method:';

/**
 * The operation of a message. A client may choose any method, so one that is named like an operation of the gateway itself
 * gets a mark. It counts as a call, then.
 */
export function operationOf(method: string): string {
  // Most messages are calls, and a search costs more than this. Look-ups find the literal sooner than the text of a message.
  if (method === 'tools/call') return 'tools/call';
  return acts.test(method) || requests.has(method) || method.startsWith(methodMark)
    ? methodMark + method
    : method;
}
