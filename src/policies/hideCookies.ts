import { editCookies, type HeaderLine } from '../http/index.ts';
import { ownCookieNames } from './facts.ts';
import { isOwnCookie } from './ownCookies.ts';
import type { Steps } from './policy.ts';

/** The name in a `Set-Cookie` field. A browser sends `=name=value` as `name=value`. */
const nameThatIsSet = /^[\s=]*([^=;]*)/;

const setsOwn = (line: string): boolean => isOwnCookie(nameThatIsSet.exec(line)?.[1]?.trimEnd() ?? '');
/** Is it a `Set-Cookie` line with such a cookie? With that of another login, the client would act as somebody else. */
export const setsLogin = ([name, value]: HeaderLine): boolean => name === 'set-cookie' && setsOwn(value);

const mayHoldOwn = (text: string): boolean => ownCookieNames.some((name) => text.includes(name));

/**
 * Keeps the cookies of logins from backends: a backend that has one could use it at the gateway as its user. Backends
 * set no such cookie, either: with the cookie of another login, the user would act as somebody else. Browsers send
 * cookies to every path and port of the host, so the step stands on every route, behind all others.
 */
export const hideCookies: Steps = {
  onRequest({ request, requestHeaders }) {
    const sent = request.header('cookie');
    if (sent !== undefined && mayHoldOwn(sent)) editCookies(request, requestHeaders, isOwnCookie);
    return undefined;
  },
  onResponse({ responseHeaders }, _status, head) {
    const set = responseHeaders.dropsName('set-cookie') ? undefined : head?.get('set-cookie');
    if (head === undefined || set === undefined || !mayHoldOwn(set)) return;
    const isCookie = ([name]: HeaderLine): boolean => name === 'set-cookie';
    const kept = head.lines().filter((line) => isCookie(line) && !setsOwn(line[1]));
    const ours = responseHeaders.lines.filter(isCookie);
    responseHeaders.remove('set-cookie');
    for (const line of [...kept, ...ours]) responseHeaders.add(...line);
  },
};
