import type { HttpRequest } from '../../http/index.ts';
import type { ItemRefusal } from '../contract.ts';

/** A pin withholds the definition of the item. */
export const withheldByPin: ItemRefusal = { rule: 'pin' };

/** Names the rule that refused the use of an item in the access log. */
export function noteItemRefusal(http: Pick<HttpRequest, 'annotate'>, { policy, rule }: ItemRefusal): void {
  http.annotate('mcp.outcome', 'refused');
  http.annotate('mcp.refusal', policy === undefined ? rule : 'item rule');
  http.annotate('rule', rule);
  if (policy !== undefined) http.annotate('policy', policy);
}
