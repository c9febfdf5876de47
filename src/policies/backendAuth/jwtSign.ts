import { createPublicKey, type KeyObject } from 'node:crypto';
import type { PolicyTools } from '../policy.ts';
import { WatchedText } from '../text/watchedText.ts';
import type { JwtSignSettings } from './jwtSignSchema.ts';
import { placeOf } from './place.ts';
import { noteCredential, type Sender } from './sender.ts';
import { signingKeyOf, signToken } from './signToken.ts';

/** Signs a token for the backend. Its times have whole seconds, so requests of one second get the same token. */
export function jwtSignSender(settings: JwtSignSettings, { log, now }: PolicyTools): Sender {
  const { alg, kid, claims, ttlMs } = settings;
  const put = placeOf(settings.location);
  const key = new WatchedText(settings.key, {
    name: 'backendAuth.jwtSign.signingKey',
    read: (text) => signingKeyOf(text, alg),
    log,
  });
  const header = kid === undefined ? {} : { kid };
  let signed: { readonly key: unknown; readonly second: number; readonly token: string } | undefined;
  // The tokens of one key and the same claims are one credential: only their times differ.
  let known: { readonly key: KeyObject; readonly parts: readonly string[] } | undefined;
  const partsOf = (signer: KeyObject): readonly string[] => {
    if (known?.key !== signer) {
      const publicKey = createPublicKey(signer).export({ type: 'spki', format: 'pem' }).toString();
      known = { key: signer, parts: [publicKey, JSON.stringify([alg, header, claims])] };
    }
    return known.parts;
  };
  return {
    send(exchange) {
      noteCredential(exchange, 'gateway', partsOf(key.value), settings.location);
      const second = Math.floor(now() / 1_000);
      if (signed?.second !== second || signed.key !== key.value) {
        const times = { iat: second, nbf: second, exp: second + Math.ceil(ttlMs / 1_000) };
        signed = {
          key: key.value,
          second,
          token: signToken(key.value, alg, header, { ...claims, ...times }),
        };
      }
      put(exchange, signed.token);
    },
    problem: () => key.problem,
    close: () => key.close(),
  };
}
