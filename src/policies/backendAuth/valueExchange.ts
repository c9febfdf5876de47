import type { BackendAuthSettings } from './facts.ts';
import { oauthTokenExchange } from './oauthSchema.ts';

/**
 * An exchange whose token is no part of a request, but a value: the settings of `oauthTokenExchange`, as settings of
 * `backendAuth` that put the bare token into `Authorization`.
 */
export const valueExchange = oauthTokenExchange
  .superRefine(({ location, cache }, context) => {
    if (location.kind !== 'header' || location.name !== 'authorization')
      context.addIssue({
        code: 'custom',
        path: ['authorizationLocation'],
        message: 'is for requests: the token goes into the variable',
      });
    if (cache.maxEntries === 0)
      context.addIssue({
        code: 'custom',
        path: ['cache', 'maxEntries'],
        message: 'would make a token, and a child, for each request: keep at least one token',
      });
  })
  .transform((settings): BackendAuthSettings => ({
    credentials: [{ ...settings, location: { kind: 'header', name: 'authorization', prefix: '' } }],
  }));
