import { bearerChallenge, type TokenReason } from '../../auth/index.ts';
import { GatewayError, type GatewayErrorOptions } from '../../errors.ts';
import type { Exchange } from '../policy.ts';

/** The errors for a caller whose token is not enough: with a login that may help, and without one. */
const codes = {
  mcp_caller_value_missing: 'mcp_caller_value_denied',
  mcp_user_required: 'mcp_user_denied',
  backend_login_required: 'backend_login_denied',
} as const;

/**
 * A client begins a login when it gets 401, so it gets 401 only where a challenge tells it how: on routes with
 * mcpAuthentication. Others get 403.
 * @param refused the reason, for a caller that has a token
 */
export function loginError(
  exchange: Exchange,
  code: keyof typeof codes,
  refused: TokenReason,
  options: GatewayErrorOptions,
): GatewayError {
  const resourceMetadata = exchange.metadataUrl?.(exchange);
  if (resourceMetadata === undefined) return new GatewayError(codes[code], options);
  const challenge = bearerChallenge({
    resourceMetadata,
    ...(exchange.identity === undefined ? {} : { refused }),
  });
  return new GatewayError(code, { ...options, headers: [['www-authenticate', challenge]] });
}
