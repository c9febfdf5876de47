import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type BlockList } from 'node:net';
import { Readable } from 'node:stream';
import { closedAddresses, isAmong, isServiceName, tenantLookup, type LookupAll } from '../http/index.ts';

export interface GuardOptions {
  readonly lookup?: LookupAll;
  /** Addresses that are not connected to; those of `closedAddresses` unless given. */
  readonly closed?: BlockList;
  /** Is an address open although it is among those that are closed? */
  readonly isOpen?: (address: string) => boolean;
}

/**
 * Allows plain text for a Service only, and TLS for everything: a key set that an attacker can change is
 * worthless.
 */
const isAllowed = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isServiceName(hostname));

/**
 * A `fetch` for addresses that somebody other than the operator has written. The address that a name stands for is
 * checked by the very lookup that the connection is made with, so no second answer of a name server counts. It follows
 * no redirect: its caller asks it again for each.
 */
export function guardedFetch({
  lookup = tenantLookup,
  closed = closedAddresses(),
  isOpen = () => false,
}: GuardOptions = {}): typeof fetch {
  const why = (address: string): string | undefined =>
    isAmong(closed, address) && !isOpen(address)
      ? `the gateway does not fetch documents from ${address}`
      : undefined;
  const guarded: LookupAll = (hostname, options, done) =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, []);
      const refused = addresses.map(({ address }) => why(address)).find((one) => one !== undefined);
      // A name with one such address is not a server's with a slip in it, but somebody's who tries.
      if (refused !== undefined) return done(new Error(`${hostname}: ${refused}`), []);
      done(null, addresses);
    });
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (!isAllowed(url)) throw new TypeError('only https, or http to a Service of the cluster');
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const refused = isIP(host) === 0 ? undefined : why(host);
    if (refused !== undefined) throw new TypeError(refused);
    return await ask(url, guarded, init ?? {});
  };
}

async function ask(
  url: URL,
  lookup: LookupAll,
  { signal, headers: written, method = 'GET', body: content }: RequestInit,
): Promise<Response> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = new Headers(written);
  const isForm = content instanceof URLSearchParams;
  if (!isForm && typeof (content ?? '') !== 'string')
    throw new TypeError('only a text or a form can be sent');
  if (isForm && !headers.has('content-type'))
    headers.set('content-type', 'application/x-www-form-urlencoded;charset=UTF-8');
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = send(url, {
      // A connection of its own: one that is kept would have been checked for another request.
      agent: false,
      lookup: (hostname, options, done) =>
        lookup(hostname, { ...options, all: true }, (error, addresses) => {
          const [first] = addresses;
          if (error !== null || first === undefined) done(error ?? new Error('no address'), '', 0);
          else if (options.all === true) done(null, addresses as unknown as string, 0);
          else done(null, first.address, first.family);
        }),
      method,
      headers: Object.fromEntries(headers),
      ...(signal ? { signal } : {}),
    });
    request.once('response', resolve);
    request.once('error', reject);
    request.end(content?.toString());
  });
  const { statusCode = 502 } = answer;
  const fields = Object.entries(answer.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === 'string' ? [[name, value]] : [],
  );
  const isEmpty = [204, 205, 304].includes(statusCode);
  if (isEmpty) answer.resume();
  const body = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>);
  return new Response(body, { status: statusCode, headers: fields });
}
