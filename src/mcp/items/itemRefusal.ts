import type { HttpRequest } from '../../http/index.ts';
import type { ItemRefusal } from '../contract.ts';

/** A pin withholds the definition of the item. */
export const withheldByPin: ItemRefusal = { rule: 'pin' };

/** Names the rule that refused the use of an item in the access log. */
export function noteItemRefusal(http: Pick<HttpRequest, 'annotate' | 'decided'>, by: ItemRefusal): void {
  http.annotate('mcp.outcome', 'refused');
  http.annotate('mcp.refusal', by.policy === undefined ? by.rule : 'item rule');
  http.decided(by);
}
