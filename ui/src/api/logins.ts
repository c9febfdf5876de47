/** Logins of the playground. The gateway is the OAuth client, so no request of the page leaves the admin port. */

import { ask } from './client.ts';
import type { BegunLogin, LoginState, LoginToken, NewLogin } from './types.ts';

/** Begins a login at an issuer of a route. @throws ApiError where the route has no such issuer */
export const beginLogin = (route: string, login: NewLogin): Promise<BegunLogin> =>
  ask<BegunLogin>(`playground/${encodeURIComponent(route)}/login`, { method: 'POST', body: login });

/** Whether the browser has come back from the issuer. @throws ApiError 404 where the login has ended */
export const stateOfLogin = (id: string): Promise<LoginState> => ask<LoginState>(`logins/${id}`);

/** Exchanges the code for a token. @throws ApiError with the reason of the issuer */
export const redeemLogin = (id: string): Promise<LoginToken> =>
  ask<LoginToken>(`logins/${id}/token`, { method: 'POST' });

/** Ends a login. @throws ApiError where it has ended */
export const endLogin = (id: string): Promise<undefined> =>
  ask<undefined>(`logins/${id}`, { method: 'DELETE' });
