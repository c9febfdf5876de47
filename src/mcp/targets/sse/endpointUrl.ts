import { authorityOf } from '../../../upstream/index.ts';
import type { Reach } from '../../contract.ts';

/** Characters of a URL for messages. */
const maxLength = 4_096;

/**
 * The path and query for messages, as the `endpoint` event of a server names them: a URL, or a reference relative to
 * the URL of the stream. Undefined where the URL is of another origin: a server must not choose which hosts get the
 * messages and the credentials of the gateway.
 */
export function endpointPath(
  written: string,
  { destination: { target }, authority, path }: Reach,
): string | undefined {
  if (written.length > maxLength) return undefined;
  const scheme = target.tls === undefined ? 'http' : 'https';
  const bases = [authorityOf(target), authority].flatMap((one) => {
    const base = one === undefined ? null : URL.parse(`${scheme}://${one}${path}`);
    return base === null ? [] : [base];
  });
  for (const base of bases) {
    const url = URL.parse(written, base);
    if (url?.origin === base.origin && url.username === '' && url.password === '')
      return url.pathname + url.search;
  }
  return undefined;
}

const pairsOf = (path: string): readonly string[] => {
  const mark = path.indexOf('?');
  return mark < 0 ? [] : path.slice(mark + 1).split('&');
};

/**
 * The path for a message, with the query that policies have added to the path of the stream, such as a key.
 * @param endpoint as the server named it
 * @param own the path of the target in the configuration
 * @param reached the same with the additions of policies
 */
export function messagePath(endpoint: string, own: string, reached: string): string {
  const written = new Set(pairsOf(own));
  const added = pairsOf(reached).filter((pair) => !written.has(pair));
  if (added.length === 0) return endpoint;
  return `${endpoint}${endpoint.includes('?') ? '&' : '?'}${added.join('&')}`;
}
