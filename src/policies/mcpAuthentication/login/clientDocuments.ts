/** Client ID metadata documents (draft-ietf-oauth-client-id-metadata-document): the id of a client is their address. */

import { z } from 'zod';
import {
  isAlgorithm,
  readClientKeys,
  verifyAssertion,
  type KeyList,
  type UnreadableToken,
  type ValidAssertion,
} from '../../../auth/index.ts';
import { hostnameMatches } from '../../../model/index.ts';
import { oncePerProcess } from '../../oncePerProcess.ts';
import { UsedOnce } from '../../usedOnce.ts';
import { DocumentReads, type DocumentReach } from './documentReads.ts';
import { shownName, tokenMethods, type ClientKeys, type KnownClient } from './knownClient.ts';
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
  token_endpoint_auth_method: z
    .string()
    .refine((method) => !method.startsWith('client_secret_'), 'a document cannot hold a secret')
    .optional(),
  // OpenID Connect Relying Party Metadata Choices: the method above is the one that the client prefers.
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  token_endpoint_auth_signing_alg: z.string().optional(),
  jwks: z.looseObject({}).optional(),
  jwks_uri: z.string().max(longestId).optional(),
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

/** An assertion that the gateway has received. */
export interface Presented {
  readonly assertion: string;
  /** The names of the gateway as an authorization server. */
  readonly audiences: readonly string[];
  /** The network of the client. */
  readonly network: string;
}

/** Characters that stand for the memory of a key: measured, 2.6 to 4.9 KB beside its text. */
const sizeOfKey = 5_000;
const sizeOf = (keys: KeyList | string): number =>
  typeof keys === 'string' ? keys.length : keys.fingerprint.length + sizeOfKey * keys.size;

/** The parts of a process that its policies share. The draft proposes 5 KB as the limit, for documents without keys. */
const shared = oncePerProcess(() => ({
  clients: new DocumentReads<KnownClient>({
    mostBytes: 16_384,
    charactersOf: ({ name, redirectUris, keys }) =>
      name.length + redirectUris.join('').length + (keys === undefined ? 0 : sizeOf(keys.source)),
  }),
  keySets: new DocumentReads<KeyList>({ mostBytes: 65_536, charactersOf: sizeOf }),
  /** Assertions (RFC 7523 §3, `jti`). Without a code and its verifier, or a refresh token, they are worth nothing. */
  used: new UsedOnce(),
}));

/**
 * Reads the metadata documents of clients, and their keys. Strangers write the addresses, so the gateway reads only those
 * of hosts that the operator has named, at public addresses or in networks that he has named, and follows no redirect.
 */
export class ClientDocuments {
  private readonly hosts: readonly string[];
  private readonly shared: ReturnType<typeof shared>;
  private readonly reach: { readonly clients: DocumentReach; readonly keySets: DocumentReach };
  private readonly now: () => number;

  constructor({ hosts, networks: own = [] }: ClientDocumentSettings, { now, guarded, owner }: DocumentTools) {
    this.hosts = hosts;
    this.now = now;
    this.shared = shared(owner);
    const { clients, keySets } = this.shared;
    this.reach = { clients: clients.reach(own, guarded), keySets: keySets.reach(own, guarded) };
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
   * @param network of the client that asks
   * @param again reads a document of more than a minute ago again
   * @throws Error with a message fit for the log
   */
  async get(id: string, network: string, again = false): Promise<KnownClient> {
    const reach = this.reach.clients;
    const { now } = this;
    const read = (value: unknown): KnownClient => clientOf(id, value);
    const client = await this.shared.clients.get({ address: id, network, reach, now, read, again });
    const source = client.keys?.source;
    // Policies share what they have read, and name different hosts.
    if (typeof source !== 'string' || this.admits(source)) return client;
    if (client.isPublic) return { ...client, keys: undefined };
    throw new Error('jwks_uri: expected an https address of a host in clientDocuments.hosts');
  }

  /**
   * Checks the assertion of a client, which is good once.
   * @returns the problem, for the log
   * @throws Error where the document or the keys cannot be read
   */
  async prove(
    id: string,
    { assertion, audiences, network }: Presented,
  ): Promise<ValidAssertion | UnreadableToken> {
    const known = (await this.get(id, network)).keys;
    if (known === undefined)
      return { reason: 'claims', detail: 'the document of the client has no keys that the gateway can use' };
    const keys = (again: boolean): Promise<KeyList> => this.keysOf(id, network, again);
    const { algorithm } = known;
    const proof = await verifyAssertion(assertion, { id, audiences, algorithm, keys }, this.now);
    if ('reason' in proof) return proof;
    return this.shared.used.use(JSON.stringify([id, proof.id]), proof.until, proof.checkedAt)
      ? proof
      : { reason: 'claims', detail: 'jti: the assertion was used before' };
  }

  /** @throws Error where the client has no keys, or they cannot be read */
  private async keysOf(id: string, network: string, again: boolean): Promise<KeyList> {
    const { keys } = await this.get(id, network, again);
    if (keys === undefined)
      throw new Error('the document of the client has no keys that the gateway can use');
    const { source } = keys;
    if (typeof source !== 'string') return source;
    const reach = this.reach.keySets;
    const { now } = this;
    const read = readClientKeys;
    return await this.shared.keySets.get({ address: source, network, reach, now, read, again });
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
  const { token_endpoint_auth_method: preferred = tokenMethods.none } = read.data;
  const offered = read.data.token_endpoint_auth_methods_supported ?? [preferred];
  const isPublic = offered.includes(tokenMethods.none);
  const keys = offered.includes(tokenMethods.key) ? keysIn(read.data, isPublic) : undefined;
  if (!isPublic && keys === undefined)
    throw new Error(`token_endpoint_auth_method: expected ${Object.values(tokenMethods).join(' or ')}`);
  const { host } = new URL(id);
  return { name: shownName(name ?? '') || host, redirectUris, host, isPublic, keys };
}

/**
 * The keys of a document; undefined where none can be used, and the client does not need them.
 * @throws Error for a client that needs them
 */
function keysIn(read: z.infer<typeof document>, isPublic: boolean): ClientKeys | undefined {
  try {
    return usableKeys(read);
  } catch (error) {
    if (isPublic) return undefined;
    throw error;
  }
}

function usableKeys({
  jwks,
  jwks_uri: address,
  token_endpoint_auth_signing_alg: algorithm,
}: z.infer<typeof document>): ClientKeys {
  if (algorithm !== undefined && !isAlgorithm(algorithm))
    throw new Error('token_endpoint_auth_signing_alg: expected an asymmetric algorithm');
  if (jwks !== undefined && address !== undefined)
    throw new Error('jwks: a document has either jwks or jwks_uri');
  if (jwks !== undefined) return { source: readClientKeys(jwks), algorithm };
  if (address === undefined) throw new Error(`jwks_uri: ${tokenMethods.key} needs jwks or jwks_uri`);
  return { source: address, algorithm };
}
