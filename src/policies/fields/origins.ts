import { z } from 'zod';

/** `*`, `null`, or scheme://host[:port] with `*` in place of the leftmost labels, of the whole host, or of the port. */
const originPattern =
  /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/(?:\*|(?:\*\.)?(?:[a-z0-9._-]+|\[[0-9a-f:.]+\]))(?::(?:\d{1,5}|\*))?)$/i;

/** Patterns that a page of any site can fulfil: `*`, `null`, and any host of a scheme, whatever the port. */
export const anySite = /^(?:\*|null|[^/]+:\/\/\*(?::.*)?)$/;

export const origin = z
  .string()
  .max(512)
  .regex(originPattern, 'expected an origin such as https://app.example.com, https://*.example.com, or *')
  .transform((text) => text.toLowerCase())
  .meta({ description: 'An origin (scheme, host and port where it is not the usual one), or `*` for any.' });

/** Is this origin one of the configured ones? Patterns are lower case; so is what is asked for. */
export type OriginTest = (origin: string) => boolean;

/**
 * `*`, exact origins, `scheme://*.example.com` (any name below, not itself), `scheme://*` (any host) and
 * `scheme://host:*` (any port).
 */
export function originTest(patterns: readonly string[]): OriginTest {
  if (patterns.includes('*')) return () => true;
  const known = patterns.map(withoutUsualPort);
  const exact = new Set(known.filter((pattern) => !pattern.includes('*')));
  const wild = known.filter((pattern) => pattern.includes('*')).map(split);
  return (text) => {
    const origin = withoutUsualPort(text);
    if (exact.has(origin)) return true;
    if (wild.length === 0) return false;
    const given = split(origin);
    return wild.some((pattern) => fits(pattern, given));
  };
}

/** Browsers leave the port of the scheme out of an origin (RFC 6454 §6.2). */
export const withoutUsualPort = (origin: string): string =>
  origin.replace(/^(http:\/\/.+):80$|^(https:\/\/.+):443$/, '$1$2');

interface Parts {
  readonly scheme: string;
  readonly host: string;
  readonly port: string;
}

function split(origin: string): Parts | undefined {
  const [, scheme = '', host = '', port = ''] =
    /^([a-z][a-z0-9+.-]*):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._*-]+)(?::(\d{1,5}|\*))?$/.exec(origin) ?? [];
  return scheme === '' ? undefined : { scheme, host, port };
}

function fits(pattern: Parts | undefined, given: Parts | undefined): boolean {
  if (pattern === undefined || given === undefined || pattern.scheme !== given.scheme) return false;
  if (pattern.port !== '*' && pattern.port !== given.port) return false;
  if (pattern.host === '*') return true;
  if (!pattern.host.startsWith('*.')) return pattern.host === given.host;
  // The dot belongs to the suffix: evilexample.com is not below example.com.
  const suffix = pattern.host.slice(1);
  return given.host.length > suffix.length && given.host.endsWith(suffix);
}
