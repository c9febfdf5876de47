import { createHash } from 'node:crypto';
import type { Caller, McpItem } from '../mcp/index.ts';
import type { LiveExchange } from './exchange.ts';

/** Who the session belongs to, what the route's rules let them use, and for how long they are let in. */
export function callerOf(x: LiveExchange): Caller {
  const rules = x.route?.allowMcpItem ?? [];
  const exp = x.identity?.claims['exp'];
  return {
    principal: principalOf(x),
    ...(typeof exp === 'number' ? { expiresAt: exp * 1000 } : {}),
    ...(rules.length === 0 ? {} : { mayUse: (item: McpItem) => rules.every((rule) => rule(x, item)) }),
    // Other requests end by themselves.
    ...(x.method === 'GET' ? { whileAllowed: (end: () => void) => x.connection.port.stand(x, end) } : {}),
  };
}

/** Everything that was proven about the caller; undefined for an anonymous one. */
function principalOf({ identity, token, user, apiKey }: LiveExchange): string | undefined {
  const holder = identity === undefined ? undefined : holderOf(identity, token);
  if (user === undefined && apiKey === undefined) return holder;
  return JSON.stringify([holder ?? null, user ?? null, apiKey?.id ?? null]);
}

/**
 * Whom a token stands for. One without a subject says of nobody in particular that he is let in, and what else it
 * holds (`client_id`, say) may be the same for many people: such a token stands for itself alone.
 */
function holderOf(
  { issuer, subject }: NonNullable<LiveExchange['identity']>,
  token: string | undefined,
): string {
  if (subject !== '') return `${issuer}\n${subject}`;
  return `token\n${issuer}\n${createHash('sha256')
    .update(token ?? '')
    .digest('base64url')}`;
}
