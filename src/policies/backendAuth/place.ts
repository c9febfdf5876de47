import { editCookies, withoutParameters } from '../../http/index.ts';
import type { Exchange, PlacedCredential } from '../policy.ts';
import type { Location } from '../token/schema.ts';

/** Puts a credential into the request for the backend, or takes out what stands at its place. */
export type Place = PlacedCredential['put'];

/** The client's own text at the place is never forwarded: the backend may rely on it. */
export function placeOf(location: Location): Place {
  const put = putterFor(location);
  return (exchange, credential) => {
    put(exchange, credential);
    (exchange.credentials ??= []).push({ put, credential });
  };
}

/** Takes out the credentials of a policy that another `backendAuth` replaces: they are for other backends. */
export function withdrawCredentials(exchange: Exchange): void {
  exchange.signer = undefined;
  for (const { put } of exchange.credentials ?? []) put(exchange, undefined);
  exchange.credentials = undefined;
}

/** Overrides changes that policies have made after `backendAuth`. */
export function putCredentialsAgain(exchange: Exchange): void {
  for (const { put, credential } of exchange.credentials ?? []) put(exchange, credential);
}

function putterFor(location: Location): Place {
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
    const others = withoutParameters(
      exchange.forwardTarget,
      (pair) => pair === '' || new URLSearchParams(pair).has(name),
    );
    const own = `${encodeURIComponent(name)}=${encodeURIComponent(credential ?? '')}`;
    exchange.forwardTarget =
      credential === undefined ? others : `${others}${others.includes('?') ? '&' : '?'}${own}`;
  };
