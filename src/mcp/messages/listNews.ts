/** News of changed lists (MCP, "List Changed Notification"). */

import { cut, memberOf, type Envelope } from '../json/envelope.ts';

/** Features whose lists may change. */
export const listed: readonly string[] = ['tools', 'prompts', 'resources'];

/** The notification that a list has changed. @param list one of `listed` */
export const changedText = (list: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"}`;

/** The list of a method such as `tools/list`. */
export const listOfMethod = (method: string): string => method.slice(0, method.indexOf('/'));

/** The lists of which a server says when they change. @param response its answer to `initialize` */
export function announcedLists({ text, body }: Envelope): readonly string[] {
  const capabilities = memberOf(text, body, 'capabilities');
  if (typeof capabilities !== 'object') return [];
  return listed.filter((list) => {
    const feature = memberOf(text, capabilities, list);
    const announced = typeof feature === 'object' ? memberOf(text, feature, 'listChanged') : undefined;
    return typeof announced === 'object' && cut(text, announced) === 'true';
  });
}
