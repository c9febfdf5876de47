import { policySchemas } from '../../policies/facts.ts';
import type { CorsFilter } from '../types/index.ts';
import { said } from './settings.ts';

/** The default of the API. */
const MAX_AGE_SECONDS = 5;

/**
 * The settings of the `cors` policy, or why there can be none. The schema of the file refuses credentials for every
 * origin; the Gateway API asks for them where they are written, so they are added to what the schema has checked.
 */
export function corsSettings(cors: CorsFilter): object | string {
  const { allowCredentials = false, exposeHeaders = [], maxAge = MAX_AGE_SECONDS } = cors;
  const result = policySchemas.cors.safeParse({
    allowOrigins: cors.allowOrigins ?? [],
    allowMethods: cors.allowMethods ?? [],
    allowHeaders: cors.allowHeaders ?? [],
    // With credentials `*` would be the name of a header.
    exposeHeaders: allowCredentials ? exposeHeaders.filter((name) => name !== '*') : exposeHeaders,
    maxAge,
  });
  if (!result.success) return `cors: ${said(result.error.issues)}`;
  return { ...result.data, allowCredentials };
}
