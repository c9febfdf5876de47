import type { Policy } from '../policy.ts';
import { rewrittenPath, withQuery } from '../rewrite/path.ts';
import { urlRewriteSchema, type UrlRewriteSettings } from './facts.ts';

export const urlRewrite: Policy<UrlRewriteSettings> = {
  schema: urlRewriteSchema,
  prepare({ authority, path }) {
    return {
      onRequest(x) {
        // `none` leaves the host as the policies before have it, and keeps the backend from putting its own name there.
        if (authority?.kind === 'none') x.forwardHost ??= authority;
        else if (authority !== undefined) x.forwardHost = authority;
        // Earlier policies may have changed the query (a key taken out of it): only the path is ours. `OPTIONS *`
        // has none.
        if (path !== undefined && x.request.path !== '*') {
          const mark = x.forwardTarget.indexOf('?');
          x.forwardTarget = withQuery(
            rewrittenPath(path, x),
            mark < 0 ? '' : x.forwardTarget.slice(mark + 1),
          );
        }
        return undefined;
      },
    };
  },
};
