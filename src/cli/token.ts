import { gather } from '../gatheredBytes.ts';
import type { Command, Flags } from './command.ts';
import { UsageError } from './command.ts';
import { exitCode } from './exitCode.ts';
import { printable } from './printable.ts';
import { reasonOf } from './reason.ts';

const timeoutMs = 10_000;

/** A token endpoint answers with a token or an error, never with much. */
const maxAnswerBytes = 1_048_576;

const wellKnown = ['openid-configuration', 'oauth-authorization-server'];

export const token: Command = {
  summary: 'get a token by client credentials and print it',
  usage: '--issuer URL --client-id ID [--client-secret SECRET] [--scope "A B"]',
  flags: {
    issuer: { type: 'string', value: 'URL', help: 'issuer, whose metadata names the token endpoint' },
    'client-id': { type: 'string', value: 'ID', help: 'client id' },
    'client-secret': {
      type: 'string',
      value: 'SECRET',
      help: 'client secret; prefer PORTCULLIS_CLIENT_SECRET, which `ps` does not show',
    },
    scope: { type: 'string', value: 'SCOPES', help: 'scopes, separated by spaces' },
  },
  positionals: 0,
  async run(flags, _positionals, terminal) {
    const issuer = required(flags, 'issuer').replace(/\/+$/, '');
    if (!URL.canParse(issuer) || !/^https?:/.test(issuer))
      throw new UsageError('--issuer: expected an http or https URL');
    const id = required(flags, 'client-id');
    const secret = flags['client-secret'] ?? terminal.env['PORTCULLIS_CLIENT_SECRET'];
    if (typeof secret !== 'string' || secret === '')
      throw new UsageError('--client-secret or PORTCULLIS_CLIENT_SECRET is required');
    try {
      const endpoint = await findTokenEndpoint(issuer);
      terminal.out(`${await requestToken(endpoint, id, secret, flags['scope'])}\n`);
      return exitCode.ok;
    } catch (error) {
      // The issuer chose a part of these words.
      terminal.err(`portcullis: ${printable(reasonOf(error))}\n`);
      return exitCode.failed;
    }
  },
};

/** RFC 6750 §2.1. Other characters could be commands of the terminal, or a second line of a script's variable. */
const b64token = /^[A-Za-z0-9\-._~+/]+=*$/;

function required(flags: Flags, name: string): string {
  const value = flags[name];
  if (typeof value !== 'string' || value === '') throw new UsageError(`--${name} is required`);
  return value;
}

/** OpenID Connect appends its document to the issuer; RFC 8414 §3.1 puts it between host and path. Both occur. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname === '/' ? '' : pathname;
  const appended = wellKnown.map((name) => `${issuer}/.well-known/${name}`);
  return [...new Set([...appended, `${origin}/.well-known/oauth-authorization-server${path}`])];
}

async function findTokenEndpoint(issuer: string): Promise<string> {
  let last = 'no answer';
  for (const url of metadataUrls(issuer)) {
    const { status, body } = await fetchJson(url, {});
    if (status !== 200) {
      last = `${url} answers with status ${status}`;
      continue;
    }
    // The secret goes to the endpoint: metadata must say that it is this issuer's (RFC 8414 §3.3).
    const named = body['issuer'];
    if (typeof named !== 'string')
      throw new Error(`${url} names no issuer, so the metadata cannot be trusted`);
    if (named.replace(/\/+$/, '') !== issuer)
      throw new Error(`${url} is the metadata of another issuer, ${named}`);
    const endpoint = body['token_endpoint'];
    if (typeof endpoint !== 'string' || !URL.canParse(endpoint) || !/^https?:/.test(endpoint)) {
      last = `${url} names no token_endpoint`;
      continue;
    }
    if (issuer.startsWith('https:') && !endpoint.startsWith('https:'))
      throw new Error(`${url} names a token_endpoint without TLS, ${endpoint}`);
    return endpoint;
  }
  throw new Error(`cannot find the token endpoint of ${issuer}: ${last}`);
}

async function requestToken(
  endpoint: string,
  id: string,
  secret: string,
  scope: Flags[string],
): Promise<string> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  });
  if (typeof scope === 'string') form.set('scope', scope);
  const { status, body } = await fetchJson(endpoint, { method: 'POST', body: form });
  const found = body['access_token'];
  if (status === 200 && typeof found === 'string') {
    if (b64token.test(found)) return found;
    throw new Error(`${endpoint} answered without a valid bearer token (RFC 6750 §2.1)`);
  }
  const said = [body['error'], body['error_description']]
    .filter((part) => typeof part === 'string')
    .join(': ');
  throw new Error(`${endpoint} answers with status ${status}${said === '' ? '' : `: ${said}`}`);
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

async function fetchJson(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, {
    ...init,
    headers: { accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const bytes = await gather(
    (response.body ?? []) as AsyncIterable<Uint8Array>,
    maxAnswerBytes,
    () => new Error(`${url} answers with more than ${maxAnswerBytes} bytes`),
  );
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString('utf8'));
  } catch {
    body = undefined;
  }
  return {
    status: response.status,
    body: typeof body === 'object' && body !== null ? (body as Readonly<Record<string, unknown>>) : {},
  };
}
