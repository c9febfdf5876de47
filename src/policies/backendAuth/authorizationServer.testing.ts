import { createHash, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';

/** A request for a token that the server has accepted or refused. */
export interface TokenRequest {
  readonly form: URLSearchParams;
  readonly authorization: string | undefined;
  readonly assertionHeader: Readonly<Record<string, unknown>> | undefined;
}

/** A client of the server, and its proof. */
export interface RegisteredClient {
  readonly secret?: string;
  /** Verifies `private_key_jwt`. */
  readonly publicKey?: KeyObject;
}

export interface IssuerOptions {
  /** The address to listen at; loopback unless given. */
  readonly address?: string;
  readonly clients?: Readonly<Record<string, RegisteredClient>>;
  /** Seconds; null: the response does not say. */
  readonly lifetime?: number | null;
  readonly tls?: { readonly cert: string; readonly key: string };
}

const grants = {
  exchange: 'urn:ietf:params:oauth:grant-type:token-exchange',
  bearer: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
  client: 'client_credentials',
};

/**
 * An authorization server on loopback with a token endpoint for RFC 8693, RFC 7523 and RFC 6749 §4.4. It verifies
 * grants and clients with jose, and names in each token what it was made of.
 */
export class AuthorizationServer {
  readonly requests: TokenRequest[] = [];
  /** Answers in the place of the usual answer. */
  instead: ((response: ServerResponse) => void) | undefined;
  /** Requests wait here, if it is set. */
  gate: Promise<void> | undefined;
  private readonly keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  private readonly options: IssuerOptions;
  private readonly server;

  private constructor(options: IssuerOptions) {
    this.options = options;
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      void this.answer(request, response).catch((error: unknown) =>
        response.writeHead(400).end(JSON.stringify(refusal(error))),
      );
    };
    this.server =
      options.tls === undefined ? createServer(listener) : createTlsServer({ ...options.tls }, listener);
  }

  static async start(options: IssuerOptions = {}): Promise<AuthorizationServer> {
    const started = new AuthorizationServer(options);
    const { address = '127.0.0.1' } = options;
    await new Promise<void>((resolve) => started.server.listen(0, address, resolve));
    return started;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** A token that the server accepts as a grant. */
  async issue(claims: Readonly<Record<string, unknown>>, seconds = 3_600): Promise<string> {
    return await new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
      .sign(this.keys.privateKey);
  }

  /** The claims of a token that this server issued. @throws Error for any other text */
  async claimsOf(token: string): Promise<Readonly<Record<string, unknown>>> {
    return (await jwtVerify(token, this.keys.publicKey)).payload;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += String(part);
    const form = new URLSearchParams(body);
    const { authorization } = request.headers;
    const assertion = form.get('client_assertion');
    this.requests.push({
      form,
      authorization,
      assertionHeader: assertion === null ? undefined : decodeProtectedHeader(assertion),
    });
    await this.gate;
    if (this.instead !== undefined) return this.instead(response);
    const client = await this.clientOf(form, authorization, request);
    const token = await this.issue({ client, ...(await this.grantOf(form)) }, this.options.lifetime ?? 3_600);
    const { lifetime = 3_600 } = this.options;
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        access_token: token,
        token_type: 'Bearer',
        issued_token_type: form.get('requested_token_type') ?? undefined,
        ...(lifetime === null ? {} : { expires_in: lifetime }),
      }),
    );
  }

  private async grantOf(form: URLSearchParams): Promise<Record<string, unknown>> {
    const common = {
      aud: form.getAll('audience'),
      resource: form.getAll('resource'),
      scope: form.get('scope'),
    };
    const verified = async (name: string): Promise<unknown> => {
      const token = form.get(name);
      if (token === null) throw new OAuthError('invalid_request');
      try {
        return (await jwtVerify(token, this.keys.publicKey)).payload.sub;
      } catch {
        throw new OAuthError('invalid_grant');
      }
    };
    switch (form.get('grant_type')) {
      case grants.exchange:
        return {
          ...common,
          sub: await verified('subject_token'),
          subjectType: form.get('subject_token_type'),
          requested: form.get('requested_token_type'),
          ...(form.has('actor_token') ? { act: { sub: await verified('actor_token') } } : {}),
        };
      case grants.bearer:
        return { ...common, sub: await verified('assertion'), grant: 'jwt-bearer' };
      case grants.client:
        return { ...common, grant: 'client' };
      default:
        throw new OAuthError('unsupported_grant_type');
    }
  }

  private async clientOf(
    form: URLSearchParams,
    authorization: string | undefined,
    request: IncomingMessage,
  ): Promise<string | undefined> {
    const { clients } = this.options;
    if (clients === undefined) return undefined;
    const assertion = form.get('client_assertion');
    if (assertion !== null) {
      const id = form.get('client_id') ?? '';
      const { publicKey } = clients[id] ?? {};
      if (publicKey === undefined) throw new OAuthError('invalid_client');
      const scheme = this.options.tls === undefined ? 'http' : 'https';
      const audience = `${scheme}://${request.headers.host ?? ''}${request.url ?? ''}`;
      const verified = await jwtVerify(assertion, publicKey, {
        audience,
        issuer: id,
        subject: id,
        requiredClaims: ['jti', 'exp', 'iat'],
      }).catch(() => {
        throw new OAuthError('invalid_client');
      });
      return verified.payload.sub;
    }
    const [id, secret] =
      authorization === undefined
        ? [form.get('client_id') ?? '', form.get('client_secret') ?? '']
        : Buffer.from(authorization.slice('Basic '.length), 'base64')
            .toString()
            .split(':')
            .map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
    if (id === undefined || clients[id]?.secret === undefined || clients[id].secret !== secret)
      throw new OAuthError('invalid_client');
    return id;
  }
}

class OAuthError extends Error {}

const refusal = (error: unknown): object => ({
  error: error instanceof OAuthError ? error.message : 'server_error',
  error_description: String(error),
});

/** `x5t#S256` of a certificate (RFC 7515 §4.1.8). */
export const thumbprintOf = (pem: string): string =>
  createHash('sha256').update(new X509Certificate(pem).raw).digest('base64url');
