/** Host and port of a request, as RFC 3986 §3.2 and RFC 9112 §3.2 allow them. */
export interface Authority {
  /** Lower case, without port and without a trailing dot; an IPv6 literal keeps its brackets. */
  readonly host: string;
  /** As sent, lower case. */
  readonly authority: string;
}

// No user info, no percent-encoding: a host name is letters, digits, hyphens, underscores (found in the wild) and dots.
const grammar = /^((?:[a-z0-9_-]+\.)*[a-z0-9_-]+\.?|\[[0-9a-f:.]+\])(?::([0-9]{0,5}))?$/;

/** Parsed authorities by their text: clients name few hosts, over and over. */
const known = new Map<string, Authority>();
const KNOWN_MOST = 4096;
/** The last authority is mostly the next one, too, and comparing costs less than a look into a map. */
let last: Authority = { host: '', authority: '' };

/** @returns undefined where the text is no valid authority */
export function parseAuthority(text: string): Authority | undefined {
  if (text === last.authority && text !== '') return last;
  const hit = known.get(text);
  if (hit !== undefined) {
    last = hit;
    return hit;
  }
  if (text.length > 260) return undefined;
  const authority = text.toLowerCase();
  const parts = grammar.exec(authority);
  if (parts === null || Number(parts[2] ?? 0) > 65_535) return undefined;
  const host = (parts[1] as string).replace(/\.$/, '');
  const parsed = { host, authority };
  if (known.size < KNOWN_MOST) known.set(text, parsed);
  return parsed;
}
