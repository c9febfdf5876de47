import { createHash, randomUUID, X509Certificate, type KeyObject } from 'node:crypto';
import { assertionType } from '../../auth/index.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import type { PolicyTools } from '../policy.ts';
import { WatchedText } from '../text/watchedText.ts';
import type { TextSource } from '../text/schema.ts';
import type { ClientAuth, TokenEndpointSettings } from './oauthSchema.ts';
import { readSecret } from './secretText.ts';
import { signingKeyOf, signToken } from './signToken.ts';
import { TokenServer, type IssuedToken } from './tokenServer.ts';

/** The wanted part of the response, and the owner of the grant: the user where absent. */
export interface TokenWish {
  readonly field?: 'access_token' | 'id_token';
  readonly grantOf?: 'user' | 'gateway';
}

/** Milliseconds that an assertion of the gateway is valid. */
const assertionMs = 60_000;

/** Asks one token endpoint (RFC 6749 §3.2) for tokens. */
export class TokenEndpoint {
  private readonly path: string;
  private readonly server: TokenServer;
  private readonly now: () => number;
  private readonly client: ClientProof | undefined;

  /** @throws Error where a text of the settings cannot be used */
  constructor(settings: TokenEndpointSettings, tools: PolicyTools) {
    const { path, clientAuth } = settings;
    this.path = path;
    this.server = new TokenServer(settings, tools);
    this.now = tools.now;
    this.client = clientAuth && new ClientProof(clientAuth, this.server.urlOf(path), tools);
  }

  /** The reason why no token can be asked for; undefined if there is none. */
  get problem(): string | undefined {
    return this.client?.problem;
  }

  /**
   * @param parameters of the request, the client's proof aside
   * @throws GatewayError backend_login_required where the server refuses the grant of a user, backend_auth_failed otherwise
   */
  async ask(
    parameters: readonly (readonly [string, string])[],
    { field, grantOf = 'user' }: TokenWish = {},
  ): Promise<IssuedToken> {
    const form = new URLSearchParams();
    for (const [name, value] of parameters) form.append(name, value);
    const headers: [string, string][] = [
      ['content-type', 'application/x-www-form-urlencoded'],
      ['accept', 'application/json'],
    ];
    this.client?.prove(form, headers, this.now());
    const { path: target, server } = this;
    const body = Buffer.from(form.toString());
    const answer = await server.ask({ method: 'POST', target, headers, body, grantOf });
    return server.issued(target, answer.body, field);
  }

  close(): void {
    this.client?.close();
  }
}

/** RFC 6749 §2.3.1 wants both parts encoded as in a form. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

/** The gateway's proof of its own identity at a token endpoint. */
class ClientProof {
  private readonly auth: ClientAuth;
  private readonly url: string;
  private readonly texts: readonly WatchedText<unknown>[];
  private readonly secret: WatchedText<string> | undefined;
  private readonly key: WatchedText<KeyObject> | undefined;
  private readonly certificate: WatchedText<Readonly<Record<string, unknown>>> | undefined;

  constructor(auth: ClientAuth, url: string, { log }: PolicyTools) {
    this.auth = auth;
    this.url = url;
    const watched = <T>(source: TextSource, name: string, read: (text: string) => T): WatchedText<T> =>
      new WatchedText(source, { name: `backendAuth.clientAuth.${name}`, read, log });
    if (auth.method === 'privateKeyJwt') {
      const { key, alg, certificate, certificateHeader } = auth;
      this.key = watched(key, 'signingKey', (text) => signingKeyOf(text, alg));
      if (certificate !== undefined)
        this.certificate = watched(certificate, 'certificate', (text) =>
          certificateHeaderOf(text, certificateHeader),
        );
    } else
      this.secret = watched(auth.secret, 'clientSecret', (text) => {
        const secret = readSecret(text);
        rememberSecrets([secret]);
        return secret;
      });
    this.texts = [this.secret, this.key, this.certificate].filter((text) => text !== undefined);
  }

  get problem(): string | undefined {
    return this.texts.map(({ problem }) => problem).find((problem) => problem !== undefined);
  }

  prove(form: URLSearchParams, headers: [string, string][], now: number): void {
    const { auth } = this;
    const { clientId } = auth;
    if (auth.method === 'privateKeyJwt') {
      form.set('client_id', clientId);
      form.set('client_assertion_type', assertionType);
      form.set('client_assertion', this.assertion(auth, now));
      return;
    }
    const secret = this.secret?.value ?? '';
    if (auth.method === 'clientSecretPost') {
      form.set('client_id', clientId);
      form.set('client_secret', secret);
      return;
    }
    const pair = Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString('base64');
    headers.push(['authorization', `Basic ${pair}`]);
  }

  close(): void {
    for (const text of this.texts) text.close();
  }

  /** RFC 7523 §3. */
  private assertion(auth: ClientAuth & { readonly method: 'privateKeyJwt' }, now: number): string {
    const { clientId, alg, kid, audience = this.url } = auth;
    if (this.key === undefined) throw new Error('privateKeyJwt without a key');
    const seconds = Math.floor(now / 1_000);
    const header = { ...(kid === undefined ? {} : { kid }), ...this.certificate?.value };
    return signToken(this.key.value, alg, header, {
      iss: clientId,
      sub: clientId,
      aud: audience,
      jti: randomUUID(),
      iat: seconds,
      exp: seconds + assertionMs / 1_000,
    });
  }
}

/** The members of a header that name a certificate (RFC 7515 §4.1.6, §4.1.8). */
function certificateHeaderOf(
  pem: string,
  form: 'x5c' | 'x5t#S256' | undefined,
): Readonly<Record<string, unknown>> {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  const chain = blocks.map((block) => new X509Certificate(block).raw);
  const [leaf] = chain;
  if (leaf === undefined) throw new Error('expected a certificate as PEM');
  return form === 'x5c'
    ? { x5c: chain.map((der) => der.toString('base64')) }
    : { 'x5t#S256': createHash('sha256').update(leaf).digest('base64url') };
}
