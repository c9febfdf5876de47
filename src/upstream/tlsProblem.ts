import { createPrivateKey, X509Certificate } from 'node:crypto';
import { messageOf } from '../errorText.ts';
import type { Pem } from '../model/index.ts';
import { pemText } from './pemFiles.ts';

/** A certificate, and the private key that belongs to it. */
interface KeyPair {
  readonly cert: Pem;
  readonly key: Pem;
}

/** Words of OpenSSL about the certificate itself → words for the operator. */
const weaknesses: Readonly<Record<string, string>> = {
  'ee key too small': 'its key is too small: expected at least 2048 bits for RSA, 224 for elliptic curves',
  'ca key too small': 'the key of an authority in it is too small: expected at least 2048 bits for RSA',
  'ca md too weak': 'it is signed with a hash that is too weak: expected SHA-256 or better',
};

/**
 * Explains why a TLS context could not be made. OpenSSL names neither the file nor the remedy.
 * @param field of the settings, such as `tls`
 * @param pairs all certificates of these settings
 */
export function tlsProblem(error: unknown, field: string, pairs: readonly KeyPair[]): string {
  for (const pair of pairs) {
    const problem = pairProblem(pair, field);
    if (problem !== undefined) return problem;
  }
  const message = messageOf(error);
  const [, weakness] = Object.entries(weaknesses).find(([words]) => message.includes(words)) ?? [];
  const [only] = pairs;
  if (weakness !== undefined && only !== undefined && pairs.length === 1)
    return `${field}.cert: ${nameOf(only.cert)}: ${weakness}`;
  return `${field}: ${weakness ?? message}`;
}

function pairProblem({ cert, key }: KeyPair, field: string): string | undefined {
  const [shown, secret] = [pemText(cert, `${field}.cert`), pemText(key, `${field}.key`)];
  const inKey = `${field}.key: ${nameOf(key)}`;
  const leaf = read(() => new X509Certificate(shown));
  if (leaf === undefined) return `${field}.cert: ${nameOf(cert)}: the first certificate cannot be read`;
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY|^Proc-Type: 4,ENCRYPTED/m.test(secret))
    return `${inKey}: the private key is encrypted; store it without a passphrase`;
  const own = read(() => createPrivateKey(secret));
  if (own === undefined) return `${inKey}: holds no private key that can be read`;
  return leaf.checkPrivateKey(own)
    ? undefined
    : `${inKey}: the private key belongs to another certificate than the first one of ${nameOf(cert)}`;
}

const nameOf = (pem: Pem): string => ('file' in pem ? pem.file : 'the text');

function read<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
