import { createHash, randomBytes } from 'node:crypto';
import type * as OpenidClient from 'openid-client';
import type {
  BegunLogin,
  GatewayViews,
  LoginRequest,
  LoginState,
  LoginStep,
  LoginToken,
  LoginViews,
  PlayRefusal,
  RouteView,
} from '../admin/index.ts';
import { clientAuthentication, providerMessage, sentTexts } from '../auth/index.ts';
import { textsIn, type Resource } from './metadata.ts';
import { playedFetch } from './playedFetch.ts';
import type { OauthClient } from './registration.ts';
import {
  clientStep,
  resourceStep,
  serverStep,
  StepProblem,
  type Chosen,
  type Registrations,
  type Server,
} from './steps.ts';

/** `most`: logins that are kept, and logins that begin at a time; `livesMs`: the time of a user at the issuer. */
const loginLimits = { most: 16, livesMs: 600_000 };

/** For each request of the exchange. */
const timeoutSeconds = 10;

export interface GuidedLoginsOptions {
  readonly routes: () => readonly RouteView[];
  readonly play: GatewayViews['play'];
  /** Others than the operator name the issuers, so the gateway sends nothing to them. */
  readonly isShared: boolean;
  /** Milliseconds of a clock that does not jump. */
  readonly now?: () => number;
}

interface Login {
  readonly owner: string;
  readonly state: string;
  readonly verifier: string;
  readonly server: Server;
  readonly client: OauthClient;
  /** Finds the registration of the client again; undefined for a client that the caller named. */
  readonly registration: string | undefined;
  readonly redirectUri: string;
  readonly resource: string | undefined;
  readonly until: number;
  /** The query of the callback. */
  query?: string;
}

/**
 * The guided logins of the playground: authorization code with PKCE (RFC 7636), as MCP clients log in. The gateway asks
 * only issuers of the route's own configuration, and the endpoints that their metadata names. State, verifier and
 * client stay in the memory of this process until the login ends.
 */
export class GuidedLogins implements LoginViews {
  private readonly options: GuidedLoginsOptions;
  private readonly now: () => number;
  private readonly logins = new Map<string, Login>();
  private readonly registrations: Registrations = new Map();
  /** Logins whose steps are under way. */
  private beginning = 0;

  constructor(options: GuidedLoginsOptions) {
    this.options = options;
    this.now = options.now ?? (() => performance.now());
  }

  async begin(request: LoginRequest): Promise<BegunLogin | PlayRefusal> {
    const found = this.routeOf(request);
    if ('refusal' in found) return found;
    if (this.beginning >= loginLimits.most)
      return { status: 503, refusal: 'too many logins begin at a time' };
    const steps: LoginStep[] = [];
    this.beginning++;
    try {
      return { steps, login: await this.begun(request, found, steps) };
    } catch (error) {
      if (!(error instanceof StepProblem)) throw error;
      return { steps };
    } finally {
      this.beginning--;
    }
  }

  returned(query: string): boolean {
    this.removeEnded();
    const state = digest(new URLSearchParams(query).get('state') ?? '');
    // The digests are compared, so the time of the search tells nothing about a state.
    const login = [...this.logins.values()].find((each) => digest(each.state) === state);
    if (login === undefined || login.query !== undefined) return false;
    login.query = query;
    return true;
  }

  stateOf(id: string, owner: string): LoginState | undefined {
    const login = this.of(id, owner);
    return login && (login.query === undefined ? 'waiting' : 'returned');
  }

  async redeem(id: string, owner: string): Promise<LoginToken | PlayRefusal | undefined> {
    const login = this.of(id, owner);
    if (login === undefined) return undefined;
    if (login.query === undefined)
      return { status: 409, refusal: 'the browser has not come back from the issuer yet' };
    // A code is good once.
    this.logins.delete(id);
    const library = await import('openid-client');
    const url = new URL(login.redirectUri);
    url.search = login.query;
    try {
      const tokens = await library.authorizationCodeGrant(
        configurationOf(library, login.server, login.client),
        url,
        { expectedState: login.state, pkceCodeVerifier: login.verifier },
        login.resource === undefined ? {} : { resource: login.resource },
      );
      const expiresIn = tokens.expiresIn();
      return {
        accessToken: tokens.access_token,
        ...(expiresIn !== undefined && { expiresIn }),
        ...(tokens.scope !== undefined && { scope: tokens.scope }),
        hasRefreshToken: tokens.refresh_token !== undefined,
      };
    } catch (error) {
      this.dropClient(login);
      return { status: 422, refusal: providerMessage(error, library, sentIn(login)) };
    }
  }

  end(id: string, owner: string): boolean {
    const login = this.of(id, owner);
    if (login !== undefined) this.remove(id, login);
    return login !== undefined;
  }

  private routeOf({ route: id, issuer }: LoginRequest): Chosen | PlayRefusal {
    const { routes, isShared } = this.options;
    const route = routes().find((each) => each.id === id);
    if (route === undefined) return { status: 404, refusal: `no route has the id ${id}` };
    if (isShared)
      return {
        status: 403,
        refusal: 'the issuers come from a cluster, so the gateway sends nothing to them: paste a token',
      };
    const { authentication, urls } = route;
    const [address] = urls;
    const issuers = authentication?.byToken === true ? authentication.issuers : [];
    const chosen = issuer ?? issuers[0];
    if (chosen === undefined || address === undefined)
      return { status: 422, refusal: 'the route asks for no token of an issuer' };
    if (!issuers.includes(chosen))
      return { status: 422, refusal: `issuer: expected an issuer of the route: ${issuers.join(', ')}` };
    return { issuer: chosen, address, scopes: authentication?.clientScopes ?? [] };
  }

  /** @throws StepProblem, whose text is in the last step */
  private async begun(
    request: LoginRequest,
    chosen: Chosen,
    steps: LoginStep[],
  ): Promise<NonNullable<BegunLogin['login']>> {
    const inside = playedFetch(this.options.play, request.route);
    const resource = await resourceStep(chosen, inside, steps);
    const server = await serverStep(chosen, resource, inside, steps);
    this.removeEnded();
    // A user who begins again has left the login before, perhaps because it ended with an error at the issuer.
    for (const login of this.logins.values())
      if (login.owner === request.owner && login.server.issuer === server.issuer)
        this.dropClientUnlessReturned(login);
    const { client, registration } = await clientStep(request, server, this.registrations, steps);
    const library = await import('openid-client');
    const verifier = random();
    const state = random();
    const scope = scopeOf(request.scopes ?? scopesOf(chosen, resource));
    const { redirectUri, owner } = request;
    const url = library.buildAuthorizationUrl(configurationOf(library, server, client), {
      redirect_uri: redirectUri,
      state,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(scope === undefined ? {} : { scope }),
      ...(resource?.resource === undefined ? {} : { resource: resource.resource }),
    });
    const methods = textsIn(server.metadata['code_challenge_methods_supported']);
    steps.push({
      step: 'authorization',
      url: url.href.split('?')[0] ?? '',
      value: Object.fromEntries(url.searchParams),
      ...(!methods.includes('S256') && {
        warning: 'The metadata of the server does not name PKCE with S256. MCP clients refuse such a server.',
      }),
    });
    const id = random();
    const [oldest] = this.logins;
    if (this.logins.size >= loginLimits.most && oldest !== undefined) this.remove(...oldest);
    const until = this.now() + loginLimits.livesMs;
    const target = resource?.resource;
    this.logins.set(id, {
      owner,
      state,
      verifier,
      server,
      client,
      registration,
      redirectUri,
      resource: target,
      until,
    });
    return { id, authorizeUrl: url.href, expiresAt: Date.now() + loginLimits.livesMs };
  }

  private of(id: string, owner: string): Login | undefined {
    this.removeEnded();
    const login = this.logins.get(id);
    return login?.owner === owner ? login : undefined;
  }

  private removeEnded(): void {
    const now = this.now();
    for (const [id, login] of this.logins) if (login.until <= now) this.remove(id, login);
  }

  private remove(id: string, login: Login): void {
    this.logins.delete(id);
    this.dropClientUnlessReturned(login);
  }

  /** An issuer that has forgotten the client shows an error, and never sends the browser back. */
  private dropClientUnlessReturned(login: Login): void {
    if (login.query === undefined) this.dropClient(login);
  }

  /** The issuer may have forgotten the client, so the next login registers another one. */
  private dropClient({ registration, client }: Login): void {
    if (registration !== undefined && this.registrations.get(registration) === client)
      this.registrations.delete(registration);
  }
}

function configurationOf(
  library: typeof OpenidClient,
  { issuer, metadata, send }: Server,
  { id, secret, method }: OauthClient,
): OpenidClient.Configuration {
  const config = new library.Configuration(
    { ...metadata, issuer },
    id,
    { [library.clockTolerance]: 10 },
    clientAuthentication(library, metadata, secret, method),
  );
  config.timeout = timeoutSeconds;
  config[library.customFetch] = (url, options) => send(url, options as RequestInit);
  // `endpointOf` has admitted plain HTTP for the host of an issuer with plain HTTP alone.
  if (issuer.startsWith('http:')) library.allowInsecureRequests(config);
  return config;
}

/** The scopes that a client asks for; `offline_access` would only get a refresh token, which is dropped. */
const scopesOf = ({ scopes }: Chosen, resource: Resource | undefined): readonly string[] =>
  (scopes.length > 0 ? scopes : (resource?.scopes ?? [])).filter((scope) => scope !== 'offline_access');

const scopeOf = (scopes: readonly string[]): string | undefined =>
  scopes.length === 0 ? undefined : scopes.join(' ');

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** 256 bits, as a PKCE verifier wants them (RFC 7636 §4.1). */
const random = (): string => randomBytes(32).toString('base64url');

/** The texts that the exchange of the code sends: the refusal must not show them. */
const sentIn = ({ query, verifier, client }: Login): readonly string[] => {
  const code = new URLSearchParams(query).get('code') ?? '';
  return sentTexts([], new URLSearchParams({ code, verifier, secret: client.secret ?? '' }));
};
