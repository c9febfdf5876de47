import { objectIn, timeoutMs } from './metadata.ts';

/** A client of an authorization server. */
export interface OauthClient {
  readonly id: string;
  /** Undefined for a public client. */
  readonly secret: string | undefined;
  /** As the server registered it; the metadata of the server decides where absent. */
  readonly method?: 'clientSecretBasic' | 'clientSecretPost';
}

/** Members of a registration that are credentials (RFC 7591 §3.2.1, RFC 7592 §3). */
const secrets: ReadonlySet<string> = new Set(['client_secret', 'registration_access_token']);

/**
 * Registers a public client for one redirect address (RFC 7591).
 * @returns the client, and the answer of the server without its secrets
 * @throws Error for a server that refuses
 */
export async function register(
  endpoint: URL,
  redirectUri: string,
  send: typeof fetch,
): Promise<{ readonly client: OauthClient; readonly shown: Readonly<Record<string, unknown>> }> {
  const response = await send(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({
      client_name: 'Portcullis console',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answer = objectIn(await response.text());
  const { client_id: id, client_secret: secret, token_endpoint_auth_method: method } = answer ?? {};
  if (!response.ok || typeof id !== 'string')
    throw new Error(`the server answered ${response.status}: ${reasonIn(answer)}`);
  return {
    client: {
      id,
      secret: typeof secret === 'string' && method !== 'none' ? secret : undefined,
      ...(method === 'client_secret_post' && { method: 'clientSecretPost' as const }),
      ...(method === 'client_secret_basic' && { method: 'clientSecretBasic' as const }),
    },
    shown: Object.fromEntries(
      Object.entries(answer ?? {}).map(([name, value]) => [name, secrets.has(name) ? 'hidden' : value]),
    ),
  };
}

function reasonIn(answer: Readonly<Record<string, unknown>> | undefined): string {
  const { error, error_description: description } = answer ?? {};
  const texts = [error, description].filter((each) => typeof each === 'string');
  return texts.length === 0 ? 'no registration' : texts.join(': ').slice(0, 300);
}
