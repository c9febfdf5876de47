import { gather } from '../gatheredBytes.ts';

/** A document from another server, and how long it says it stays fresh. */
export interface FetchedText {
  readonly text: string;
  /** From Cache-Control: max-age (less Age); 0 for no-store and no-cache; undefined where nothing is said. */
  readonly maxAgeMs: number | undefined;
}

export interface FetchOptions {
  readonly fetch: typeof fetch;
  /** For the whole exchange, redirects included. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** The media types to ask for. */
  readonly accept: string;
  /** A redirect may lead to another path of the same server, and nowhere else. */
  readonly sameOrigin?: boolean;
  /** 3 unless given. */
  readonly maxRedirects?: number;
}

/** The server did not answer at all, so another path of it would not either. */
export class Unreachable extends Error {}

/**
 * GETs a document from an address the operator configured. Follows few redirects and never from https to http; reads no
 * more than `maxBytes`.
 * @throws Error with a message fit for the log
 */
export async function fetchText(url: string, options: FetchOptions): Promise<FetchedText> {
  const { maxRedirects = 3 } = options;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  let at = new URL(url);
  for (let hops = 0; ; hops += 1) {
    const response = await ask(at, options, signal);
    const location =
      response.status >= 300 && response.status < 400 ? response.headers.get('location') : null;
    if (location === null) return await read(response, options.maxBytes);
    await response.body?.cancel();
    if (hops >= maxRedirects) throw new Error('too many redirects');
    const to = next(at, location);
    if (options.sameOrigin === true && to.origin !== at.origin)
      throw new Error(`redirected to another server (${to.origin})`);
    at = to;
  }
}

async function ask(url: URL, { fetch: send, accept }: FetchOptions, signal: AbortSignal): Promise<Response> {
  try {
    return await send(url, {
      redirect: 'manual',
      signal,
      headers: { accept },
    });
  } catch (error) {
    if (signal.aborted) throw new Unreachable('no answer in time', { cause: error });
    const { cause } = error as { cause?: { code?: string; message?: string } };
    throw new Unreachable(`not reachable: ${cause?.code ?? cause?.message ?? String(error)}`, {
      cause: error,
    });
  }
}

function next(from: URL, location: string): URL {
  const to = URL.parse(location, from.href);
  if (to === null || !/^https?:$/.test(to.protocol))
    throw new Error('redirected to a URL that is not http or https');
  if (from.protocol === 'https:' && to.protocol !== 'https:')
    throw new Error('redirected from https to http');
  return to;
}

async function read(response: Response, maxBytes: number): Promise<FetchedText> {
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`answered ${response.status}`);
  }
  let bytes: Buffer;
  try {
    bytes = await gather(
      (response.body ?? []) as AsyncIterable<Uint8Array>,
      maxBytes,
      () => new RangeError(`answer is over ${maxBytes} bytes`),
    );
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw new Error('the response was cut off', { cause: error });
  }
  return { text: bytes.toString('utf8'), maxAgeMs: freshness(response.headers) };
}

/** RFC 9111 §5.2.2, as far as a cache of one document needs it. */
function freshness(headers: Headers): number | undefined {
  const control = headers.get('cache-control')?.toLowerCase() ?? '';
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])/.test(control)) return 0;
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})/.exec(control)?.[1];
  if (seconds === undefined) return undefined;
  const age = Number(headers.get('age') ?? 0);
  return Math.max(0, Number(seconds) - (age > 0 ? age : 0)) * 1000;
}
