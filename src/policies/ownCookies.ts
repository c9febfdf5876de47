import { cookiePairs, holdsCookie, type HeaderLine } from '../http/index.ts';
import { ownCookieNames } from './facts.ts';

/** The names of cookies that policies have set: a policy may put more text behind a dash. */
const own = new RegExp(`^(?:__Host-)?(?:${ownCookieNames.join('|')})(?:-|$)`);

/** Is it a cookie by which the gateway knows a login? */
export const isOwnCookie = (name: string): boolean => own.test(name);

/** The lines without such cookies: a server that has one could act as its user. @param lines names in lower case */
export const withoutOwnCookies = (lines: readonly HeaderLine[]): readonly HeaderLine[] =>
  lines.flatMap(([name, value]): HeaderLine[] => {
    if (name !== 'cookie') return [[name, value]];
    const kept = cookiePairs(value).filter((pair) => !holdsCookie(pair, isOwnCookie));
    return kept.length === 0 ? [] : [[name, kept.join('; ')]];
  });
