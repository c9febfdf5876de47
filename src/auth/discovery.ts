import { messageOf } from '../errorText.ts';
import type { DiscoveredKeys } from './contract.ts';
import { shownUrl, Unreachable } from '../files/index.ts';
import { metadataAt, metadataUrls, type MetadataRequest } from './issuerMetadata.ts';

/** The address of an issuer's keys, and the reason why its metadata does not name it. */
export interface Found {
  readonly url: string;
  /** Fit for the log; undefined where the metadata names the key set. */
  readonly problem: string | undefined;
}

/**
 * Finds the key set of an issuer: `jwks_uri` of its metadata (RFC 8414 §2, OpenID Connect Discovery §3) at any of the
 * usual paths, else the derived address. Never rejects.
 */
export async function findKeys(
  { issuer, openid, derived }: DiscoveredKeys,
  request: Omit<MetadataRequest, 'issuer'>,
): Promise<Found> {
  const problems: string[] = [];
  for (const url of metadataUrls(issuer, openid)) {
    try {
      const { jwks_uri: keys } = await metadataAt(url, { issuer, ...request });
      return { url: keyUrl(keys, issuer), problem: undefined };
    } catch (error) {
      problems.push(`${shownUrl(url)}: ${messageOf(error)}`);
      if (error instanceof Unreachable) break;
    }
  }
  return { url: derived, problem: problems.join('; ') };
}

/** Keys that travel unprotected could be anybody's, so plain HTTP is for an issuer that is reached by it itself. */
function keyUrl(value: unknown, issuer: string): string {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null) throw new Error('jwks_uri is missing or not a URL');
  if (url.username !== '' || url.password !== '') throw new Error('jwks_uri contains a password');
  if (url.protocol !== 'https:' && url.origin !== new URL(issuer).origin)
    throw new Error('jwks_uri must use https, or the host of the issuer');
  return url.href;
}
