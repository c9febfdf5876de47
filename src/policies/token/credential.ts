import { cookieValues, editCookies } from '../../http/index.ts';
import type { Exchange } from '../policy.ts';
import type { Location, TokenLocation } from './schema.ts';
import { textReader } from './textExpression.ts';

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

/**
 * The same for a place that an expression may find.
 * @param what names the policy in the log
 * @throws Error for an expression that does not compile
 */
export function tokenReader(location: TokenLocation, what: string): CredentialReader {
  if (location.kind !== 'expression') return credentialReader(location);
  const read = textReader(location.expression, `${what}.location`);
  const tokenOf = (exchange: Exchange): string | undefined => {
    const token = read(exchange)?.trim();
    return token === '' ? undefined : token;
  };
  return {
    read: tokenOf,
    // An expression does not say where the token stands, so every header and parameter that holds the token goes.
    strip(exchange) {
      const token = tokenOf(exchange);
      if (token === undefined) return;
      for (const [name, value] of exchange.request.headerLines())
        if (value.includes(token)) exchange.requestHeaders.remove(name);
      keepParameters(exchange, (pair) => !new URLSearchParams(pair).toString().includes(encoded(token)));
    },
  };
}

/** A text as `URLSearchParams` writes it. */
const encoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

/** Leaves out parameters of the target for the backend. */
function keepParameters(exchange: Exchange, isKept: (pair: string) => boolean): void {
  const mark = exchange.forwardTarget.indexOf('?');
  if (mark < 0) return;
  const kept = exchange.forwardTarget
    .slice(mark + 1)
    .split('&')
    .filter(isKept);
  const path = exchange.forwardTarget.slice(0, mark);
  exchange.forwardTarget = kept.length === 0 ? path : `${path}?${kept.join('&')}`;
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
  return {
    read(exchange) {
      const [first, ...others] = cookieValues(exchange.request.header('cookie'), name);
      // Two of them: one may have been planted by another site of the domain, so neither counts.
      return others.length > 0 ? '' : first;
    },
    strip(exchange) {
      editCookies(exchange.request, exchange.requestHeaders, (known) => known === name);
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
      keepParameters(exchange, (pair) => !isOurs(pair));
    },
  };
}
