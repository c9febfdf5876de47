import { X509Certificate } from 'node:crypto';
import { isFor, isSignedBy, lifetimeOf, newAuthority, newServer, type Identity } from './certificate.ts';

/** The certificates that the controllers of an installation share, so that their proxies trust them. */
export interface Material {
  /** Signs. */
  readonly authority: Identity;
  /** Will sign, as soon as every proxy has heard of it. */
  readonly next?: Identity;
  /** Certificates that signed before; those that have run out are left out. */
  readonly former: readonly string[];
  /** The identity that controllers show. */
  readonly server: Identity;
}

/** The trust bundle of proxies: every authority that may have signed the certificates they see. In the PEM form. */
export const trustOf = ({ authority, next, former }: Material): string =>
  [authority.cert, ...(next === undefined ? [] : [next.cert]), ...former]
    .map((cert) => `${cert.trim()}\n`)
    .join('');

const day = 86_400_000;
const authorityLife = 5 * 365 * day;
const serverLife = 90 * day;
/** From the moment an authority is told of until it signs: proxies learn of it within minutes, also late ones. */
const noticeMs = day;
/** Clocks differ. */
const skewMs = 3_600_000;
/** The share of a life after which a successor is made. */
const renewAfter = 2 / 3;

const authorityName = 'portcullis controller';

/**
 * The material to use at a moment, made from the former material: the same object if there is no change, so that
 * it can be asked often. What cannot be read is made anew.
 *
 * @param names of hosts, and addresses, that controllers are reached by
 */
export function maintained(known: Material | undefined, names: readonly string[], now: Date): Material {
  if (known === undefined || !isUsable(known, now)) return begun(names, now);
  let { authority, next, former, server } = known;
  const current = former.filter((cert) => lifetimeOf(cert).notAfter > now);
  if (current.length !== former.length) former = current;
  if (next !== undefined && now.getTime() - madeAt(next) >= noticeMs) {
    former = [authority.cert, ...former];
    authority = next;
    next = undefined;
  } else if (next === undefined && isOld(authority, now)) next = newAuthorityAt(now);
  if (!isSignedBy(server, authority.cert) || isOld(server, now) || !isFor(server.cert, names))
    server = newServerAt(names, authority, now);
  const same =
    authority === known.authority &&
    next === known.next &&
    former === known.former &&
    server === known.server;
  return same ? known : { authority, ...(next === undefined ? {} : { next }), former, server };
}

function begun(names: readonly string[], now: Date): Material {
  const authority = newAuthorityAt(now);
  return { authority, former: [], server: newServerAt(names, authority, now) };
}

const newAuthorityAt = (now: Date): Identity => newAuthority(authorityName, lifetime(now, authorityLife));

/** Ends before who signed it: after that nobody would believe it. */
const newServerAt = (names: readonly string[], by: Identity, now: Date): Identity => {
  const { notBefore, notAfter } = lifetime(now, serverLife);
  const end = lifetimeOf(by.cert).notAfter;
  return newServer(names, by, { notBefore, notAfter: notAfter < end ? notAfter : end });
};

/** In whole seconds, as certificates have it. */
const lifetime = (now: Date, ms: number): { notBefore: Date; notAfter: Date } => {
  const second = Math.floor(now.getTime() / 1_000) * 1_000;
  return { notBefore: new Date(second - skewMs), notAfter: new Date(second + ms) };
};

const madeAt = ({ cert }: Identity): number => lifetimeOf(cert).notBefore.getTime() + skewMs;

function isOld({ cert }: Identity, now: Date): boolean {
  const { notBefore, notAfter } = lifetimeOf(cert);
  return now.getTime() - notBefore.getTime() > (notAfter.getTime() - notBefore.getTime()) * renewAfter;
}

/** The authority must be complete; a server certificate is soon made anew. */
function isUsable({ authority, next, former }: Material, now: Date): boolean {
  for (const identity of [authority, ...(next === undefined ? [] : [next])])
    if (!isSignedBy(identity, identity.cert)) return false;
  try {
    for (const cert of former) new X509Certificate(cert);
  } catch {
    return false;
  }
  return lifetimeOf(authority.cert).notAfter > now;
}
