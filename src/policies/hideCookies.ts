import { editCookies } from '../http/index.ts';
import { ownCookieNames } from './facts.ts';
import type { Steps } from './policy.ts';

/** The names of cookies that policies have set: a policy may put more text behind a dash. */
const isOwn = new RegExp(`^(?:__Host-)?(?:${ownCookieNames.join('|')})(?:-|$)`);

/**
 * Keeps the cookies of logins from backends: a backend that has one could use it at the gateway as its user. Browsers
 * send them to every path and port of the host, so the step stands on every route, behind all others.
 */
export const hideCookies: Steps = {
  onRequest({ request, requestHeaders }) {
    const sent = request.header('cookie');
    if (sent !== undefined && ownCookieNames.some((name) => sent.includes(name)))
      editCookies(request, requestHeaders, (name) => isOwn.test(name));
    return undefined;
  },
};
