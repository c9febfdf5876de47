import { shownUrl, Unreachable } from '../files/index.ts';
import { messageOf } from '../errorText.ts';
import { within } from '../within.ts';
import type { Logger } from '../telemetry/index.ts';
import { getJson } from './getJson.ts';
import { guardedFetch } from './guardedFetch.ts';

export interface IssuerMetadataOptions {
  readonly issuer: string;
  /** Ask the OpenID Connect discovery document first (otherwise that of RFC 8414). */
  readonly openid: boolean;
  /** The address of the document, where it is not one that follows from the issuer. */
  readonly url?: string;
  readonly log: Logger;
  readonly now: () => number;
  readonly fetch?: typeof fetch;
  readonly timeoutMs?: number;
  /** As that of a `KeySetSource`. */
  readonly guarded?: boolean;
}

/** The authorization server's own description of itself, fetched when somebody asks for it. */
export interface IssuerMetadata {
  /** The document; undefined where it cannot be had. Never rejects. */
  get(): Promise<Readonly<Record<string, unknown>> | undefined>;
  close(): void;
}

const maxBytes = 262_144;
const freshMs = 15 * 60_000;
/** After a failure the issuer is left alone for this long. */
const pauseMs = 5_000;
/** A fetch holds its callers up for so long if a document is known. */
const patienceMs = 1_000;

/**
 * Keeps the metadata of one issuer: one fetch at a time, remembered for 15 minutes, the last good one kept. A fetch that
 * takes longer than a second goes on without its callers if a document is known.
 */
export function createIssuerMetadata(options: IssuerMetadataOptions): IssuerMetadata {
  const ended = new AbortController();
  let document: Readonly<Record<string, unknown>> | undefined;
  let askAgainAt = Number.NEGATIVE_INFINITY;
  let running: { readonly whole: Promise<void>; readonly firstSecond: Promise<void> } | undefined;
  const { timeoutMs = 5_000, guarded: sameOrigin = false } = options;
  const plain: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  const send = sameOrigin ? (options.fetch ?? guardedFetch()) : plain;

  async function load(): Promise<void> {
    const problems: string[] = [];
    const { url: only, issuer, openid } = options;
    for (const url of only === undefined ? metadataUrls(issuer, openid) : [only]) {
      try {
        document = await metadataAt(url, {
          issuer,
          fetch: send,
          sameOrigin,
          timeoutMs,
          signal: ended.signal,
        });
        askAgainAt = options.now() + freshMs;
        return;
      } catch (error) {
        problems.push(`${shownUrl(url)}: ${messageOf(error)}`);
        // The other addresses are of the same server.
        if (error instanceof Unreachable) break;
      }
    }
    askAgainAt = options.now() + pauseMs;
    if (!ended.signal.aborted)
      options.log.warn('Issuer metadata could not be read', { problems: problems.join('; ') });
  }

  function begin(): NonNullable<typeof running> {
    const whole = load().finally(() => {
      running = undefined;
    });
    return { whole, firstSecond: within(patienceMs, whole) };
  }

  return {
    async get() {
      if (options.now() >= askAgainAt || running !== undefined) {
        const { whole, firstSecond } = (running ??= begin());
        await (document === undefined ? whole : firstSecond);
      }
      return document;
    },
    close() {
      ended.abort();
    },
  };
}

/** A request for a document of the issuer. */
export interface MetadataRequest {
  readonly issuer: string;
  readonly fetch: typeof fetch;
  readonly sameOrigin?: boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** @throws Error with a message fit for the log, Unreachable where the server did not answer */
export async function metadataAt(
  url: string,
  { issuer, ...request }: MetadataRequest,
): Promise<Readonly<Record<string, unknown>>> {
  const { value } = await getJson(url, { ...request, maxBytes });
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('not a JSON object');
  const metadata = value as Record<string, unknown>;
  // RFC 8414 §3.3: another issuer's document would send users to another issuer's login page (mix-up).
  if (metadata.issuer !== issuer) throw new Error('the document names another issuer');
  return metadata;
}

/** RFC 8414 §3.1 puts the well-known part before the path, OpenID Connect Discovery §4 after it; many do only one. */
export function metadataUrls(issuer: string, openid: boolean): string[] {
  const base = URL.parse(issuer);
  if (base === null || !/^https?:$/.test(base.protocol)) return [];
  const path = base.pathname.replace(/\/$/, '');
  const oauth = [
    `${base.origin}/.well-known/oauth-authorization-server${path}`,
    `${base.origin}${path}/.well-known/oauth-authorization-server`,
  ];
  const discovery = [
    `${base.origin}${path}/.well-known/openid-configuration`,
    `${base.origin}/.well-known/openid-configuration${path}`,
  ];
  return [...new Set(openid ? [...discovery, ...oauth] : [...oauth, ...discovery])];
}
