import type { Jwks } from './schema.ts';

/** Facts about a make of provider that hold before the provider is asked. */
export interface KeyPlace {
  /** The usual path of the key set below the issuer. */
  readonly keys: string;
  /** Is the metadata the OpenID Connect discovery document, or that of RFC 8414? */
  readonly metadata: 'openid' | 'oauth';
}

export const generic: KeyPlace = { keys: '.well-known/jwks.json', metadata: 'oauth' };

/** The key set that the issuer's metadata names; undefined where the issuer is not an http(s) URL. */
export function discoveredJwks(issuer: string, place: KeyPlace = generic): Jwks | undefined {
  if (!/^https?:\/\//.test(issuer) || !URL.canParse(issuer)) return undefined;
  return {
    kind: 'discovered',
    issuer,
    openid: place.metadata === 'openid',
    derived: `${issuer.replace(/\/$/, '')}/${place.keys}`,
  };
}
