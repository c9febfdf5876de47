import type * as OpenidClient from 'openid-client';
import { boundedFetch, clientAuthentication, providerMessage, sentTexts } from '../../auth/index.ts';
import { GatewayError } from '../../errors.ts';
import { messageOf } from '../../errorText.ts';
import { endpointOf } from '../../schema/index.ts';
import type { PolicyTools } from '../policy.ts';
import type { OidcSettings } from './facts.ts';
import { IdTokens } from './idTokens.ts';
import type { Login } from './logins.ts';
import { providerMetadata, type ProviderMetadata } from './providerMetadata.ts';

/** For each request to the provider. */
const timeoutSeconds = 10;
/** The lifetime of a login where the provider names none. */
const unnamedLifetimeSeconds = 300;

/** Tokens that the provider has issued, and the gateway has verified. */
export interface Granted {
  /** A renewal may come without one. */
  readonly idToken: string | undefined;
  readonly subject: string | undefined;
  readonly refreshToken: string | undefined;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** A call of the provider: its metadata, whether anything was sent to it, and the texts of the last request. */
interface Call {
  readonly client: typeof OpenidClient;
  readonly config: OpenidClient.Configuration;
  readonly metadata: Readonly<Record<string, unknown>>;
  asked: boolean;
  sent: readonly string[];
}

/** An OpenID Connect provider, by `openid-client`. The library is loaded with the first login. */
export class OidcProvider {
  private readonly settings: OidcSettings;
  private readonly tools: PolicyTools;
  private readonly metadata: ProviderMetadata;
  private readonly idTokens: IdTokens;
  private readonly ended = new AbortController();

  constructor(settings: OidcSettings, tools: PolicyTools) {
    const { issuer, clientId, metadata, jwks } = settings;
    this.settings = settings;
    this.tools = tools;
    this.idTokens = new IdTokens(issuer, clientId, jwks, tools);
    this.metadata = providerMetadata(metadata, issuer, tools);
  }

  /** The address by which a browser begins a login: code with PKCE (RFC 7636), state and nonce. */
  async authorizationUrl({ state, nonce, verifier }: Login): Promise<string> {
    const { client, config } = await this.call();
    const { redirectURI, scopes } = this.settings;
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: new URL(redirectURI).href,
      scope: [...new Set(['openid', ...scopes])].join(' '),
      state,
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return url.href;
  }

  /**
   * Exchanges the code of a callback. The library checks the state, the issuer of the response (RFC 9207), the nonce
   * and the claims; the signature is checked here.
   * @throws GatewayError login_invalid for a callback that is no good, login_failed for a provider that is none
   */
  async redeem(query: string, { state, nonce, verifier }: Login): Promise<Granted> {
    const call = await this.call();
    const url = new URL(this.settings.redirectURI);
    url.search = query;
    try {
      const tokens = await call.client.authorizationCodeGrant(call.config, url, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
      });
      return await this.granted(tokens, call);
    } catch (error) {
      throw failure(error, call);
    }
  }

  /** @throws GatewayError login_invalid where the provider refuses the refresh token, else login_failed */
  async refresh(refreshToken: string): Promise<Granted> {
    const call = await this.call();
    try {
      return await this.granted(await call.client.refreshTokenGrant(call.config, refreshToken), call);
    } catch (error) {
      throw failure(error, call);
    }
  }

  /** The address by which the provider ends its own session (RP-Initiated Logout §2); undefined if it has none. */
  async endSessionUrl(idToken: string | undefined): Promise<string | undefined> {
    const { client, config, metadata } = await this.call();
    if (endpointOf(metadata.end_session_endpoint, this.settings.issuer) === undefined) return undefined;
    return client.buildEndSessionUrl(config, idToken === undefined ? {} : { id_token_hint: idToken }).href;
  }

  /** Makes a refresh token worthless (RFC 7009), if the provider can. Never rejects. */
  async revoke(token: string): Promise<void> {
    try {
      const { client, config, metadata } = await this.call();
      if (endpointOf(metadata.revocation_endpoint, this.settings.issuer) === undefined) return;
      await client.tokenRevocation(config, token, { token_type_hint: 'refresh_token' });
    } catch (error) {
      const { issuer } = this.settings;
      const problem = this.ended.signal.aborted
        ? 'the policy ended, and the provider had not answered'
        : messageOf(error);
      this.tools.log.warn('oidc: a refresh token was not revoked', { issuer, problem });
    }
  }

  judge(claims: Readonly<Record<string, unknown>>): ReturnType<IdTokens['judge']> {
    return this.idTokens.judge(claims);
  }

  problem(): string | undefined {
    return this.metadata.problem();
  }

  close(): void {
    this.ended.abort();
    this.metadata.close();
    this.idTokens.close();
  }

  private async call(): Promise<Call> {
    const { issuer, clientId, clientSecret, tokenEndpointAuth, metadata: source } = this.settings;
    // The load of the configuration has judged addresses that are written there.
    const isWritten = source.kind === 'explicit';
    const client = await import('openid-client');
    const metadata = await this.metadata.get();
    if (metadata === undefined)
      throw new GatewayError('login_failed', { detail: `no metadata of ${issuer}: see the log` });
    for (const name of ['authorization_endpoint', 'token_endpoint'])
      if (!isWritten && endpointOf(metadata[name], issuer) === undefined)
        throw new GatewayError('login_failed', {
          detail: `${name} is missing in the metadata, or not https`,
        });
    const config = new client.Configuration(
      { ...metadata, issuer },
      clientId,
      { [client.clockTolerance]: 10 },
      clientAuthentication(client, metadata, clientSecret, tokenEndpointAuth),
    );
    const call: Call = { client, config, metadata, asked: false, sent: [] };
    config.timeout = timeoutSeconds;
    const asks = (): void => void (call.asked = true);
    const send = boundedFetch(this.ended.signal, asks, this.tools.fetch);
    config[client.customFetch] = (url, options) => {
      const { headers, body } = options;
      call.sent = sentTexts(Object.entries(headers), body instanceof URLSearchParams ? body : undefined);
      return send(url, options as RequestInit);
    };
    // Else `endpointOf` has admitted plain HTTP for the host of an issuer with plain HTTP alone.
    if (isWritten || issuer.startsWith('http:')) client.allowInsecureRequests(config);
    return call;
  }

  private async granted(
    tokens: OpenidClient.TokenEndpointResponse & OpenidClient.TokenEndpointResponseHelpers,
    { metadata }: Call,
  ): Promise<Granted> {
    const { id_token: idToken, refresh_token: refreshToken } = tokens;
    if (idToken === undefined) {
      const seconds = tokens.expiresIn() ?? unnamedLifetimeSeconds;
      const until = this.tools.now() + seconds * 1_000;
      return { idToken, subject: undefined, refreshToken, until };
    }
    const { claims, subject } = await this.idTokens.verify(idToken, metadata);
    return { idToken, subject, refreshToken, until: Number(claims.exp) * 1_000 };
  }
}

/** The place in the catalogue of what the library has thrown. */
function failure(error: unknown, { client, asked, sent }: Call): GatewayError {
  if (error instanceof GatewayError) return error;
  const detail = providerMessage(error, client, sent);
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError) {
    const isRefusal = error instanceof client.AuthorizationResponseError || error.error === 'invalid_grant';
    return new GatewayError(isRefusal ? 'login_invalid' : 'login_failed', { detail });
  }
  // Before anything was sent, only the callback can be wrong.
  return new GatewayError(asked ? 'login_failed' : 'login_invalid', { detail });
}
