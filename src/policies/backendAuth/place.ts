import { editCookies } from '../../http/index.ts';
import type { Exchange } from '../policy.ts';
import type { Location } from '../token/schema.ts';

/** Puts a credential into the request for the backend, or takes out what stands at its place. */
export type Place = (exchange: Exchange, credential: string | undefined) => void;

/** The client's own text at the place is never forwarded: the backend may rely on it. */
export function placeOf(location: Location): Place {
  const { name } = location;
  if (location.kind === 'header') {
    const { prefix } = location;
    return (exchange, credential) => {
      if (credential === undefined) exchange.requestHeaders.remove(name);
      else exchange.requestHeaders.set(name, prefix + credential);
    };
  }
  return location.kind === 'cookie' ? cookiePlace(name) : queryPlace(name);
}

const cookiePlace =
  (name: string): Place =>
  ({ request, requestHeaders }, credential) => {
    const pair = credential === undefined ? undefined : `${name}=${credential}`;
    editCookies(request, requestHeaders, (known) => known === name, pair);
  };

const queryPlace =
  (name: string): Place =>
  (exchange, credential) => {
    if (exchange.forwardTarget === '*') return;
    const mark = exchange.forwardTarget.indexOf('?');
    const path = mark < 0 ? exchange.forwardTarget : exchange.forwardTarget.slice(0, mark);
    const pairs = (mark < 0 ? '' : exchange.forwardTarget.slice(mark + 1))
      .split('&')
      .filter((pair) => pair !== '' && !new URLSearchParams(pair).has(name));
    if (credential !== undefined) pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(credential)}`);
    exchange.forwardTarget = pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
  };
