import { guardedFetch } from '../auth/index.ts';

const guarded = guardedFetch();

/** Makes the `fetch` by which a policy calls servers. @param isGuarded a tenant may have written the policy */
export const fetchFor = (isGuarded: boolean): typeof fetch => (isGuarded ? guarded : fetch);
