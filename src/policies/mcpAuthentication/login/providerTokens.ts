import { bodyWithin, hideSent, sentTexts } from '../../../auth/index.ts';
import { endpointOf } from '../../../schema/index.ts';
import type { Logger } from '../../../telemetry/index.ts';
import { messageOf } from '../../../errorText.ts';

const timeoutMs = 10_000;
const mostBytes = 262_144;

/** The answer of a provider's token endpoint. */
export type TokenAnswer =
  | { readonly kind: 'tokens'; readonly tokens: Readonly<Record<string, unknown>> }
  /** The error code of RFC 6749 §5.2. */
  | { readonly kind: 'refused'; readonly error: string }
  | { readonly kind: 'failed' };

export interface TokenCall {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly form: Readonly<Record<string, string>>;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** Asks the token endpoint of the provider, as the client that the operator has registered. Never rejects. */
export async function askProvider(call: TokenCall): Promise<TokenAnswer> {
  try {
    return await ask(call);
  } catch (error) {
    call.log.warn('Login: the token endpoint of the provider failed', {
      issuer: call.issuer,
      problem: messageOf(error),
    });
    return { kind: 'failed' };
  }
}

async function ask({
  metadata,
  issuer,
  clientId,
  clientSecret,
  form,
  fetch: send,
  signal,
  log,
}: TokenCall): Promise<TokenAnswer> {
  const endpoint = endpointOf(metadata.token_endpoint, issuer);
  if (endpoint === undefined) throw new Error('token_endpoint is missing, or not https');
  const body = new URLSearchParams({ ...form, client_id: clientId });
  const headers = new Headers({ accept: 'application/json' });
  const methods = metadata.token_endpoint_auth_methods_supported;
  if (clientSecret !== undefined) {
    // RFC 8414 §2: Basic is meant where the metadata names no method.
    if (Array.isArray(methods) && methods.includes('client_secret_post'))
      body.set('client_secret', clientSecret);
    else headers.set('authorization', `Basic ${basic(clientId, clientSecret)}`);
  }
  const response = await send(endpoint, {
    method: 'POST',
    headers,
    body,
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  const answer = JSON.parse((await bodyWithin(response, mostBytes)).toString('utf8')) as unknown;
  if (typeof answer !== 'object' || answer === null) throw new Error('the answer is not a JSON object');
  const said = answer as Record<string, unknown>;
  if (response.ok && typeof said.access_token === 'string') return { kind: 'tokens', tokens: said };
  const error = typeof said.error === 'string' ? said.error : '';
  log.warn('Login: the provider refused a grant', {
    issuer,
    status: response.status,
    error: hideSent(error, sentTexts([...headers], body)),
  });
  if (error === 'invalid_grant' || error === 'invalid_scope') return { kind: 'refused', error };
  return { kind: 'failed' };
}

/** RFC 6749 §2.3.1 wants both parts encoded as in a form. */
const basic = (id: string, secret: string): string =>
  Buffer.from(
    [id, secret].map((text) => new URLSearchParams({ '': text }).toString().slice(1)).join(':'),
  ).toString('base64');
