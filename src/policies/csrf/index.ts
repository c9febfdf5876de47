import { GatewayError } from '../../errors.ts';
import type { HttpRequest } from '../../http/index.ts';
import { isOwnBySite } from '../fields/fetchMetadata.ts';
import { originTest, withoutUsualPort } from '../fields/origins.ts';
import type { Policy } from '../policy.ts';
import { csrfSchema, type CsrfSettings } from './facts.ts';

/** Methods that ask for no change (RFC 9110 §9.2.1), but for TRACE, which no page can send. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Cross-site request forgery: a page of another site has the browser of a user send a request with its cookies. */
export const csrf: Policy<CsrfSettings> = {
  schema: csrfSchema,
  prepare({ additionalOrigins }) {
    const isTrusted = originTest(additionalOrigins);
    return {
      onRequest({ request }) {
        if (safeMethods.has(request.method)) return undefined;
        const from = request.header('origin')?.toLowerCase();
        const reason = foreignSign(request, from);
        if (reason === undefined || (from !== undefined && isTrusted(from))) return undefined;
        throw new GatewayError('cross_site', { detail: `csrf: ${reason}` });
      },
    };
  },
};

/**
 * The sign that a page of another origin sent the request; undefined where there is none. Without Sec-Fetch-Site, Origin
 * (RFC 6454 §7) decides. A request with neither is not from a page: it has no cookies that its sender does not know.
 * @param from `Origin` in lower case
 */
function foreignSign(request: HttpRequest, from: string | undefined): string | undefined {
  const isOwn = isOwnBySite(request);
  if (isOwn !== undefined) return isOwn ? undefined : 'sec-fetch-site names another origin';
  return from === undefined || isOwnOrigin(from, request)
    ? undefined
    : 'origin is not the one of the request';
}

/**
 * A proxy in front may have ended TLS without a word about it, so a page with https is of the same origin as a request
 * with http. The reverse does not hold.
 */
function isOwnOrigin(from: string, { shownScheme, shownAuthority }: HttpRequest): boolean {
  const own = (scheme: string): string => withoutUsualPort(`${scheme}://${shownAuthority}`);
  const named = withoutUsualPort(from);
  return named === own('https') || (shownScheme === 'http' && named === own('http'));
}
