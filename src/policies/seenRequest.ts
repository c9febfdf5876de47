import type { CelContext } from '../cel/index.ts';
import type { HeaderLine } from '../http/index.ts';
import { linesMap } from './attributes/context.ts';
import { clientHeaders } from './clientHeaders.ts';
import { withoutOwnCookies } from './ownCookies.ts';
import type { Exchange } from './policy.ts';

type Value = CelContext[string];

/**
 * The request as the policies before have left it: without the credentials that they took out of headers and query, so
 * that no expression sends them on by mistake.
 */
export function withSentRequest(context: CelContext, exchange: Exchange): CelContext {
  const { request, requestHeaders, forwardTarget, clientTarget, forTarget } = exchange;
  const lines = requestHeaders.apply(request.headerLines());
  // The path of an MCP server is the one of the server.
  return withParts(context, exchange, lines, forTarget === true ? clientTarget : forwardTarget);
}

/** The request of the client, without the parts that policies have taken out, and with none that they have written. */
export function withClientRequest(context: CelContext, exchange: Exchange): CelContext {
  const { request, requestHeaders, clientTarget } = exchange;
  const kept = request.headerLines().filter(([name]) => !requestHeaders.dropsName(name));
  return withParts(context, exchange, kept, clientTarget);
}

/** The request as a server sees it that a policy asks. */
export const withAskedRequest = (context: CelContext, exchange: Exchange): CelContext =>
  withParts(
    context,
    exchange,
    clientHeaders(exchange, (name) => !name.startsWith(':')),
    exchange.clientTarget,
  );

/** Replaces the parts that the programs read. */
function withParts(
  context: CelContext,
  exchange: Exchange,
  lines: readonly HeaderLine[],
  target: string,
): CelContext {
  const before = context.request as ReadonlyMap<string, Value> | undefined;
  if (before === undefined) return context;
  const { request } = exchange;
  const seen = new Map(before);
  // The cookies of logins are for the gateway alone (`hideCookies.ts`).
  if (seen.has('headers')) seen.set('headers', linesMap(withoutOwnCookies(lines), exchange));
  if (target !== request.target) {
    const places = {
      path: target.replace(/\?.*$/s, ''),
      pathAndQuery: target,
      uri: `${request.scheme}://${request.authority}${target}`,
    };
    for (const [name, value] of Object.entries(places)) if (seen.has(name)) seen.set(name, value);
  }
  return { ...context, request: seen as Value };
}
