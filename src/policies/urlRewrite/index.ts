import type { Policy } from '../policy.ts';
import { forwardQuery, rewrittenPath, withQuery } from '../rewrite/path.ts';
import { urlRewriteSchema, type UrlRewriteSettings } from './facts.ts';

export const urlRewrite: Policy<UrlRewriteSettings> = {
  schema: urlRewriteSchema,
  prepare({ authority, path }) {
    return {
      onRequest(exchange) {
        // `none` leaves the host as the policies before have it, and keeps the backend from putting its own name there.
        if (authority?.kind === 'none') exchange.forwardHost ??= authority;
        else if (authority !== undefined) exchange.forwardHost = authority;
        // `OPTIONS *` has no path.
        if (path !== undefined && exchange.request.path !== '*')
          exchange.forwardTarget = withQuery(rewrittenPath(path, exchange), forwardQuery(exchange));
        return undefined;
      },
    };
  },
};
