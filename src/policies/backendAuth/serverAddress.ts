import { buildTls, isOnLoopback } from '../../schema/index.ts';
import type { ServerAddress } from './tokenServer.ts';

/** The server and the path of a URL. @throws Error that does not quote the text */
export function addressOf(text: string): ServerAddress & { readonly path: string } {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') throw new Error('expected an https URL');
  const https = url.protocol === 'https:';
  // Secrets go there: only this machine may get them in clear.
  if (!https && !(url.protocol === 'http:' && isOnLoopback(url))) throw new Error('expected an https URL');
  return { ...addressIn(url), path: `${url.pathname}${url.search}` };
}

/** The server of a URL whose scheme was judged before. */
export function addressIn({ protocol, hostname, port }: URL): ServerAddress {
  const https = protocol === 'https:';
  return {
    host: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname,
    port: port === '' ? (https ? 443 : 80) : Number(port),
    ...(https ? { tls: buildTls({}) } : {}),
  };
}
