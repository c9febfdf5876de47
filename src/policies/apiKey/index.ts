import { createHmac, hash, randomBytes } from 'node:crypto';
import { GatewayError } from '../../errors.ts';
import type { ApiKeyHolder, Exchange, Policy } from '../policy.ts';
import { credentialReader } from '../token/credential.ts';
import { bearer } from '../token/schema.ts';
import { apiKeySchema, type AcceptedKey, type ApiKeySettings } from './facts.ts';

const maxKeyLength = 4096;

export const apiKey: Policy<ApiKeySettings> = {
  schema: apiKeySchema,
  prepare({ keys, mode, location = bearer }) {
    const credential = credentialReader(location);
    const holderOf = keyTable(keys);
    // RFC 9110 §11.6.1: a 401 names a scheme. There is none for keys outside of Authorization.
    const scheme =
      location.kind === 'header' && location.prefix.toLowerCase() === 'bearer ' ? 'Bearer' : 'ApiKey';
    const headers = [['www-authenticate', scheme]] as const;

    function refused(exchange: Exchange, reason: string): GatewayError {
      exchange.request.annotate('credentials', reason);
      return new GatewayError('credentials_invalid', { headers, detail: reason });
    }

    return {
      credentials: (exchange) => credential.texts(exchange),
      onRequest(exchange) {
        const presented = credential.read(exchange);
        if (presented === undefined) {
          if (mode === 'strict')
            throw new GatewayError('credentials_missing', { headers, detail: 'apiKey, mode strict' });
          return undefined;
        }
        credential.strip(exchange);
        const holder = presented.length > maxKeyLength ? undefined : holderOf(presented);
        // An unknown key counts as none: the holder that the listener has found stays.
        if (holder !== undefined) exchange.apiKey = holder;
        else if (mode !== 'permissive') throw refused(exchange, 'unknown API key');
        return undefined;
      },
    };
  },
};

/**
 * Finds the holder of a key. The table is looked up by a digest with a secret of this process: nobody outside can
 * tell how near a guess came, however exactly the lookup is timed.
 */
function keyTable(keys: readonly AcceptedKey[]): (key: string) => ApiKeyHolder | undefined {
  const secret = randomBytes(32);
  const blind = (digest: string): string => createHmac('sha256', secret).update(digest).digest('base64');
  const holders = new Map(
    keys.map(({ digest, metadata }): [string, ApiKeyHolder] => [
      blind(digest),
      // Not the digest itself, which some other system may accept. The id has no secret: replicas and restarts have to
      // agree on it. So a key that somebody thought up can be found by trying, as the documentation says.
      { id: hash('sha256', `id of ${digest}`).slice(0, 16), metadata },
    ]),
  );
  return (key) => holders.get(blind(hash('sha256', key)));
}
