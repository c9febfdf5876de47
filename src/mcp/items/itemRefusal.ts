import { GatewayError } from '../../errors.ts';
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

/**
 * The answer to a refused use of an item.
 * @param hidden the answer for an item that does not exist
 * @param isSeen the rules let the caller see the item
 */
export function refusalError(
  hidden: GatewayError,
  refusal: ItemRefusal | undefined,
  isSeen = false,
): GatewayError {
  if (refusal === undefined) return hidden;
  const { fault, message, stepUp } = refusal;
  if (fault !== undefined && isSeen)
    return new GatewayError('mcp_invalid_params', { message: `invalid params: ${fault}` });
  if (stepUp !== undefined)
    return new GatewayError(stepUp.isAnonymous ? 'mcp_token_missing' : 'mcp_scope_missing', {
      headers: [['www-authenticate', stepUp.challenge]],
      jsonBody: { requiredScopes: stepUp.scopes },
    });
  return message === undefined ? hidden : new GatewayError('mcp_item_refused', { message });
}
