/** Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): the id of a client is their address. */

import { z } from 'zod';
import { closedAddresses, getJson, guardedFetch, isAmong, specialAddresses } from '../../../auth/index.ts';
import { networks } from '../../../http/index.ts';
import { hostnameMatches } from '../../../model/index.ts';
import { shownName, type KnownClient } from './knownClient.ts';
import { isRedirectUri } from './redirectUris.ts';

export interface ClientDocumentSettings {
  /** Host names; a leading `*.` stands for one or more labels, `*` alone for every host. */
  readonly hosts: readonly string[];
  /** Networks that are not public, and that documents may come from. */
  readonly networks?: readonly string[] | undefined;
}

const longestId = 1_024;
/** The draft proposes 5 KB as the limit, for documents without keys. */
const mostBytes = 16_384;
const timeoutMs = 5_000;
const mostAtOnce = 16;
const mostKept = 1_000;
/** A document stays fresh for as long as its server says, within these limits. */
const fresh = { shortestMs: 60_000, usualMs: 15 * 60_000, longestMs: 24 * 60 * 60_000 };

const mostRedirectUris = 64;

/** Everybody can read the document, so a secret in it would be none. */
const noSecret = z.undefined({ error: 'a document cannot hold a secret' }).optional();

const document = z.looseObject({
  client_id: z.string(),
  client_name: z.string().min(1).max(200).optional(),
  redirect_uris: z
    .array(z.string().refine(isRedirectUri, 'expected https, an app scheme, or http on a loopback address'))
    .min(1)
    .max(mostRedirectUris),
  grant_types: z
    .array(z.string())
    .refine(has('authorization_code'), 'authorization_code is missing')
    .optional(),
  response_types: z.array(z.string()).refine(has('code'), 'code is missing').optional(),
  token_endpoint_auth_method: z.literal('none').optional(),
  client_secret: noSecret,
  client_secret_expires_at: noSecret,
});

function has(value: string): (list: readonly string[]) => boolean {
  return (list) => list.includes(value);
}

export interface DocumentTools {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A tenant may have written the settings: no network opens addresses of the proxy, its node or its cloud. */
  readonly guarded: boolean;
}

interface Kept {
  readonly client: KnownClient;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/**
 * Reads the metadata documents of clients. Strangers write their addresses, so the gateway reads only those of hosts
 * that the operator has named, at public addresses or in networks that he has named, and follows no redirect.
 */
export class ClientDocuments {
  private readonly hosts: readonly string[];
  private readonly fetch: typeof fetch;
  private readonly now: () => number;
  private readonly kept = new Map<string, Kept>();
  private readonly running = new Map<string, Promise<KnownClient>>();
  private readonly ended = new AbortController();

  constructor({ hosts, networks: own = [] }: ClientDocumentSettings, { now, guarded }: DocumentTools) {
    const open = networks(own);
    const closed = guarded ? closedAddresses() : undefined;
    this.hosts = hosts;
    this.now = now;
    this.fetch = guardedFetch({
      closed: specialAddresses(),
      isOpen: (address) => open.has(address) && (closed === undefined || !isAmong(closed, address)),
    });
  }

  close(): void {
    this.ended.abort();
  }

  /** Is the id the address of a document, of a host that may describe clients? */
  admits(id: string): boolean {
    const url = addressOf(id);
    return (
      url !== undefined &&
      this.hosts.some((pattern) => pattern === '*' || hostnameMatches(pattern, url.hostname))
    );
  }

  /**
   * The client that a document describes.
   * @param id one that `admits` has let pass
   * @throws Error with a message fit for the log
   */
  async get(id: string): Promise<KnownClient> {
    const kept = this.kept.get(id);
    if (kept !== undefined && this.now() < kept.until) return kept.client;
    const running = this.running.get(id);
    if (running !== undefined) return await running;
    if (this.running.size >= mostAtOnce) throw new Error('too many documents are being read');
    const reading = this.read(id).finally(() => this.running.delete(id));
    this.running.set(id, reading);
    return await reading;
  }

  private async read(id: string): Promise<KnownClient> {
    const { value, maxAgeMs = fresh.usualMs } = await getJson(id, {
      fetch: this.fetch,
      signal: this.ended.signal,
      timeoutMs,
      maxBytes: mostBytes,
      maxRedirects: 0,
    });
    const client = clientOf(id, value);
    const freshMs = Math.min(Math.max(maxAgeMs, fresh.shortestMs), fresh.longestMs);
    this.keep(id, { client, until: this.now() + freshMs });
    return client;
  }

  /** Keeps the documents that were read last. */
  private keep(id: string, kept: Kept): void {
    this.kept.delete(id);
    const [oldest] = this.kept.keys();
    if (oldest !== undefined && this.kept.size >= mostKept) this.kept.delete(oldest);
    this.kept.set(id, kept);
  }
}

/** Ids are compared as texts, so only the usual form of an address is one: without dot segments, user and fragment. */
function addressOf(id: string): URL | undefined {
  if (id.length > longestId || !id.startsWith('https://')) return undefined;
  const url = URL.parse(id);
  if (url === null || url.href !== id || id.includes('#')) return undefined;
  return url.username === '' && url.password === '' && url.pathname !== '/' ? url : undefined;
}

/** @throws Error for a document that describes no client, or another one */
function clientOf(id: string, value: unknown): KnownClient {
  const read = document.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new Error(`${issue?.path.join('.') || 'document'}: ${issue?.message ?? 'not valid'}`);
  }
  const { client_id: named, client_name: name, redirect_uris: redirectUris } = read.data;
  if (named !== id) throw new Error('client_id: the document describes another client');
  const { host } = new URL(id);
  return { name: shownName(name ?? host), redirectUris, host };
}
