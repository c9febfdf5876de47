/** An endpoint of a provider: https, or the host of an issuer that is reached by plain HTTP itself. */
export function endpointOf(value: unknown, issuer: string): URL | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  if (url === null || (url.protocol !== 'https:' && url.origin !== URL.parse(issuer)?.origin))
    return undefined;
  return url;
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Only this machine hears what is sent to this address, even by plain HTTP. */
export const isOnLoopback = ({ hostname }: URL): boolean => loopback.test(hostname);

/** An address in its usual form, without a slash at its end, for comparisons; undefined for a text that is none. */
export const bareAddress = (address: string): string | undefined =>
  URL.parse(address)?.href.replace(/\/$/, '');
