import { GatewayError } from '../../errors.ts';
import { hideSent, sentTexts } from '../../auth/index.ts';
import { shownUrl } from '../../files/index.ts';
import { valuePattern } from '../fields/httpText.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { Host, HostAnswer, HostCall, PolicyTools } from '../policy.ts';
import { errorInXml } from './awsAnswers.ts';
import type { TokenEndpointSettings } from './oauthSchema.ts';

/** A token that a server issued. */
export interface IssuedToken<Token = string> {
  readonly token: Token;
  /** Milliseconds since the epoch; undefined where the response does not say. */
  readonly expiresAt: number | undefined;
}

export type ServerAddress = Pick<TokenEndpointSettings, 'host' | 'port' | 'tls'>;

export interface TokenCall {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Path and query. */
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly body?: Buffer;
  /** The party that can get another grant, if the server refuses this one. */
  readonly grantOf: 'user' | 'gateway';
}

/** Bytes of a response; tokens have a few thousand. */
const mostResponseBytes = 65_536;
/** Characters of a token: the fields of a request are not longer. */
const mostTokenCharacters = 16_384;
/** Shorter than requests wait for a token (`issuedTokens.ts`), so that the log names the server that hangs. */
const timeoutMs = 9_000;

/** A call that several requests wait for ends with none of them. */
const nobody = { onClose: () => undefined };

/** A server that issues tokens over HTTP: an authorization server, or the metadata server of a cloud. */
export class TokenServer {
  private readonly address: ServerAddress;
  private readonly host: Host;
  private readonly now: () => number;

  /** @throws Error where a file of the TLS settings cannot be used */
  constructor(address: ServerAddress, { hosts, now }: PolicyTools) {
    const { host, port, tls } = address;
    this.address = address;
    this.host = hosts.use({ host, port, ...(tls === undefined ? {} : { tls }) });
    this.now = now;
  }

  urlOf(target: string): string {
    const { host, port, tls } = this.address;
    const shownHost = host.includes(':') ? `[${host}]` : host;
    const usual = tls === undefined ? 80 : 443;
    return `${tls === undefined ? 'http' : 'https'}://${shownHost}${port === usual ? '' : `:${String(port)}`}${target}`;
  }

  /**
   * @returns the answer, whose status is 200
   * @throws GatewayError backend_login_required where the server refuses the grant of a user, backend_auth_failed
   *   otherwise
   */
  async ask(call: TokenCall): Promise<HostAnswer> {
    const { method, target, headers, body, grantOf } = call;
    const asked: HostCall = {
      method,
      target,
      headers,
      ...(body === undefined ? {} : { body }),
      timeoutMs,
      maxBodyBytes: mostResponseBytes,
      // A grant may be good once.
      repeatable: method === 'GET',
    };
    let answer: HostAnswer;
    try {
      answer = await this.host.ask(asked, nobody);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      throw this.failed(
        target,
        `${error.code}${error.detail === undefined ? '' : `: ${error.detail}`}`,
        error,
      );
    }
    if (answer.status === 200) return answer;
    const said = jsonObject(answer.body);
    // STS of AWS answers in XML.
    const sent = sentTexts(headers, body);
    const error = hideSent(
      said === undefined ? errorInXml(answer.body.toString('utf8')) : said['error'],
      sent,
    );
    const description = hideSent(said?.['error_description'], sent);
    const detail = `status ${String(answer.status)}${error === '' ? '' : `, ${error}`}${description === '' ? '' : `: ${description}`}`;
    // RFC 6749 §5.2: the grant is the user's, and a new login gives another one.
    if (grantOf === 'user' && answer.status < 500 && (error === 'invalid_grant' || error === 'invalid_token'))
      throw new GatewayError('backend_login_required', { detail: `${this.shownUrlOf(target)}: ${detail}` });
    throw this.failed(target, detail);
  }

  /** The token in a JSON response. @throws GatewayError backend_auth_failed where there is none */
  issued(target: string, body: Buffer, field: 'access_token' | 'id_token' = 'access_token'): IssuedToken {
    const said = jsonObject(body);
    const token = said?.[field];
    if (typeof token !== 'string' || token === '') throw this.failed(target, `the response has no ${field}`);
    if (!valuePattern.test(token)) throw this.failed(target, `the ${field} cannot stand in a header`);
    if (token.length > mostTokenCharacters)
      throw this.failed(target, `the ${field} is longer than ${String(mostTokenCharacters)} characters`);
    const seconds = secondsOf(said?.['expires_in']);
    // The metadata servers of Azure name the end.
    const end = secondsOf(said?.['expires_on']);
    return {
      token,
      expiresAt:
        seconds !== undefined ? this.now() + seconds * 1_000 : end !== undefined ? end * 1_000 : undefined,
    };
  }

  /** The query of a token endpoint may hold a secret. */
  private shownUrlOf(target: string): string {
    return shownUrl(this.urlOf(target));
  }

  failed(target: string, detail: string, cause?: unknown): GatewayError {
    return new GatewayError('backend_auth_failed', {
      detail: `${this.shownUrlOf(target)}: ${detail}`,
      cause,
    });
  }
}

/** Undefined where it is no number. A negative lifetime has ended, too. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

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
