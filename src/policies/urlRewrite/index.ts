import type { Policy } from '../policy.ts';
import { rewrittenPath, withQuery } from '../rewrite/path.ts';
import { urlRewriteSchema, type UrlRewriteSettings } from './facts.ts';

export const urlRewrite: Policy<UrlRewriteSettings> = {
  schema: urlRewriteSchema,
  prepare({ authority, path }) {
    return {
      onRequest(exchange) {
        // `none` leaves the host as the policies before have it, and keeps the backend from putting its own name there.
        if (authority?.kind === 'none') exchange.forwardHost ??= authority;
        else if (authority !== undefined) exchange.forwardHost = authority;
        // Earlier policies may have changed the query (a key taken out of it): only the path is ours. `OPTIONS *`
        // has none.
        if (path !== undefined && exchange.request.path !== '*') {
          const mark = exchange.forwardTarget.indexOf('?');
          exchange.forwardTarget = withQuery(
            rewrittenPath(path, exchange),
            mark < 0 ? '' : exchange.forwardTarget.slice(mark + 1),
          );
        }
        return undefined;
      },
    };
  },
};
