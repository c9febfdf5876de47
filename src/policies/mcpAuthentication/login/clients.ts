import { z } from 'zod';
import { assertedClient, assertionType, type TextSeal } from '../../../auth/index.ts';
import { messageOf } from '../../../errorText.ts';
import type { Reply } from '../../../http/index.ts';
import type { PolicyTools } from '../../policy.ts';
import { ClientDocuments, type ClientDocumentSettings } from './clientDocuments.ts';
import { shownName, tokenMethods, type KnownClient } from './knownClient.ts';
import { redirectUriForms, redirectUriList } from './redirectUris.ts';
import { json, jsonOf, oauthError } from './replies.ts';

/** The ways in which a client can make itself known. */
export interface ClientSources {
  /** Clients may register (RFC 7591). */
  readonly registers: boolean;
  /** Clients may name the address of their metadata document; absent: they may not. */
  readonly documents: ClientDocumentSettings | undefined;
}

const mostRedirectUris = 16;
const unnamed = 'An MCP client';

const registration = z.looseObject({
  redirect_uris: redirectUriList(mostRedirectUris),
  client_name: z.string().max(200).optional(),
});
const registered = z.object({ name: z.string(), redirectUris: z.array(z.string()) });

/** The client of a request for tokens. */
export interface AskingClient {
  readonly id: string;
  /** The issuer at which it has just proven that it is itself; undefined where it has not. */
  readonly provenAt: string | undefined;
}

/** A request for tokens, with the names of the gateway as an authorization server. */
export interface TokenRequest {
  readonly form: URLSearchParams;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  /** The network that it came from. */
  readonly network: string;
}

/** The clients of a login at the gateway. Nothing is kept of those that register: their id is the sealed registration. */
export class LoginClients {
  readonly registers: boolean;
  private readonly documents: ClientDocuments | undefined;
  private readonly seal: TextSeal;
  private readonly log: PolicyTools['log'];

  constructor(
    { registers, documents }: ClientSources,
    seal: TextSeal,
    { log, now, guarded = false, keySets }: Pick<PolicyTools, 'log' | 'now' | 'guarded' | 'keySets'>,
  ) {
    this.registers = registers;
    this.documents = documents && new ClientDocuments(documents, { now, guarded, owner: keySets });
    this.seal = seal;
    this.log = log;
  }

  get readsDocuments(): boolean {
    return this.documents !== undefined;
  }

  /** Dynamic client registration (RFC 7591). @param body of the request */
  register(body: Buffer): Reply {
    const written = registration.safeParse(jsonOf(body));
    if (!written.success) {
      const aboutUris = written.error.issues.some(({ path }) => path[0] === 'redirect_uris');
      return oauthError(
        aboutUris ? 'invalid_redirect_uri' : 'invalid_client_metadata',
        `expected redirect_uris with ${redirectUriForms}, and client_name as text`,
      );
    }
    const { redirect_uris: uris, client_name: name = '' } = written.data;
    const client: z.infer<typeof registered> = { name: shownName(name) || unnamed, redirectUris: uris };
    return json(201, {
      client_id: this.seal.seal('client', client),
      client_name: client.name,
      redirect_uris: uris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: tokenMethods.none,
    });
  }

  /**
   * The client with an id, or the problem as its user may read it. Never rejects.
   * @param network of the user
   */
  async find(id: string, network: string): Promise<KnownClient | string> {
    const client = this.opened(id);
    if (client !== undefined) return client;
    if (this.documents?.admits(id) !== true)
      return 'The client is not registered here. Remove its login data, and log in again.';
    try {
      return await this.documents.get(id, network);
    } catch (error) {
      this.log.warn('Login: the metadata document of a client cannot be used', {
        client: id,
        problem: messageOf(error),
      });
      // The problem would tell strangers about the network of the gateway.
      return 'The gateway cannot use the metadata document of this client. The log of the gateway has the reason.';
    }
  }

  /** The methods of `token_endpoint_auth_methods_supported` (RFC 8414 §2). */
  get methods(): readonly string[] {
    return this.documents === undefined ? [tokenMethods.none] : Object.values(tokenMethods);
  }

  /** The id of the client that asks for tokens, or the refusal. Its codes and refresh tokens are bound to the id. */
  asking(form: URLSearchParams): string | Reply {
    const named = written(form, 'client_id');
    // RFC 7521 §4.2: the assertion names the client, too.
    const id = named === '' ? (assertedClient(written(form, 'client_assertion')) ?? '') : named;
    return this.documents?.admits(id) === true || this.opened(id) !== undefined
      ? id
      : oauthError('invalid_client', 'the client is not registered here', 401);
  }

  /**
   * Checks the proof of a client, if it sends one. Checks of signatures take time, so the caller first makes sure that
   * the client has a code or a refresh token.
   * @param id one that `asking` has returned
   */
  async prove(
    id: string,
    { form, issuer, tokenEndpoint, network }: TokenRequest,
  ): Promise<AskingClient | Reply> {
    const type = written(form, 'client_assertion_type');
    const assertion = written(form, 'client_assertion');
    if (assertion === '' && type === '') return { id, provenAt: undefined };
    if (this.documents?.admits(id) !== true || type !== assertionType)
      return oauthError('invalid_client', `expected a client with a document, and ${assertionType}`, 401);
    try {
      const audiences = [issuer, tokenEndpoint];
      const proof = await this.documents.prove(id, { assertion, audiences, network });
      if (!('reason' in proof)) return { id, provenAt: issuer };
      const { reason, detail } = proof;
      this.log.warn('Login: the assertion of a client was refused', { client: id, reason, detail });
      return oauthError('invalid_client', 'the client assertion is not valid', 401);
    } catch (error) {
      this.log.warn('Login: the keys of a client cannot be read', { client: id, problem: messageOf(error) });
      return oauthError('temporarily_unavailable', 'the keys of the client cannot be read', 503);
    }
  }

  private opened(id: string): KnownClient | undefined {
    const client = this.registers ? registered.safeParse(this.seal.open('client', id)).data : undefined;
    return client && { ...client, isPublic: true };
  }
}

/** RFC 6749 §3.2: a parameter without a value is as good as absent. */
const written = (form: URLSearchParams, name: string): string => form.get(name) ?? '';
