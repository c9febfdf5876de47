import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { ConfigMap, Secret } from '../types/index.ts';
import { whyMissing } from './entries.ts';

/** A certificate with its key, as text. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** The result, or the reason why it cannot be used. */
export type Checked<Value> =
  { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly why: string };

const good = <Value>(value: Value): Checked<Value> => ({ ok: true, value });
const bad = (why: string): Checked<never> => ({ ok: false, why });

/** Objects stay the same between translations until they change: each is checked once. */
const pairs = new WeakMap<Secret, Checked<KeyPair>>();
const authorities = new WeakMap<ConfigMap, Checked<string>>();

/**
 * The last good pair of a Secret that is broken now: by the object as it is now, so that it goes when the Secret
 * does.
 */
const lastPairs = new WeakMap<Secret, KeyPair>();

/** A Secret was replaced: what was good of it is remembered where the new one is of no use. */
export function noteReplaced(previous: Secret, secret: Secret): void {
  if (previous.metadata.uid !== secret.metadata.uid) return;
  const before = keyPairOf(previous);
  const good = before.ok ? before.value : lastPairs.get(previous);
  if (good !== undefined && !keyPairOf(secret).ok) lastPairs.set(secret, good);
}

/** The pair that a Secret held when it was last of use; undefined where it never was, as far as is known here. */
export const lastKeyPairOf = (secret: Secret): KeyPair | undefined => lastPairs.get(secret);

/** The pair that a Secret of type `kubernetes.io/tls` holds. */
export function keyPairOf(secret: Secret): Checked<KeyPair> {
  let checked = pairs.get(secret);
  if (checked === undefined) pairs.set(secret, (checked = checkPair(secret)));
  return checked;
}

/** The certificates of authorities that a ConfigMap holds under `ca.crt`. */
export function authoritiesOf(map: ConfigMap): Checked<string> {
  let checked = authorities.get(map);
  if (checked === undefined) authorities.set(map, (checked = checkAuthorities(map)));
  return checked;
}

function checkPair(secret: Secret): Checked<KeyPair> {
  const { data = {}, tooLarge = [], withheld } = secret;
  const large = (['tls.crt', 'tls.key'] as const).find((entry) => tooLarge.includes(entry));
  if (large !== undefined || withheld !== undefined) return bad(whyMissing(secret, large ?? 'tls.crt'));
  const { 'tls.crt': certificate = '', 'tls.key': privateKey = '' } = data;
  if (certificate === '' || privateKey === '') return bad('it does not hold tls.crt and tls.key');
  const cert = Buffer.from(certificate, 'base64').toString('utf8');
  const key = Buffer.from(privateKey, 'base64').toString('utf8');
  try {
    const [first] = certificatesIn(cert);
    if (first === undefined) return bad('tls.crt holds no certificate');
    // No part of the key may get into a status, which everybody can read.
    if (!first.checkPrivateKey(createPrivateKey(key))) return bad('tls.key is not the key of tls.crt');
    const why = whyNotLoaded({ cert, key });
    return why === undefined ? good({ cert, key }) : bad(`a proxy cannot load it: ${why}`);
  } catch {
    return bad('tls.crt or tls.key is malformed');
  }
}

/** OpenSSL refuses more than the two checks above: small keys, weak signatures, and a chain that is cut off. */
function whyNotLoaded(pair: KeyPair): string | undefined {
  try {
    createSecureContext({ ...pair, minVersion: 'TLSv1.2' });
    return undefined;
  } catch (error) {
    // The reason is one of OpenSSL's own texts, such as "ee key too small".
    return error instanceof Error && 'reason' in error ? String(error.reason) : 'it is malformed';
  }
}

function checkAuthorities(map: ConfigMap): Checked<string> {
  const text = map.data?.['ca.crt'] ?? '';
  if (text === '') return bad(whyMissing(map, 'ca.crt'));
  try {
    return certificatesIn(text).length > 0 ? good(text) : bad('ca.crt holds no certificate');
  } catch {
    return bad('ca.crt is malformed');
  }
}

/** @throws Error where one of them cannot be read */
const certificatesIn = (text: string): X509Certificate[] =>
  Array.from(
    text.matchAll(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g),
    ([block]) => new X509Certificate(block),
  );
