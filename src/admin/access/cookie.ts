import { cookieValues } from '../../http/index.ts';

/** A browser keeps the cookies of a host for all its ports, so the name has the port. */
const nameOf = (port: number): string => `portcullis-console-${port}`;

/** The values of the console's cookie in a `Cookie` header. */
export const sessionIdsIn = (header: string | undefined, port: number): readonly string[] =>
  cookieValues(header, nameOf(port)).filter((id) => id !== '');

/** The value of `Set-Cookie` for a session. No script reads it, and no other site sends it. */
export const sessionCookie = (id: string, port: number): string =>
  `${nameOf(port)}=${id}; HttpOnly; SameSite=Strict; Path=/`;

/** The value of `Set-Cookie` that removes the cookie. */
export const endedCookie = (port: number): string => `${sessionCookie('', port)}; Max-Age=0`;
