import { GatewayError } from '../../errors.ts';
import type { Exchange } from '../policy.ts';
import { tokenReader as credentialReader } from '../token/credential.ts';
import { bearer } from '../token/schema.ts';
import type { TokenSource } from './oauthSchema.ts';

/** Reads a token of the client's request. */
export interface TokenReader {
  /** @throws GatewayError backend_login_required where the request has none */
  read(exchange: Exchange): string;
  /** As of `Steps.credentials`. */
  texts(exchange: Exchange): readonly string[];
  /** A token that is exchanged does not reach the backend. */
  strip(exchange: Exchange, token: string): void;
}

/** @param what names the token in the log, such as `subjectToken` */
export function tokenReader(source: TokenSource, what: string): TokenReader {
  const missing = (): GatewayError =>
    new GatewayError('backend_login_required', { detail: `the request has no ${what}` });
  const reader = credentialReader(source, what, 'any');
  const usual = source.kind === 'header' && source.name === bearer.name;
  const tokenOf = (exchange: Exchange): string | undefined => {
    if (!usual) return reader.read(exchange);
    // The verified token may have come from another place than the usual one.
    if (exchange.token !== undefined) return exchange.token;
    // Authentication takes each token or key out of the request, even if it refuses the token and admits the request.
    return exchange.requestHeaders.dropsName(bearer.name) ? undefined : reader.read(exchange);
  };
  return {
    read(exchange) {
      const token = tokenOf(exchange);
      if (token === undefined || token === '') throw missing();
      return token;
    },
    texts: (exchange) => reader.texts(exchange),
    strip: (exchange, token) => reader.strip(exchange, token),
  };
}
