import type { Exchange } from '../policy.ts';
import type { Location } from './schema.ts';

/** Finds the token in a request and takes it out of what goes upstream. */
export interface CredentialReader {
  /** The token as it stands there; empty where its place is there and holds none; undefined where there is none. */
  read(exchange: Exchange): string | undefined;
  /** A token is for us (RFC 9700, MCP: no token pass-through): the backend does not get it. */
  strip(exchange: Exchange): void;
}

export function credentialReader(location: Location): CredentialReader {
  if (location.kind === 'header') return headerReader(location.name, location.prefix);
  return location.kind === 'cookie' ? cookieReader(location.name) : queryReader(location.name);
}

function headerReader(name: string, prefix: string): CredentialReader {
  const scheme = prefix.trimEnd().toLowerCase();
  // An authentication scheme is a word of its own: `Bearerx` is another one (RFC 9110 §11.4).
  const word = prefix !== '' && scheme.length < prefix.length;
  return {
    read(exchange) {
      const value = exchange.request.header(name);
      if (value === undefined) return undefined;
      if (value.slice(0, scheme.length).toLowerCase() !== scheme) return undefined;
      const rest = value.slice(scheme.length);
      if (word && rest !== '' && rest[0] !== ' ') return undefined;
      return rest.trim();
    },
    strip(exchange) {
      exchange.requestHeaders.remove(name);
    },
  };
}

function cookieReader(name: string): CredentialReader {
  const pairs = (exchange: Exchange): string[] =>
    (exchange.request.header('cookie') ?? '')
      // Several Cookie lines arrive joined by a comma; a cookie's value holds none (RFC 6265 §4.1.1).
      .split(/[;,]/)
      .map((pair) => pair.trim())
      .filter((pair) => pair !== '');
  const isOurs = (pair: string): boolean => pair.startsWith(`${name}=`);
  return {
    read(exchange) {
      const [first, ...others] = pairs(exchange).filter(isOurs);
      if (first === undefined) return undefined;
      // Two of them: one may have been planted by another site of the domain, so neither counts.
      return others.length > 0 ? '' : first.slice(name.length + 1);
    },
    strip(exchange) {
      const kept = pairs(exchange).filter((pair) => !isOurs(pair));
      if (kept.length === 0) exchange.requestHeaders.remove('cookie');
      else exchange.requestHeaders.set('cookie', kept.join('; '));
    },
  };
}

function queryReader(name: string): CredentialReader {
  const isOurs = (pair: string): boolean => new URLSearchParams(pair).has(name);
  return {
    read(exchange) {
      const { query } = exchange.request;
      if (query === '') return undefined;
      const [first, ...others] = new URLSearchParams(query).getAll(name);
      return others.length > 0 ? '' : first;
    },
    strip(exchange) {
      const mark = exchange.forwardTarget.indexOf('?');
      if (mark < 0) return;
      const kept = exchange.forwardTarget
        .slice(mark + 1)
        .split('&')
        .filter((pair) => !isOurs(pair));
      const path = exchange.forwardTarget.slice(0, mark);
      exchange.forwardTarget = kept.length === 0 ? path : `${path}?${kept.join('&')}`;
    },
  };
}
