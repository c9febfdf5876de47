/**
 * Identity providers as their public documentation describes them: addresses, metadata, parameters that they require or
 * refuse, and the claims of their tokens. A user who is sent to the login page is logged in already.
 */
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { usedSecret } from '../../src/usedSecrets.testing.ts';

/** What tells one provider from another. */
export interface Shape {
  /** The path of the issuer, with the slash that the provider puts at its end. */
  readonly issuer: string;
  readonly authorize: string;
  readonly token: string;
  readonly keys: string;
  /** Paths of the metadata. */
  readonly metadata: readonly string[];
  /** Registers clients (RFC 7591) here. */
  readonly register?: string;
  /** The metadata says that PKCE with S256 works. */
  readonly namesPkce: boolean;
  /** The audience of tokens is the parameter `audience`; without it, they are no JWTs. */
  readonly wantsAudience?: true;
  /** Refuses the parameter `resource` (RFC 8707). */
  readonly refusesResource?: true;
  /** Refresh tokens need this scope. */
  readonly refreshScope: string;
  /** The claims of an access token beside `iss`, `aud` and `exp`. */
  readonly claims: (grant: Grant) => Record<string, unknown>;
}

export interface Grant {
  readonly clientId: string;
  readonly scopes: readonly string[];
}

const user = 'ada@example.com';

/** Provider → its shape. */
export const shapes = {
  // keycloak.org: "Securing applications", OpenID Connect endpoints; client registration service.
  keycloak: {
    issuer: '/realms/acme',
    authorize: '/realms/acme/protocol/openid-connect/auth',
    token: '/realms/acme/protocol/openid-connect/token',
    keys: '/realms/acme/protocol/openid-connect/certs',
    metadata: ['/realms/acme/.well-known/openid-configuration'],
    register: '/realms/acme/clients-registrations/openid-connect',
    namesPkce: true,
    refreshScope: 'offline_access',
    claims: ({ clientId, scopes }) => ({
      sub: '9d1c-ada',
      azp: clientId,
      typ: 'Bearer',
      scope: scopes.join(' '),
      preferred_username: user,
      realm_access: { roles: ['mcp-users'] },
    }),
  },
  // auth0.com/docs: "Get Access Tokens": the audience parameter; "Dynamic Client Registration".
  auth0: {
    issuer: '/',
    authorize: '/authorize',
    token: '/oauth/token',
    keys: '/.well-known/jwks.json',
    metadata: ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'],
    register: '/oidc/register',
    namesPkce: true,
    wantsAudience: true,
    refreshScope: 'offline_access',
    claims: ({ clientId, scopes }) => ({
      sub: 'auth0|ada',
      azp: clientId,
      scope: scopes.join(' '),
      permissions: ['mcp'],
    }),
  },
  // developer.okta.com: "Custom authorization servers": scp is a list, cid names the client.
  okta: {
    issuer: '/oauth2/default',
    authorize: '/oauth2/default/v1/authorize',
    token: '/oauth2/default/v1/token',
    keys: '/oauth2/default/v1/keys',
    metadata: [
      '/oauth2/default/.well-known/oauth-authorization-server',
      '/oauth2/default/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server/oauth2/default',
    ],
    namesPkce: true,
    refreshScope: 'offline_access',
    claims: ({ clientId, scopes }) => ({ sub: user, cid: clientId, uid: '00uada', scp: scopes, ver: 1 }),
  },
  // learn.microsoft.com: "OAuth 2.0 authorization code flow", "Access tokens" (version 2.0).
  entra: {
    issuer: '/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/v2.0',
    authorize: '/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/oauth2/v2.0/authorize',
    token: '/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/oauth2/v2.0/token',
    keys: '/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/discovery/v2.0/keys',
    metadata: ['/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/v2.0/.well-known/openid-configuration'],
    namesPkce: false,
    refusesResource: true,
    refreshScope: 'offline_access',
    claims: ({ clientId, scopes }) => ({
      sub: 'AAAA-ada',
      azp: clientId,
      azpacr: '1',
      scp: scopes.join(' '),
      tid: '8eaef023-2b34-4da1-9baa-8bc8c9d6a490',
      oid: '690222be-ada',
      ver: '2.0',
    }),
  },
  // docs.descope.com: "Inbound apps": one issuer for each project, with dynamic client registration.
  descope: {
    issuer: '/v1/apps/P2abc',
    authorize: '/oauth2/v1/apps/P2abc/authorize',
    token: '/oauth2/v1/apps/token',
    keys: '/v1/apps/P2abc/.well-known/jwks.json',
    metadata: ['/v1/apps/P2abc/.well-known/openid-configuration'],
    register: '/v1/mgmt/inboundapp/app/P2abc/register',
    namesPkce: true,
    refreshScope: 'offline_access',
    claims: ({ clientId, scopes }) => ({
      sub: 'U2ada',
      azp: clientId,
      scope: scopes.join(' '),
      amr: ['email'],
    }),
  },
  // docs.goauthentik.io: "OAuth2 provider": the issuer ends with a slash, the endpoints are shared.
  authentik: {
    issuer: '/application/o/mcp/',
    authorize: '/application/o/authorize/',
    token: '/application/o/token/',
    keys: '/application/o/mcp/jwks/',
    metadata: ['/application/o/mcp/.well-known/openid-configuration'],
    namesPkce: true,
    refreshScope: 'offline_access',
    claims: ({ clientId, scopes }) => ({
      sub: 'ada-hash',
      azp: clientId,
      uid: 'x',
      scope: scopes.join(' '),
      groups: ['mcp-users'],
    }),
  },
} as const satisfies Readonly<Record<string, Shape>>;

export type ShapeName = keyof typeof shapes;

/** The client of the operator, and the API that tokens are for. */
export const shared = { id: 'gateway-client', secret: 'gateway-secret-of-the-operator' };
export const api = 'api://portcullis';

interface Code {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scopes: readonly string[];
  readonly audience: string | undefined;
}

/** One provider on loopback. */
export class ProviderServer {
  /** The parameters of authorization requests. */
  readonly authorizations: URLSearchParams[] = [];
  private readonly shape: Shape;
  private readonly server: Server;
  private readonly privateKey: CryptoKey;
  private readonly jwk: JWK;
  private readonly clients = new Map<string, string | undefined>([[shared.id, shared.secret]]);
  private readonly codes = new Map<string, Code>();
  private readonly refreshes = new Map<string, Code>();

  private constructor(shape: Shape, privateKey: CryptoKey, jwk: JWK) {
    this.shape = shape;
    this.privateKey = privateKey;
    this.jwk = jwk;
    this.server = createServer((request, response) => void this.answer(request, response));
  }

  static async start(name: ShapeName): Promise<ProviderServer> {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' };
    const made = new ProviderServer(shapes[name], privateKey, jwk);
    made.server.listen(0, '127.0.0.1');
    await once(made.server, 'listening');
    return made;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get issuer(): string {
    return this.origin + this.shape.issuer;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin);
    const { shape } = this;
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    if (shape.metadata.includes(url.pathname)) json(this.metadata());
    else if (url.pathname === shape.keys) json({ keys: [this.jwk] });
    else if (url.pathname === shape.authorize) this.authorize(url.searchParams, response);
    else if (url.pathname === shape.token) {
      const [status, value] = await this.token(new URLSearchParams(body), request.headers.authorization);
      json(value, status);
    } else if (url.pathname === shape.register && request.method === 'POST') {
      const id = `dcr-${randomUUID()}`;
      this.clients.set(id, undefined);
      json({ ...(JSON.parse(body) as object), client_id: id }, 201);
    } else json({ error: 'not_found' }, 404);
  }

  private metadata(): object {
    const { shape, origin } = this;
    return {
      issuer: this.issuer,
      authorization_endpoint: origin + shape.authorize,
      token_endpoint: origin + shape.token,
      jwks_uri: origin + shape.keys,
      ...('register' in shape && { registration_endpoint: `${origin}${String(shape.register)}` }),
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      scopes_supported: ['openid', 'mcp', shape.refreshScope],
      ...(shape.namesPkce && { code_challenge_methods_supported: ['plain', 'S256'] }),
    };
  }

  private authorize(query: URLSearchParams, response: ServerResponse): void {
    this.authorizations.push(query);
    const { shape } = this;
    const clientId = query.get('client_id') ?? '';
    const redirectUri = query.get('redirect_uri') ?? '';
    if (!this.clients.has(clientId) || redirectUri === '') {
      response.writeHead(400).end('unknown client');
      return;
    }
    const back = new URL(redirectUri);
    const state = query.get('state');
    if (state !== null) back.searchParams.set('state', state);
    const error =
      shape.refusesResource === true && query.has('resource')
        ? 'invalid_target'
        : query.get('code_challenge_method') !== 'S256'
          ? 'invalid_request'
          : undefined;
    if (error === undefined) {
      const code = usedSecret(randomUUID());
      this.codes.set(code, {
        clientId,
        redirectUri,
        challenge: query.get('code_challenge') ?? '',
        scopes: (query.get('scope') ?? '').split(' ').filter((scope) => scope !== ''),
        audience: shape.wantsAudience === true ? (query.get('audience') ?? undefined) : api,
      });
      back.searchParams.set('code', code);
    } else back.searchParams.set('error', error);
    response.writeHead(302, { location: back.href }).end();
  }

  private async token(form: URLSearchParams, authorization = ''): Promise<[number, object]> {
    const [basicId, basicSecret] = basicOf(authorization);
    const clientId = basicId ?? form.get('client_id') ?? '';
    const secret = basicSecret ?? form.get('client_secret') ?? undefined;
    if (!this.clients.has(clientId) || this.clients.get(clientId) !== secret)
      return [401, { error: 'invalid_client' }];
    const isRefresh = form.get('grant_type') === 'refresh_token';
    const store = isRefresh ? this.refreshes : this.codes;
    const given = form.get(isRefresh ? 'refresh_token' : 'code') ?? '';
    const code = store.get(given);
    store.delete(given);
    if (code === undefined || code.clientId !== clientId) return [400, { error: 'invalid_grant' }];
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (!isRefresh && (proof !== code.challenge || form.get('redirect_uri') !== code.redirectUri))
      return [400, { error: 'invalid_grant' }];
    const refresh = usedSecret(randomUUID());
    const hasRefresh = code.scopes.includes(this.shape.refreshScope);
    if (hasRefresh) this.refreshes.set(refresh, code);
    return [
      200,
      {
        access_token: await this.accessToken(code),
        token_type: 'Bearer',
        expires_in: 300,
        scope: code.scopes.join(' '),
        ...(hasRefresh && { refresh_token: refresh }),
      },
    ];
  }

  private async accessToken(code: Code): Promise<string> {
    // Without an audience, the token is for the provider itself, and says nothing to others.
    if (code.audience === undefined) return usedSecret(`opaque.${randomUUID()}`);
    return new SignJWT({ ...this.shape.claims(code), jti: randomUUID() })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'JWT' })
      .setIssuer(this.issuer)
      .setAudience(code.audience)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(this.privateKey);
  }
}

function basicOf(authorization: string): [string?, string?] {
  if (!authorization.startsWith('Basic ')) return [];
  const [id = '', secret = ''] = Buffer.from(authorization.slice(6), 'base64').toString().split(':');
  return [decodeURIComponent(id), decodeURIComponent(secret)];
}

/**
 * A browser whose user allows every client: it follows redirects, with cookies, until it is sent to the client.
 * @returns the parameters that the client gets
 */
export async function browse(start: string, redirectUri: string): Promise<URLSearchParams> {
  const cookies = new Map<string, string>();
  let url = start;
  let form: URLSearchParams | undefined;
  for (let hops = 0; hops < 12; hops++) {
    if (url.startsWith(redirectUri)) return new URL(url).searchParams;
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      ...(form && { method: 'POST', body: form }),
    });
    form = undefined;
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
      cookies.set(name, value);
    }
    const body = await response.text();
    const location = response.headers.get('location');
    const consent = /name="request" value="([^"]*)"/.exec(body)?.[1];
    if (location !== null) url = new URL(location, url).href;
    else if (consent !== undefined) form = new URLSearchParams({ request: consent, decision: 'allow' });
    else throw new Error(`the browser is stuck at ${url}: ${String(response.status)} ${body.slice(0, 300)}`);
  }
  throw new Error(`too many redirects from ${start}`);
}
