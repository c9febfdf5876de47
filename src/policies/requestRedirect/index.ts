import type { Policy, Exchange } from '../policy.ts';
import { forwardQuery, rewrittenPath, withQuery } from '../rewrite/path.ts';
import type { AuthorityRewrite } from '../rewrite/schema.ts';
import { requestRedirectSchema, type RequestRedirectSettings } from './facts.ts';

const usualPort: Readonly<Record<string, string>> = { http: '80', https: '443' };

export const requestRedirect: Policy<RequestRedirectSettings> = {
  schema: requestRedirectSchema,
  prepare: ({ scheme, authority, path, status }) => ({
    onRequest(exchange) {
      const { request } = exchange;
      const host = hostOf(exchange, scheme, authority);
      const base = host === '' ? '' : `${scheme ?? request.scheme}://${host}`;
      // On the same host, the client still needs the key or the token that the query may hold.
      const query = leaves(exchange, scheme, host) ? forwardQuery(exchange) : request.query;
      // `OPTIONS *` is about the whole server, and has no path (RFC 9112 §3.2.4).
      const isPathless = request.path === '*' && path?.kind !== 'full';
      const target = isPathless ? '' : withQuery(rewrittenPath(path, exchange), query);
      // A path of two slashes would be read as the name of another host.
      const location = base === '' ? target.replace(/^\/{2,}|^$/, '/') : base + target;
      return { status, headers: [['location', location]] };
    },
  }),
};

/** Does the redirect lead to another host, or from https to http? */
const leaves = ({ request }: Exchange, scheme: string | undefined, host: string): boolean =>
  nameOf(host).toLowerCase() !== nameOf(request.shownAuthority).toLowerCase() ||
  (request.scheme === 'https' && scheme === 'http');

/** The host of an authority, without its port. */
const nameOf = (authority: string): string => authority.replace(/:\d*$/, '');

/** Host and, where it is not the usual one of the scheme, port of the new address; empty where nobody named a host. */
function hostOf(
  exchange: Exchange,
  scheme: string | undefined,
  rewrite: AuthorityRewrite | undefined,
): string {
  const given = rewrite?.kind === 'full' ? rewrite.authority : exchange.request.shownAuthority;
  const [, name = '', portGiven = ''] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(given) ?? [];
  const host = rewrite?.kind === 'host' ? rewrite.host : name;
  if (host === '') return '';
  const next = scheme ?? exchange.request.scheme;
  // The port belongs to the scheme: with another scheme the old port answers with something else.
  const keepsPort = rewrite?.kind === 'full' || next === exchange.request.scheme;
  const port = rewrite?.kind === 'port' ? String(rewrite.port) : keepsPort ? portGiven : '';
  return port === '' || port === usualPort[next] ? host : `${host}:${port}`;
}
