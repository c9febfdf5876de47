import type { LoginViews, PlayRefusal } from '../contract.ts';
import { callbackPath } from '../access/callbackPage.ts';
import type { AdminCaller, Asked } from '../page.ts';
import { emptyOperation, operation, type ApiOperation } from './operation.ts';
import { ApiProblem } from './problem.ts';
import * as shapes from './shapes.ts';

const byId = { id: 'Id of the login.' };
const unknown = 'no such login: it has ended, or it is that of another session';

/** The operations that log a user of the playground in at an issuer of a route. */
export const loginOperations = (logins: LoginViews): readonly ApiOperation[] => [
  operation({
    method: 'POST',
    path: '/api/v1/playground/{route}/login',
    about: 'begins a login at an issuer of the route, and shows the steps up to its login page',
    access: 'operator',
    parameters: { route: 'Id of the route, as `GET /api/v1/routes` has it, percent-encoded.' },
    body: shapes.newLogin,
    result: shapes.begunLogin,
    refusals: {
      404: 'no route has the id',
      422: 'the route asks for no token of the issuer',
      503: 'too many logins begin at a time',
    },
    run: async ({ parameters: { route = '' }, headers, body, caller }) => {
      const { issuer, clientId, clientSecret, scopes } = body;
      const begun = orProblem(
        await logins.begin({
          route,
          owner: ownerOf(caller),
          redirectUri: `${originIn(headers)}${callbackPath}`,
          ...(issuer !== undefined && { issuer }),
          ...(clientId !== undefined && { clientId }),
          ...(clientSecret !== undefined && { clientSecret }),
          ...(scopes !== undefined && { scopes }),
        }),
      );
      const { steps, login } = begun;
      return {
        steps,
        login: login === undefined ? null : { ...login, expiresAt: new Date(login.expiresAt).toISOString() },
      };
    },
  }),
  operation({
    method: 'GET',
    path: '/api/v1/logins/{id}',
    about: 'tells whether the browser has come back from the issuer',
    access: 'operator',
    parameters: byId,
    result: shapes.loginState,
    refusals: { 404: unknown },
    run: ({ parameters: { id = '' }, caller }) => {
      const state = logins.stateOf(id, ownerOf(caller));
      if (state === undefined) throw new ApiProblem(404, unknown);
      return { state };
    },
  }),
  operation({
    method: 'POST',
    path: '/api/v1/logins/{id}/token',
    about: 'exchanges the code of the issuer for a token, which ends the login',
    access: 'operator',
    parameters: byId,
    result: shapes.loginToken,
    refusals: {
      404: unknown,
      409: 'the browser has not come back yet',
      422: 'the issuer gave no token',
    },
    run: async ({ parameters: { id = '' }, caller }) => {
      const token = await logins.redeem(id, ownerOf(caller));
      if (token === undefined) throw new ApiProblem(404, unknown);
      return orProblem(token);
    },
  }),
  emptyOperation({
    method: 'DELETE',
    path: '/api/v1/logins/{id}',
    about: 'ends a login',
    access: 'operator',
    parameters: byId,
    refusals: { 404: unknown },
    run: ({ parameters: { id = '' }, caller }) => {
      if (!logins.end(id, ownerOf(caller))) throw new ApiProblem(404, unknown);
      return undefined;
    },
  }),
];

/** The address of the console, as the browser reaches it. The header `Origin` was checked before. */
const originIn = ({ origin, host = 'localhost' }: Asked['headers']): string => origin ?? `http://${host}`;

/** A login belongs to the session that began it. */
const ownerOf = ({ session, by }: AdminCaller): string => session?.label ?? by;

/** @throws ApiProblem */
function orProblem<T extends object>(answer: T | PlayRefusal): T {
  if ('refusal' in answer) throw new ApiProblem(answer.status, answer.refusal);
  return answer;
}
