import { createHash, randomUUID, X509Certificate, type KeyObject } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import { valuePattern } from '../fields/httpText.ts';
import type { Host, HostAnswer, PolicyTools } from '../policy.ts';
import { WatchedText } from '../text/watchedText.ts';
import type { TextSource } from '../text/schema.ts';
import type { ClientAuth, TokenEndpointSettings } from './oauthSchema.ts';
import { readSecret } from './secretText.ts';
import { signingKeyOf, signToken } from './signToken.ts';

/** A token that an authorization server issued. */
export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch; undefined where the response does not say. */
  readonly expiresAt: number | undefined;
}

/** Bytes of a response; tokens have a few thousand. */
const mostResponseBytes = 262_144;
const timeoutMs = 10_000;
/** Milliseconds that an assertion of the gateway is valid. */
const assertionMs = 60_000;
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** A call that several requests wait for ends with none of them. */
const nobody = { onClose: () => undefined };

/** Asks one token endpoint (RFC 6749 §3.2) for tokens. */
export class TokenEndpoint {
  private readonly settings: TokenEndpointSettings;
  private readonly host: Host;
  private readonly now: () => number;
  private readonly client: ClientProof | undefined;

  /** @throws Error where a text of the settings cannot be used */
  constructor(settings: TokenEndpointSettings, tools: PolicyTools) {
    this.settings = settings;
    const { host, port, tls, clientAuth } = settings;
    this.host = tools.hosts.use({ host, port, ...(tls === undefined ? {} : { tls }) });
    this.now = tools.now;
    this.client = clientAuth && new ClientProof(clientAuth, this.url, tools);
  }

  /** The reason why no token can be asked for; undefined if there is none. */
  get problem(): string | undefined {
    return this.client?.problem;
  }

  private get url(): string {
    const { host, port, tls, path } = this.settings;
    const shown = host.includes(':') ? `[${host}]` : host;
    const usual = tls === undefined ? 80 : 443;
    return `${tls === undefined ? 'http' : 'https'}://${shown}${port === usual ? '' : `:${String(port)}`}${path}`;
  }

  /**
   * @param parameters of the request, the client's proof aside
   * @throws GatewayError backend_login_required where the server refuses the grant, backend_auth_failed otherwise
   */
  async ask(parameters: readonly (readonly [string, string])[]): Promise<IssuedToken> {
    const form = new URLSearchParams();
    for (const [name, value] of parameters) form.append(name, value);
    const headers: [string, string][] = [
      ['content-type', 'application/x-www-form-urlencoded'],
      ['accept', 'application/json'],
    ];
    this.client?.prove(form, headers, this.now());
    const { path } = this.settings;
    const body = Buffer.from(form.toString());
    let answer: HostAnswer;
    try {
      answer = await this.host.ask(
        {
          method: 'POST',
          target: path,
          headers,
          body,
          timeoutMs,
          maxBodyBytes: mostResponseBytes,
          // A grant may be good once.
          repeatable: false,
        },
        nobody,
      );
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      throw this.failed(`${error.code}${error.detail === undefined ? '' : `: ${error.detail}`}`, error);
    }
    return this.read(answer);
  }

  close(): void {
    this.client?.close();
  }

  private read({ status, body }: HostAnswer): IssuedToken {
    const said = jsonObject(body);
    if (status !== 200) {
      const error = shown(said?.['error']);
      const description = shown(said?.['error_description']);
      const detail = `status ${String(status)}${error === '' ? '' : `, ${error}`}${description === '' ? '' : `: ${description}`}`;
      // RFC 6749 §5.2: the grant is the user's, and a new login gives another one.
      if (status < 500 && (error === 'invalid_grant' || error === 'invalid_token'))
        throw new GatewayError('backend_login_required', { detail: `${this.url}: ${detail}` });
      throw this.failed(detail);
    }
    const token = said?.['access_token'];
    const lifetime = said?.['expires_in'];
    if (typeof token !== 'string' || token === '') throw this.failed('the response has no access_token');
    if (!valuePattern.test(token)) throw this.failed('the access_token cannot stand in a header');
    const seconds = typeof lifetime === 'string' ? Number(lifetime) : lifetime;
    return {
      token,
      expiresAt:
        typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0
          ? this.now() + seconds * 1_000
          : undefined,
    };
  }

  private failed(detail: string, cause?: unknown): GatewayError {
    return new GatewayError('backend_auth_failed', { detail: `${this.url}: ${detail}`, cause });
  }
}

/** Texts of the server go into the log: cut, and without what could begin a line. */
const shown = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, 200).replaceAll(/[^\x20-\x7e]/g, '?') : '';

function jsonObject(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
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
