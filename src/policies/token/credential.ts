import { GatewayError } from '../../errors.ts';
import {
  cookiePairs,
  cookieValues,
  editCookiePairs,
  editCookies,
  holdsCookie,
  isBeyondClient,
  withoutParameters,
} from '../../http/index.ts';
import type { Exchange } from '../policy.ts';
import { bearer, type Location, type TokenLocation } from './schema.ts';
import { textReader } from './textExpression.ts';

/** Finds the token in a request and takes it out of what goes upstream. */
export interface CredentialReader {
  /**
   * The token as it stands there; undefined where there is none. Empty where its place holds no token, or a text that
   * only some servers read as one: the backend must not find a token that the gateway has not checked.
   */
  read(exchange: Exchange): string | undefined;
  /** The texts that stand for the token in the request, for logs that hide them. */
  texts(exchange: Exchange): readonly string[];
  /** A token is for us (RFC 9700, MCP: no token pass-through): the backend does not get it. */
  strip(exchange: Exchange): void;
}

export function credentialReader(location: Location): CredentialReader {
  if (location.kind === 'header') return headerReader(location.name, location.prefix);
  return location.kind === 'cookie' ? cookieReader(location.name) : queryReader(location.name);
}

export interface TokenReader extends Pick<CredentialReader, 'read' | 'texts'> {
  /**
   * @param token the text that `read` returned
   * @throws GatewayError token_misplaced where the token also stands in a field that the gateway must not drop
   */
  strip(exchange: Exchange, token: string): void;
}

/**
 * The same for a place that an expression may find.
 * @param what names the policy in the log
 * @param form `compact`: another text is no token, and stays where it is. `any`: a server takes texts of every form, and the
 *   request goes on only if it has taken this one.
 * @throws Error for an expression that does not compile
 */
export function tokenReader(
  location: TokenLocation,
  what: string,
  form: 'compact' | 'any' = 'compact',
): TokenReader {
  if (location.kind !== 'expression') return credentialReader(location);
  const { read, readForLog } = textReader(location.expression, `${what}.location`);
  // A token from elsewhere could be chosen so that logs hide the path.
  const readsPath = /path|uri/i.test(location.expression);
  return {
    read(exchange) {
      const token = read(exchange)?.trim() || undefined;
      if (token !== undefined && readsPath) notePathCredential(exchange, token);
      return token;
    },
    texts: (exchange) => present(readForLog(exchange)?.trim()),
    strip(exchange, token) {
      if (isCompactToken(token) || (form === 'any' && token.length >= leastTelling))
        stripHolders(exchange, token);
      else if (form === 'any') stripWhole(exchange, token);
      else stripUsualPlace(exchange, token);
    },
  };
}

/** Characters of the shortest text that logs hide within a path. */
const leastHidden = 4;

/** An expression may take the token out of the path, which logs show. */
function notePathCredential(exchange: Exchange, token: string): void {
  for (const text of new Set([token, encoded(token)]))
    if (text.length >= leastHidden && exchange.request.path.includes(text))
      (exchange.pathCredentials ??= []).push(text);
}

/** Characters of a text that stands in another field by intent only. */
const leastTelling = 16;

/** An expression does not say where the token stands, so every header, cookie and parameter that holds the token goes. */
function stripHolders(exchange: Exchange, token: string): void {
  const holds = (value: string): boolean => value.includes(token);
  const misplaced = exchange.request
    .headerLines()
    .find(([name, value]) => isBeyondClient(name) && holds(value));
  if (misplaced !== undefined)
    throw new GatewayError('token_misplaced', { detail: `the token is also in ${misplaced[0]}` });
  removeFields(exchange, holds);
  dropParameters(exchange, (pair) => new URLSearchParams(pair).toString().includes(encoded(token)));
}

/** A short text may be a part of others by chance. */
function stripWhole(exchange: Exchange, token: string): void {
  removeFields(exchange, (value) => isWhole(value, token));
  dropParameters(exchange, (pair) => [...new URLSearchParams(pair).values()].includes(token));
}

/** Removes the fields that hold a token. Cookies without the token stay: the backend keeps its sessions in them. */
function removeFields({ request, requestHeaders }: Exchange, holds: (value: string) => boolean): void {
  for (const [name, value] of request.headerLines())
    if (name !== 'cookie' && !isBeyondClient(name) && holds(value)) requestHeaders.remove(name);
  const cookies = request.header('cookie') ?? '';
  if (cookiePairs(cookies).some(holds)) editCookiePairs(request, requestHeaders, holds);
  // A text with a semicolon stands in no single cookie.
  else if (holds(cookies)) requestHeaders.remove('cookie');
}

/** Is the value the text, alone, or behind a scheme or a name? */
const isWhole = (value: string, text: string): boolean =>
  value === text || [` ${text}`, `=${text}`, `="${text}"`].some((end) => value.endsWith(end));

/**
 * Is the text a token in compact form (RFC 7515 §3.1, RFC 7516 §3.1)? A caller may choose any text, such as a number
 * or a host name, and that text must not remove the fields that happen to contain it.
 */
function isCompactToken(text: string): boolean {
  const [head = '', ...others] = text.split('.');
  if (others.length < 2 || !/^[\w.+/=-]+$/.test(text)) return false;
  try {
    const header: unknown = JSON.parse(Buffer.from(head, 'base64url').toString());
    return typeof header === 'object' && header !== null && 'alg' in header;
  } catch {
    return false;
  }
}

/** A refused text in `Authorization` must not serve as a token further on, such as in a token exchange. */
function stripUsualPlace(exchange: Exchange, text: string): void {
  const value = exchange.request.header(bearer.name);
  if (value !== undefined && isWhole(value, text)) exchange.requestHeaders.remove(bearer.name);
}

const present = (text: string | undefined): readonly string[] => (text ? [text] : []);

/** A text as `URLSearchParams` writes it. */
const encoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

/** Leaves out parameters of the target for the backend and for servers that policies ask. */
function dropParameters(exchange: Exchange, isDropped: (pair: string) => boolean): void {
  exchange.forwardTarget = withoutParameters(exchange.forwardTarget, isDropped);
  exchange.clientTarget = withoutParameters(exchange.clientTarget, isDropped);
}

/** Bytes beyond ASCII count as blanks, because UTF-8 and Latin-1 have blanks among them. */
const leadingBlanks = /^[\s\x80-\xff]+/;

function headerReader(name: string, prefix: string): CredentialReader {
  const scheme = prefix.trimEnd().toLowerCase();
  // An authentication scheme is a word of its own: `Bearerx` is another one (RFC 9110 §11.4).
  const word = prefix !== '' && scheme.length < prefix.length;
  const begins = (text: string, blank: RegExp): boolean =>
    text.slice(0, scheme.length).toLowerCase() === scheme &&
    (!word || text.length === scheme.length || blank.test(text.charAt(scheme.length)));
  return {
    read(exchange) {
      const value = exchange.request.header(name);
      if (value === undefined) return undefined;
      if (begins(value, / /)) return value.slice(scheme.length).trim();
      // Some servers take other white space, or the last of several lines, which a comma joins here.
      return value.split(',').some((part) => begins(part.replace(leadingBlanks, ''), /[\s\x80-\xff]/))
        ? ''
        : undefined;
    },
    // A caller that leaves out the scheme has sent its token all the same.
    texts(exchange) {
      const value = exchange.request.header(name)?.trim();
      return [...present(value), ...present(value?.split(/[\s\x80-\xff]/).at(-1))];
    },
    strip(exchange) {
      exchange.requestHeaders.remove(name);
    },
  };
}

function cookieReader(name: string): CredentialReader {
  const isOurs = (known: string): boolean => known === name;
  /** The cookies of a header in which only some servers find the name. */
  const elsewhere = (text = ''): string[] =>
    text.includes(name) ? cookiePairs(text).filter((pair) => holdsCookie(pair, isOurs)) : [];
  return {
    read(exchange) {
      const text = exchange.request.header('cookie');
      const [first, ...others] = cookieValues(text, name);
      // Two of them: one may have been planted by another site of the domain, so neither counts.
      if (others.length > 0) return '';
      return first ?? (elsewhere(text).length > 0 ? '' : undefined);
    },
    texts({ request }) {
      const text = request.header('cookie');
      const values = cookieValues(text, name);
      return (values.length > 0 ? values : elsewhere(text)).flatMap(present);
    },
    strip(exchange) {
      editCookies(exchange.request, exchange.requestHeaders, isOurs);
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
    texts({ request: { query } }) {
      const raw = query.split('&').filter(isOurs);
      const written = raw.map((pair) => pair.slice(pair.indexOf('=') + 1));
      return [...written, ...new URLSearchParams(raw.join('&')).getAll(name)].flatMap(present);
    },
    strip(exchange) {
      dropParameters(exchange, isOurs);
    },
  };
}
