import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { algorithmNames, TextSeal, type IssuerMetadata } from '../../../auth/index.ts';
import { GatewayError } from '../../../errors.ts';
import { messageOf } from '../../../errorText.ts';
import { cookieValues, networkOf, type Reply } from '../../../http/index.ts';
import { bareAddress, endpointOf } from '../../../schema/index.ts';
import { LoginCalls } from '../../loginCalls.ts';
import type { Exchange, PolicyTools } from '../../policy.ts';
import { LoginClients, type AskingClient, type ClientSources, type TokenRequest } from './clients.ts';
import { consentPage, errorPage } from './consentPage.ts';
import { loginCookie } from './loginCookie.ts';
import { askProvider, type TokenAnswer } from './providerTokens.ts';
import { isOnUsersMachine, isRegistered } from './redirectUris.ts';
import { formOf, json, notAllowed, oauthError, posted, redirect } from './replies.ts';

/** The client that the operator has registered at the provider, for all MCP clients together. */
export interface SharedClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** The audience that the provider has to be told. */
  readonly audience: string | undefined;
  /** The scopes where a client asks for none. */
  readonly scopes: readonly string[];
  /**
   * The scopes that a client may ask for: those above, and `offline_access` where it is configured. A list without
   * scopes leaves the choice to the provider.
   */
  readonly offeredScopes: readonly string[];
}

/** The resource as its client sees it: the issuer of the facade is the address of the resource. */
export interface LoginPlace {
  readonly origin: string;
  /** Begins with a slash, or empty for the root. */
  readonly path: string;
}

/** The documents of the facade below `/.well-known/`, each followed by the path of the resource. */
const endpoints = {
  authorize: 'mcp-login-authorize',
  callback: 'mcp-login-callback',
  token: 'mcp-login-token',
  register: 'mcp-login-register',
} as const;

/** The parameters of an authorization request that may come once, beside those that name the client. */
const once = ['response_type', 'code_challenge', 'code_challenge_method', 'state', 'scope'];

const loginMs = 600_000;
const codeMs = 60_000;
const mostBodyBytes = 65_536;

/**
 * The issuer at which the client has to prove itself; undefined for a public client. Whoever calls the gateway chooses the
 * name of the host, and so the names that a proof may be for.
 */
const keyed = { provenAt: z.string().optional() };
const pending = z.object({
  client: z.string(),
  ...keyed,
  /** The issuer at which the login began: logins with the same client of the provider share the seal. */
  at: z.string(),
  redirectUri: z.string(),
  challenge: z.string(),
  state: z.string().optional(),
  scope: z.string(),
  browser: z.string(),
  until: z.number(),
});
const sent = pending.extend({ verifier: z.string() });
const granted = z.object({
  client: z.string(),
  ...keyed,
  at: z.string(),
  redirectUri: z.string(),
  challenge: z.string(),
  code: z.string(),
  verifier: z.string(),
  callback: z.string(),
  until: z.number(),
});
/** `scope`: what the provider has granted at the login, if it has said so. */
const refresh = z.object({
  client: z.string(),
  ...keyed,
  token: z.string(),
  scope: z.string().optional(),
});

/** The answer to a grant; `used` where the provider was not asked, because the login has redeemed a code before. */
type GrantAnswer = TokenAnswer | { readonly kind: 'used' };

/**
 * An authorization server in front of a provider that registers no clients: it registers MCP clients, asks users for
 * consent, and logs them in at the provider as one shared client. It keeps nothing: registrations, logins, codes and
 * refresh tokens are sealed texts that the client carries, so that every replica can go on. A process remembers the
 * logins that have redeemed a code; other processes rely on the provider, whose code is good once, too.
 */
export class LoginFacade {
  private readonly shared: SharedClient;
  private readonly metadata: IssuerMetadata;
  private readonly seal: TextSeal;
  private readonly clients: LoginClients;
  private readonly tools: Pick<PolicyTools, 'log' | 'now' | 'fetch'>;
  private readonly whose: string;
  private readonly calls: LoginCalls;
  private readonly ended = new AbortController();

  constructor(shared: SharedClient, sources: ClientSources, metadata: IssuerMetadata, tools: PolicyTools) {
    this.shared = shared;
    this.metadata = metadata;
    this.tools = tools;
    const { sealingKey = randomBytes(32).toString('hex') } = tools;
    // No place: unnamed routes get another name when a route comes before them, and clients keep their texts.
    const whose = JSON.stringify(['login', shared.issuer, shared.clientId, tools.tenant ?? null]);
    this.whose = whose;
    this.calls = LoginCalls.of(tools.keySets);
    this.seal = new TextSeal(sealingKey, whose);
    this.clients = new LoginClients(sources, this.seal, tools);
  }

  close(): void {
    this.ended.abort();
  }

  /** The issuer of the facade: RFC 8414 §3.3 wants it to be the address by which its metadata is found. */
  issuerOf = ({ origin, path }: LoginPlace): string => `${origin}${path}`;

  /** The metadata of the facade (RFC 8414 §2). */
  document(place: LoginPlace): Record<string, unknown> {
    return {
      issuer: this.issuerOf(place),
      authorization_endpoint: urlOf(place, 'authorize'),
      token_endpoint: urlOf(place, 'token'),
      ...(this.clients.registers ? { registration_endpoint: urlOf(place, 'register') } : {}),
      ...(this.clients.readsDocuments ? { client_id_metadata_document_supported: true } : {}),
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: this.clients.methods,
      ...(this.clients.readsDocuments
        ? { token_endpoint_auth_signing_alg_values_supported: algorithmNames }
        : {}),
      authorization_response_iss_parameter_supported: true,
      ...(this.shared.offeredScopes.length === 0 ? {} : { scopes_supported: this.shared.offeredScopes }),
    };
  }

  answers = (name: string): boolean => Object.values<string>(endpoints).includes(name);

  /** Answers a request for an endpoint of the facade; undefined for other names. */
  answer(exchange: Exchange, name: string, place: LoginPlace): Reply | Promise<Reply> | undefined {
    const { method } = exchange.request;
    switch (name) {
      case endpoints.register:
        // Without an answer, the request would go to another route.
        return this.clients.registers
          ? (posted(method) ?? inForm(exchange, this.register(exchange)))
          : { status: 404 };
      case endpoints.token:
        return posted(method) ?? inForm(exchange, this.token(exchange, place));
      case endpoints.authorize:
        if (method === 'GET') return this.authorize(exchange, place);
        return method === 'POST' ? this.decide(exchange, place) : notAllowed('GET, POST');
      case endpoints.callback:
        return method === 'GET' ? this.callback(exchange, place) : notAllowed('GET');
      default:
        return undefined;
    }
  }

  private async register(exchange: Exchange): Promise<Reply> {
    return this.clients.register(await exchange.request.readBody(mostBodyBytes));
  }

  /** Shows the consent page, bound to this browser by a cookie. */
  private async authorize(exchange: Exchange, place: LoginPlace): Promise<Reply> {
    const query = new URLSearchParams(exchange.request.query);
    // RFC 6749 §3.1: a parameter without a value counts as omitted, and none may come twice.
    const of = (name: string): string | undefined => {
      const [first, ...others] = query.getAll(name);
      return others.length > 0 || first === '' ? undefined : first;
    };
    const clientId = of('client_id') ?? '';
    const client = await this.clients.find(clientId, networkOf(exchange.request.remoteAddress));
    if (typeof client === 'string') return errorPage(client);
    const redirectUri = of('redirect_uri') ?? '';
    if (!isRegistered(redirectUri, client.redirectUris))
      return errorPage('The client asks to be called at an address that it has not registered.');
    const state = of('state');
    // RFC 9700 §4.11.2: before the user has decided, nobody is sent to a host that a stranger has named.
    const fail = (error: string): Reply =>
      isOnUsersMachine(redirectUri)
        ? this.back(place, { redirectUri, state }, { error })
        : errorPage(`The request of the client is not valid: ${error}.`);
    if (once.some((name) => query.getAll(name).length > 1)) return fail('invalid_request');
    if (of('response_type') !== 'code') return fail('unsupported_response_type');
    const challenge = of('code_challenge') ?? '';
    if (of('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge))
      return fail('invalid_request');
    if (state !== undefined && state.length > 1_024) return fail('invalid_request');
    const scope = of('scope') ?? this.shared.scopes.join(' ');
    if (!/^[\x20\x21\x23-\x5b\x5d-\x7e]{0,1024}$/.test(scope)) return fail('invalid_scope');
    if (this.refusesScope(exchange, scope)) return fail('invalid_scope');
    // RFC 8707 §2 lets a client name several.
    const resources = query.getAll('resource').filter((resource) => resource !== '');
    if (resources.some((resource) => bareAddress(resource) !== bareAddress(this.issuerOf(place))))
      return fail('invalid_target');
    // The browser keeps its cookie over several logins at the same time.
    const browser = browserOf(exchange, place) ?? randomBytes(18).toString('base64url');
    const until = this.tools.now() + loginMs;
    const request: z.infer<typeof pending> = {
      client: digest(clientId),
      provenAt: client.isPublic ? undefined : this.issuerOf(place),
      at: this.issuerOf(place),
      redirectUri,
      challenge,
      ...(state === undefined ? {} : { state }),
      scope,
      browser: digest(browser),
      until,
    };
    return consentPage({
      client,
      redirectUri,
      resource: this.issuerOf(place),
      scopes: scopesOf(scope),
      request: this.seal.seal('consent', request),
      cookie: cookieOf(browser, place),
    });
  }

  /** Takes the decision of the user, and sends the browser to the provider. */
  private async decide(exchange: Exchange, place: LoginPlace): Promise<Reply> {
    const form = formOf(await exchange.request.readBody(mostBodyBytes));
    const request = pending.safeParse(this.seal.open('consent', form.get('request') ?? ''));
    if (!request.success || !this.isOwn(exchange, place, request.data))
      return errorPage('This login has expired, or another browser began it. Start it again in the client.');
    if (form.get('decision') !== 'allow') return this.back(place, request.data, { error: 'access_denied' });
    const metadata = await this.metadata.get();
    const endpoint = endpointOf(metadata?.authorization_endpoint, this.shared.issuer);
    if (endpoint === undefined) return this.back(place, request.data, { error: 'temporarily_unavailable' });
    const verifier = randomBytes(32).toString('base64url');
    const asked = {
      response_type: 'code',
      client_id: this.shared.clientId,
      redirect_uri: urlOf(place, 'callback'),
      code_challenge: digest(verifier),
      code_challenge_method: 'S256',
      state: this.seal.seal('state', { ...request.data, verifier } satisfies z.infer<typeof sent>),
      ...(request.data.scope === '' ? {} : { scope: request.data.scope }),
      ...(this.shared.audience === undefined ? {} : { audience: this.shared.audience }),
    };
    for (const [name, value] of Object.entries(asked)) endpoint.searchParams.set(name, value);
    return redirect(endpoint.href);
  }

  /** Takes the authorization response of the provider, and makes a code of the gateway of it. */
  private async callback(exchange: Exchange, place: LoginPlace): Promise<Reply> {
    const query = new URLSearchParams(exchange.request.query);
    const login = sent.safeParse(this.seal.open('state', query.get('state') ?? ''));
    if (!login.success || !this.isOwn(exchange, place, login.data))
      return errorPage('This login has expired, or another browser began it. Start it again in the client.');
    // RFC 9207 §2.4: a response of another server must not reach the token endpoint of this one.
    const iss = query.get('iss');
    const metadata = await this.metadata.get();
    const required = metadata?.authorization_response_iss_parameter_supported === true;
    if (iss === null ? required : iss !== this.shared.issuer) {
      this.tools.log.warn('Login: the authorization response is not from the provider', {
        issuer: this.shared.issuer,
        received: (iss ?? 'no iss').slice(0, 200),
      });
      return this.back(place, login.data, { error: 'server_error' });
    }
    const code = query.get('code');
    if (code === null || code === '')
      return this.back(place, login.data, { error: errorOf(query.get('error')) });
    const { client: of, provenAt, at, redirectUri, challenge, verifier } = login.data;
    const grant: z.infer<typeof granted> = {
      client: of,
      provenAt,
      at,
      redirectUri,
      challenge,
      code,
      verifier,
      callback: urlOf(place, 'callback'),
      until: this.tools.now() + codeMs,
    };
    return this.back(place, login.data, { code: this.seal.seal('code', grant) });
  }

  private async token(exchange: Exchange, place: LoginPlace): Promise<Reply> {
    const form = formOf(await exchange.request.readBody(mostBodyBytes));
    const network = networkOf(exchange.request.remoteAddress);
    const asked = { form, issuer: this.issuerOf(place), tokenEndpoint: urlOf(place, 'token'), network };
    const id = this.clients.asking(form);
    if (typeof id !== 'string') return id;
    switch (form.get('grant_type')) {
      case 'authorization_code':
        return await this.redeem(id, asked);
      case 'refresh_token':
        return await this.refresh(exchange, id, asked);
      default:
        return oauthError('unsupported_grant_type', 'expected authorization_code or refresh_token');
    }
  }

  private async redeem(id: string, asked: TokenRequest): Promise<Reply> {
    const { form, issuer } = asked;
    const grant = granted.safeParse(this.seal.open('code', form.get('code') ?? ''));
    if (!grant.success || grant.data.until < this.tools.now())
      return oauthError('invalid_grant', 'the code is not valid, or has expired');
    const { at, redirectUri, challenge, code, verifier, callback } = grant.data;
    // OAuth 2.1 has no redirect_uri here: PKCE binds the code to the client that asked for it.
    const address = form.get('redirect_uri') || redirectUri;
    if (!isOf(grant.data, id) || at !== issuer || address !== redirectUri)
      return oauthError('invalid_grant', 'the code was issued to another client or address');
    if (!equal(challenge, digest(form.get('code_verifier') ?? '')))
      return oauthError('invalid_grant', 'code_verifier does not fit the code_challenge');
    const client = await this.clients.prove(id, asked);
    if ('status' in client) return client;
    if (lacksProof(grant.data, client)) return needsAssertion;
    const answer = await this.ask(
      asked,
      { grant_type: 'authorization_code', code, redirect_uri: callback, code_verifier: verifier },
      // The code itself has several spellings, and a callback that is repeated makes further ones.
      verifier,
    );
    return this.tokens(answer, issuedTo(grant.data, client), undefined);
  }

  private async refresh(exchange: Exchange, id: string, asked: TokenRequest): Promise<Reply> {
    const { form } = asked;
    const written = form.get('refresh_token') ?? '';
    const held = refresh.safeParse(this.seal.open('refresh', written));
    if (!held.success || !isOf(held.data, id))
      return oauthError('invalid_grant', 'the refresh token is not valid for this client');
    const scope = form.get('scope') ?? '';
    // Clients repeat what they were granted, which may be more than they asked for (RFC 6749 §6).
    if (this.refusesScope(exchange, scope, held.data.scope))
      return oauthError('invalid_scope', 'the gateway does not offer one of these scopes');
    const client = await this.clients.prove(id, asked);
    if ('status' in client) return client;
    if (lacksProof(held.data, client)) return needsAssertion;
    const answer = await this.ask(asked, {
      grant_type: 'refresh_token',
      refresh_token: held.data.token,
      ...(scope === '' ? {} : { scope }),
    });
    const issued = { ...issuedTo(held.data, client), scope: held.data.scope };
    return this.tokens(answer, issued, written);
  }

  /** @param login the one that ends with this call, whatever comes of it */
  private async ask(
    { network }: TokenRequest,
    form: Readonly<Record<string, string>>,
    login?: string,
  ): Promise<GrantAnswer> {
    const metadata = await this.metadata.get();
    if (metadata === undefined) throw new GatewayError('issuer_metadata_unavailable');
    const { issuer, clientId, clientSecret } = this.shared;
    const { log, now } = this.tools;
    return await this.calls.run<GrantAnswer>(this.whose, network, () => {
      // Until then, the callback of this login can make further codes.
      const until = now() + loginMs + codeMs;
      if (login !== undefined && !this.calls.use(login, until, now())) return { kind: 'used' };
      return askProvider({
        metadata,
        issuer,
        clientId,
        clientSecret,
        form,
        fetch: this.tools.fetch,
        signal: this.ended.signal,
        log,
      });
    });
  }

  /** Passes tokens on; a refresh token is sealed, because it is worth something together with the shared secret. */
  private tokens(answer: GrantAnswer, issued: Issued, before: string | undefined): Reply {
    if (answer.kind === 'used') return oauthError('invalid_grant', 'the code was used before');
    if (answer.kind === 'refused') return oauthError(answer.error, 'the identity provider refused the grant');
    if (answer.kind === 'failed')
      return oauthError('server_error', 'the identity provider has not answered as expected', 502);
    const { access_token, expires_in, scope, refresh_token: next } = answer.tokens;
    const { client, provenAt, scope: granted = grantedScope(scope) } = issued;
    const hold = (token: string): string =>
      this.seal.seal('refresh', { client, provenAt, token, scope: granted } satisfies z.infer<
        typeof refresh
      >);
    const renewed = typeof next === 'string' ? hold(next) : before;
    return json(200, {
      access_token,
      token_type: 'Bearer',
      ...(typeof expires_in === 'number' || typeof expires_in === 'string'
        ? { expires_in: Number(expires_in) }
        : {}),
      ...(typeof scope === 'string' ? { scope } : {}),
      ...(renewed === undefined ? {} : { refresh_token: renewed }),
    });
  }

  /**
   * The provider knows the client of the operator, which may have rights at other servers. So MCP clients get only the
   * scopes that the gateway offers, and those that its rules require.
   * @param granted what the provider has granted at the login of a client
   */
  private refusesScope({ request, ruleScopes = [] }: Exchange, scope: string, granted = ''): boolean {
    const { offeredScopes } = this.shared;
    if (offeredScopes.length === 0) return false;
    const known = [...offeredScopes, ...ruleScopes, ...scopesOf(granted)];
    const other = scopesOf(scope).find((one) => !known.includes(one));
    if (other === undefined) return false;
    request.annotate('login', `refused: scopesSupported does not have the scope ${other.slice(0, 128)}`);
    return true;
  }

  /** Did this browser begin the login here, and is it still young enough? */
  private isOwn(exchange: Exchange, place: LoginPlace, login: z.infer<typeof pending>): boolean {
    const own = browserOf(exchange, place);
    if (own === undefined || !equal(digest(own), login.browser)) return false;
    return login.at === this.issuerOf(place) && this.tools.now() <= login.until;
  }

  /** Sends the browser back to the client, with the issuer of the facade (RFC 9207). */
  private back(
    place: LoginPlace,
    { redirectUri, state }: { readonly redirectUri: string; readonly state?: string | undefined },
    result: Readonly<Record<string, string>>,
  ): Reply {
    const parameters = new URLSearchParams(result);
    if (state !== undefined) parameters.set('state', state);
    parameters.set('iss', this.issuerOf(place));
    return redirect(withQuery(redirectUri, parameters));
  }
}

/** Gives pages and clients the failures of the gateway as errors of OAuth, which they can read. */
async function inForm({ request }: Exchange, answer: Promise<Reply>): Promise<Reply> {
  try {
    return await answer;
  } catch (error) {
    const refusal = error instanceof GatewayError ? refusals.get(error.code) : undefined;
    if (refusal === undefined) throw error;
    request.annotate('login', `failed: ${messageOf(error)}`);
    return refusal;
  }
}

const unavailable = oauthError('temporarily_unavailable', 'the identity provider does not answer', 503);
const busy = oauthError('temporarily_unavailable', 'too many logins wait for the identity provider', 503);
const again = (reply: Reply, seconds: number): Reply => ({
  ...reply,
  headers: [...(reply.headers ?? []), ['retry-after', String(seconds)]],
});
const refusals: ReadonlyMap<string, Reply> = new Map([
  ['body_too_large', oauthError('invalid_request', 'the body of the request is too large', 413)],
  ['issuer_metadata_unavailable', again(unavailable, 5)],
  ['overloaded', again(busy, 1)],
]);

/** RFC 6749 §3.1.2: the query of a redirect URI stays as the client has written it. */
function withQuery(redirectUri: string, parameters: URLSearchParams): string {
  const { href } = new URL(redirectUri);
  const separator = href.includes('?') ? (/[?&]$/.test(href) ? '' : '&') : '?';
  return `${href}${separator}${parameters.toString()}`;
}

/** The client that a code or a refresh token was issued to. */
type Issued = Pick<z.infer<typeof refresh>, 'client' | 'provenAt' | 'scope'>;

const isOf = ({ client }: Issued, id: string): boolean => equal(client, digest(id));

/** Did the client have to prove itself, and did not do it there? */
const lacksProof = (issued: Issued, { provenAt }: AskingClient): boolean =>
  issued.provenAt !== undefined && issued.provenAt !== provenAt;

/** A client that has proven itself once has to do so from then on. */
const issuedTo = ({ client, provenAt }: Issued, asking: AskingClient): Issued => ({
  client,
  provenAt: asking.provenAt ?? provenAt,
});

const needsAssertion = oauthError(
  'invalid_client',
  'the client must send client_assertion to the issuer where it has logged in',
  401,
);

/** A longer text would make the refresh token too long. */
const grantedScope = (scope: unknown): string | undefined =>
  typeof scope === 'string' && scope.length <= 1_024 ? scope : undefined;

const scopesOf = (text: string): string[] => text.split(' ').filter((scope) => scope !== '');

const urlOf = ({ origin, path }: LoginPlace, name: keyof typeof endpoints): string =>
  `${origin}/.well-known/${endpoints[name]}${path}`;

/** SHA-256 in base64url, as S256 of RFC 7636 has it. */
const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');

function equal(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(digest(a)), Buffer.from(digest(b))];
  return timingSafeEqual(left, right);
}

const isSecure = ({ origin }: LoginPlace): boolean => origin.startsWith('https:');

/** With the prefix, browsers take the cookie from this host alone, and not from another one of its domain. */
const cookieName = (place: LoginPlace): string => `${isSecure(place) ? '__Host-' : ''}${loginCookie}`;

const cookieOf = (browser: string, place: LoginPlace): string =>
  `${cookieName(place)}=${browser}; Path=/; Max-Age=${loginMs / 1_000}; HttpOnly; SameSite=Lax${isSecure(place) ? '; Secure' : ''}`;

/** The value of the login cookie; undefined where there are several: another site may have planted one. */
function browserOf(exchange: Exchange, place: LoginPlace): string | undefined {
  const [value, ...others] = cookieValues(exchange.request.header('cookie'), cookieName(place));
  return others.length === 0 && value !== undefined && /^[\w-]{24}$/.test(value) ? value : undefined;
}

/** RFC 6749 §4.1.2.1; other texts of the provider do not reach the client. */
const errorOf = (text: string | null): string =>
  text !== null && ['access_denied', 'invalid_scope', 'temporarily_unavailable'].includes(text)
    ? text
    : 'server_error';
