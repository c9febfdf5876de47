import { ownCookieNames } from './facts.ts';

/** The names of cookies that policies have set: a policy may put more text behind a dash. */
const own = new RegExp(`^(?:__Host-)?(?:${ownCookieNames.join('|')})(?:-|$)`);

/** Is it a cookie by which the gateway knows a login? */
export const isOwnCookie = (name: string): boolean => own.test(name);
