import type { AdminAccess } from '../access/adminAccess.ts';
import { endedCookie } from '../access/cookie.ts';
import { linkLimits } from '../access/loginLinks.ts';
import { consolePath } from '../access/loginPages.ts';
import type { GatewayViews } from '../contract.ts';
import type { EventStreams } from '../eventStream.ts';
import type { AdminCaller } from '../page.ts';
import { emptyOperation, operation, type ApiOperation } from './operation.ts';
import { ApiProblem } from './problem.ts';
import { z } from 'zod';
import * as shapes from './shapes.ts';

/** The address of the port. */
export interface OwnAddress {
  /** For browsers; undefined for a Unix socket. */
  readonly origin: string | undefined;
  readonly port: number;
}

/** The reason why a caller may not change the configuration; undefined where it may. */
export const readOnlyFor = ({ role }: AdminCaller, { config }: GatewayViews): string | undefined =>
  role === 'operator' ? config.whyReadOnly() : 'the role viewer may change nothing';

/** A link that a browser opens once to log in. */
export const loginUrl = (origin: string, code: string): string => `${origin}${consolePath}login?code=${code}`;

/** The operations about the caller's own session. */
export const sessionOperations = (
  access: AdminAccess,
  streams: EventStreams,
  gateway: GatewayViews,
  address: () => OwnAddress,
): readonly ApiOperation[] => [
  operation({
    method: 'GET',
    path: '/api/v1/session',
    about: 'the role of the caller, and the token for requests that change something',
    access: 'viewer',
    result: shapes.session,
    run: ({ caller }) => {
      const whyReadOnly = readOnlyFor(caller, gateway);
      return {
        role: caller.role,
        canWrite: whyReadOnly === undefined,
        ...(whyReadOnly !== undefined && { whyReadOnly }),
        writeToken: caller.session?.writeToken ?? '',
        by: caller.by,
        ...(caller.logoutPath !== undefined && { logoutPath: caller.logoutPath }),
      };
    },
  }),
  emptyOperation({
    method: 'DELETE',
    path: '/api/v1/session',
    about: 'ends the session of the caller',
    access: 'viewer',
    refusals: { 409: 'a policy of the route has logged the caller in' },
    run: ({ caller }) => {
      if (caller.by === 'gateway')
        throw new ApiProblem(
          409,
          caller.logoutPath === undefined
            ? 'the caller sends its credential with each request'
            : `the login ends at ${caller.logoutPath}`,
        );
      if (caller.session !== undefined) access.sessions.end(caller.session);
      streams.review();
      return { 'set-cookie': endedCookie(address().port) };
    },
  }),
  operation({
    method: 'POST',
    path: '/api/v1/login-links',
    about: 'makes a link that opens the console once, as `portcullis console` prints it',
    access: 'owner',
    body: z.strictObject({ role: shapes.role.default('operator') }),
    result: shapes.loginLink,
    refusals: { 409: 'no browser can reach the address of the port' },
    run: ({ body: { role } }) => {
      const { origin } = address();
      if (origin === undefined)
        throw new ApiProblem(409, 'no browser can reach a Unix socket: set adminAddr to an address of TCP');
      const url = loginUrl(origin, access.links.make(role));
      return { url, role, expiresAt: new Date(Date.now() + linkLimits.livesMs).toISOString() };
    },
  }),
];
