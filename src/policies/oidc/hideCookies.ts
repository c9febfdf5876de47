import type { Steps } from '../policy.ts';
import { isOwnCookie } from './cookies.ts';
import { cookieName } from './facts.ts';

/**
 * Keeps the cookies of logins from backends: a backend that has one could use it at the gateway as its user. Browsers
 * send them to every path and port of the host, so the step stands on every route, behind all others.
 */
export const hideCookies: Steps = {
  onRequest({ request, requestHeaders }) {
    const sent = request.header('cookie');
    if (sent === undefined || !sent.includes(`${cookieName}-`)) return undefined;
    const edited = requestHeaders.lines.find(([name]) => name === 'cookie')?.[1];
    const pairs = (edited ?? (requestHeaders.dropsName('cookie') ? '' : sent))
      .split(/[;,]/)
      .map((pair) => pair.trim());
    const kept = pairs.filter((pair) => pair !== '' && !isOwnCookie(pair));
    if (kept.length === 0) requestHeaders.remove('cookie');
    else requestHeaders.set('cookie', kept.join('; '));
    return undefined;
  },
};
