import { bearerChallenge } from '../../auth/index.ts';
import { GatewayError } from '../../errors.ts';
import type { Policy } from '../policy.ts';
import { createAuthenticator } from '../token/authenticate.ts';
import { jwtAuthSchema, type JwtAuthSettings } from './facts.ts';

export const jwtAuth: Policy<JwtAuthSettings> = {
  schema: jwtAuthSchema,
  prepare({ mode, location, providers }, tools) {
    const authenticator = createAuthenticator(
      {
        policy: 'jwtAuth',
        mode,
        location,
        providers,
        refuse: (exchange, refused) => {
          const resourceMetadata = exchange.metadataUrl?.(exchange);
          const challenge = bearerChallenge({
            ...(refused === undefined ? {} : { refused }),
            ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
          });
          return new GatewayError(refused === undefined ? 'token_missing' : 'token_invalid', {
            headers: [['www-authenticate', challenge]],
            detail: refused ?? 'jwtAuth, mode strict',
          });
        },
      },
      tools,
    );
    return {
      credentials: (exchange) => authenticator.credentials(exchange),
      onRequest(x) {
        const pending = authenticator.authenticate(x);
        return pending instanceof Promise ? pending.then(() => undefined) : undefined;
      },
      watchCaller: (exchange, end) => authenticator.watchCaller(exchange, end),
      problem: () => authenticator.problem(),
      close() {
        authenticator.close();
      },
    };
  },
};
