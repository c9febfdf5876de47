import type { CelContext } from '../../cel/index.ts';
import type { HeaderLine } from '../../http/index.ts';
import { linesMap } from '../attributes/context.ts';
import { withoutOwnCookies } from '../ownCookies.ts';
import type { Exchange } from '../policy.ts';

type Value = CelContext[string];

/**
 * The request as the policies before have left it: without the credentials that they took out of headers and query, so
 * that no expression sends them on by mistake.
 */
export function withSentRequest(context: CelContext, exchange: Exchange): CelContext {
  const { request, requestHeaders, forwardTarget, forTarget } = exchange;
  const lines = requestHeaders.apply(request.headerLines());
  const seen = withHeaders(context, exchange, lines);
  // The path of an MCP server is the one of the server.
  if (forTarget === true || forwardTarget === request.target) return seen;
  return {
    ...seen,
    request: replaced(seen.request, {
      path: forwardTarget.replace(/\?.*$/s, ''),
      pathAndQuery: forwardTarget,
      uri: `${request.scheme}://${request.authority}${forwardTarget}`,
    }),
  };
}

/** The fields that the client sent, without those that policies have taken out, and with none that they have written. */
export function withClientRequest(context: CelContext, exchange: Exchange): CelContext {
  const { request, requestHeaders } = exchange;
  const kept = request.headerLines().filter(([name]) => !requestHeaders.dropsName(name));
  return withHeaders(context, exchange, kept);
}

function withHeaders(context: CelContext, exchange: Exchange, lines: readonly HeaderLine[]): CelContext {
  // The cookies of logins are for the gateway alone (`hideCookies.ts`).
  const headers = linesMap(withoutOwnCookies(lines), exchange);
  return { ...context, request: replaced(context.request, { headers }) };
}

const replaced = (request: Value | undefined, members: Readonly<Record<string, Value>>): Value =>
  new Map([
    ...((request as ReadonlyMap<string, Value> | undefined) ?? []),
    ...Object.entries(members),
  ]) as Value;
