import { GatewayError } from '../../errors.ts';
import type { Exchange } from '../policy.ts';
import type { PathRewrite } from './schema.ts';

/**
 * The path of the request with the rewrite applied, query left out.
 *
 * @throws GatewayError policy_failed where a prefix is to be replaced and the route was chosen by another kind of match
 */
export function rewrittenPath(rewrite: PathRewrite | undefined, exchange: Exchange): string {
  const { path } = exchange.request;
  if (rewrite === undefined) return path;
  if (rewrite.kind === 'full') return rewrite.value;
  if (exchange.matchedPrefix === undefined)
    throw new GatewayError('policy_failed', {
      detail: 'path.prefix: the route was not matched by a path prefix',
    });
  // Gateway API, ReplacePrefixMatch: one slash between the new prefix and the rest, however both are written.
  const rest = path.slice(exchange.matchedPrefix.length);
  const prefix = rewrite.value.replace(/\/+$/, '');
  return `${prefix}${rest}` || '/';
}

/** Path and query, as they stand in a request line or in a Location. */
export const withQuery = (path: string, query: string): string => (query === '' ? path : `${path}?${query}`);

/** The query for the backend: earlier policies may have taken a key or a token out of it. */
export function forwardQuery({ forwardTarget }: Exchange): string {
  const mark = forwardTarget.indexOf('?');
  return mark < 0 ? '' : forwardTarget.slice(mark + 1);
}
