/** An endpoint of a provider: https, or the host of an issuer that is reached by plain HTTP itself. */
export function endpointOf(value: unknown, issuer: string): URL | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null || (url.protocol !== 'https:' && url.origin !== URL.parse(issuer)?.origin))
    return undefined;
  return url;
}

/** An address in its usual form, without a slash at its end, for comparisons; undefined for a text that is none. */
export const bareAddress = (address: string): string | undefined =>
  URL.parse(address)?.href.replace(/\/$/, '');
