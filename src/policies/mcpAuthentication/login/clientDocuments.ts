/** Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): the id of a client is their address. */

import { z } from 'zod';
import { hostnameMatches } from '../../../model/index.ts';
import { DocumentReads, type DocumentReach } from './documentReads.ts';
import { shownName, type KnownClient } from './knownClient.ts';
import { redirectUriList } from './redirectUris.ts';

export interface ClientDocumentSettings {
  /** Host names; a leading `*.` stands for one or more labels, `*` alone for every host. */
  readonly hosts: readonly string[];
  /** Networks that are not public, and that documents may come from. */
  readonly networks?: readonly string[] | undefined;
}

const longestId = 1_024;
const mostRedirectUris = 64;

/** Everybody can read the document, so a secret in it would be none. */
const noSecret = z.undefined({ error: 'a document cannot hold a secret' }).optional();

const document = z.looseObject({
  client_id: z.string(),
  client_name: z.string().min(1).max(200).optional(),
  redirect_uris: redirectUriList(mostRedirectUris),
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
  /** A tenant may have written the settings: no network opens loopback, link-local or metadata addresses. */
  readonly guarded: boolean;
  /** An object that the process has once: all policies of a process share what they have read, and its limits. */
  readonly owner: object;
}

/**
 * Reads the metadata documents of clients. Strangers write their addresses, so the gateway reads only those of hosts
 * that the operator has named, at public addresses or in networks that he has named, and follows no redirect.
 */
export class ClientDocuments {
  private readonly hosts: readonly string[];
  private readonly reads: DocumentReads;
  private readonly reach: DocumentReach;
  private readonly now: () => number;

  constructor({ hosts, networks: own = [] }: ClientDocumentSettings, { now, guarded, owner }: DocumentTools) {
    this.hosts = hosts;
    this.now = now;
    this.reads = DocumentReads.of(owner);
    this.reach = this.reads.reach(own, guarded);
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
    const { reach, now } = this;
    return await this.reads.get({ id, reach, now, read: clientOf });
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
