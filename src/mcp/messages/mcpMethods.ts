/** The messages that clients may send to servers, by revision of the protocol. */

/**
 * Requests that MCP knows, and whether a server may carry out the request twice without harm: calls of tools and the
 * messages to tasks may not be sent again after a broken connection.
 */
const requests: Readonly<Record<string, 'repeatable' | 'once'>> = {
  initialize: 'repeatable',
  ping: 'repeatable',
  'tools/list': 'repeatable',
  'tools/call': 'once',
  'prompts/list': 'repeatable',
  'prompts/get': 'repeatable',
  'resources/list': 'repeatable',
  'resources/templates/list': 'repeatable',
  'resources/read': 'repeatable',
  'resources/subscribe': 'repeatable',
  'resources/unsubscribe': 'repeatable',
  'completion/complete': 'repeatable',
  'logging/setLevel': 'repeatable',
  'tasks/get': 'repeatable',
  'tasks/result': 'once',
  'tasks/cancel': 'once',
  'tasks/update': 'once',
  'tasks/list': 'repeatable',
};

/** Requests that MCP knows. */
export const clientRequests: ReadonlySet<string> = new Set(Object.keys(requests));

/** Requests that revision 2026-07-28 has no more. */
export const legacyRequests: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
]);

/** May a message be sent again when nobody knows whether the server got it? */
export const isRepeatable = (method: string): boolean =>
  method === 'notifications/initialized' ||
  (Object.hasOwn(requests, method) && requests[method] === 'repeatable');

const everyRevision = '2024-11-05';

/** Notifications of clients, and the revision that each came with. */
const clientNotifications: ReadonlyMap<string, string> = new Map([
  ['notifications/initialized', everyRevision],
  ['notifications/cancelled', everyRevision],
  ['notifications/progress', everyRevision],
  ['notifications/roots/list_changed', everyRevision],
  ['notifications/tasks/status', '2025-11-25'],
]);

/** Tells of a task of the tasks extension; its clients have asked for it by `subscriptions/listen`. */
export const taskNews = 'notifications/tasks';

/** Notifications of servers that name no item which a rule could hide, or whose item is judged. */
export const serverNotifications: ReadonlySet<string> = new Set([
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/resources/updated',
  'notifications/resources/list_changed',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/elicitation/complete',
  'notifications/tasks/status',
  taskNews,
]);

/** The revision of a client that names none. Revisions are dates, which compare as texts. */
export const assumedRevision = '2025-03-26';

/** The handling of a client's message that has a method and no id. */
export type NotificationHandling = 'forwarded' | 'dropped' | 'refused';

/**
 * A server may carry out a request that has no id, past every rule about its item: only notifications pass. Where rules
 * about items stand, a notification that the revision does not know is answered and dropped, because a server may take
 * it for anything and clients take a refusal for a broken transport.
 */
export function handlingOf(
  method: string,
  revision = assumedRevision,
  underItemRules = false,
): NotificationHandling {
  const since = clientNotifications.get(method);
  if (since !== undefined && since <= revision) return 'forwarded';
  if (!method.startsWith('notifications/')) return 'refused';
  return underItemRules ? 'dropped' : 'forwarded';
}
