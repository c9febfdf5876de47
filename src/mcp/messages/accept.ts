/** The forms of answer that a client accepts (RFC 9110 §12.5.1). */

export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
  /** Takes both and names the event stream first: it wants a stream, which it could resume. */
  readonly prefersEvents: boolean;
}

const everything: Accepted = { json: true, events: true, prefersEvents: false };

/** Clients send the same few values over and over; the bound keeps a hostile one from filling memory. */
const cache = new Map<string, Accepted>();
const cacheSize = 64;

/**
 * Reads `Accept`. The specification wants both types listed; real clients send one, a wildcard or nothing, and an
 * answer in what they take is possible, so they get it.
 */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header.trim() === '') return everything;
  const known = cache.get(header);
  if (known !== undefined) return known;
  const accepted = parse(header);
  if (cache.size < cacheSize && header.length <= 256) cache.set(header, accepted);
  return accepted;
}

function parse(header: string): Accepted {
  const json = weightOf(header, ['application/json', 'application/*', '*/*']);
  const events = weightOf(header, ['text/event-stream', 'text/*', '*/*']);
  // Among equals the choice is the server's; the order is the only hint that clients give.
  const first = /application\/json|text\/event-stream/i.exec(header)?.[0].toLowerCase();
  return { json, events, prefersEvents: json && events && first === 'text/event-stream' };
}

/** The most specific range that stands in the header decides; `q=0` excludes. */
function weightOf(header: string, ranges: readonly string[]): boolean {
  const weights = new Map<string, boolean>();
  for (const item of header.split(',')) {
    const [range = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    weights.set(range, !parameters.some((parameter) => /^q=0(?:\.0{0,3})?$/.test(parameter)));
  }
  for (const range of ranges) {
    const accepted = weights.get(range);
    if (accepted !== undefined) return accepted;
  }
  return false;
}

/** Is this the media type of a JSON-RPC message, with whatever parameters? */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return false;
  if (contentType === 'application/json') return true;
  return /^application\/json\s*(?:;|$)/i.test(contentType.trim());
}
