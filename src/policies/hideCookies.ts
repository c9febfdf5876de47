import { ownCookieNames } from './facts.ts';
import type { Steps } from './policy.ts';

/** The pairs of a `Cookie` header that policies have set: a policy may put more text behind a dash. */
const isOwn = new RegExp(`^(?:__Host-)?(?:${ownCookieNames.join('|')})[-=]`);

/**
 * Keeps the cookies of logins from backends: a backend that has one could use it at the gateway as its user. Browsers
 * send them to every path and port of the host, so the step stands on every route, behind all others.
 */
export const hideCookies: Steps = {
  onRequest({ request, requestHeaders }) {
    const sent = request.header('cookie');
    if (sent === undefined || !ownCookieNames.some((name) => sent.includes(name))) return undefined;
    const edited = requestHeaders.lines.find(([name]) => name === 'cookie')?.[1];
    const pairs = (edited ?? (requestHeaders.dropsName('cookie') ? '' : sent))
      .split(/[;,]/)
      .map((pair) => pair.trim());
    const kept = pairs.filter((pair) => pair !== '' && !isOwn.test(pair));
    if (kept.length === 0) requestHeaders.remove('cookie');
    else requestHeaders.set('cookie', kept.join('; '));
    return undefined;
  },
};
