import { constants, createPrivateKey, sign, type KeyObject } from 'node:crypto';
import type { SigningAlgorithm } from './oauthSchema.ts';

interface AlgorithmRow {
  readonly hash: 'sha256' | 'sha384' | 'sha512';
  readonly key: 'rsa' | 'ec';
  /** Curve of an EC key (RFC 7518 §3.4). */
  readonly curve?: 'prime256v1' | 'secp384r1';
  readonly pss?: true;
}

const algorithms: Readonly<Record<SigningAlgorithm, AlgorithmRow>> = {
  RS256: { hash: 'sha256', key: 'rsa' },
  RS384: { hash: 'sha384', key: 'rsa' },
  RS512: { hash: 'sha512', key: 'rsa' },
  PS256: { hash: 'sha256', key: 'rsa', pss: true },
  ES256: { hash: 'sha256', key: 'ec', curve: 'prime256v1' },
  ES384: { hash: 'sha384', key: 'ec', curve: 'secp384r1' },
};

/** Bits of an RSA key below which RFC 7518 §3.3 forbids its use. */
const leastRsaBits = 2_048;

/** @throws Error that never quotes the text: a key that is not PEM, or not for the algorithm */
export function signingKeyOf(pem: string, alg: SigningAlgorithm): KeyObject {
  const { key: type, curve } = algorithms[alg];
  const key = privateKeyOf(pem);
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== type || (curve !== undefined && namedCurve !== curve))
    throw new Error(`expected a private key for ${alg}`);
  if (type === 'rsa' && modulusLength < leastRsaBits)
    throw new Error(`expected an RSA key of at least ${leastRsaBits} bits`);
  return key;
}

function privateKeyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error('expected a private key as PEM');
  }
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A signed token in the compact form of RFC 7515 §3.1. @param header beside `alg` and `typ` */
export function signToken(
  key: KeyObject,
  alg: SigningAlgorithm,
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
): string {
  const { hash, key: type, pss } = algorithms[alg];
  const signed = `${encoded({ alg, typ: 'JWT', ...header })}.${encoded(claims)}`;
  const padding =
    pss === true
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : {};
  const signature = sign(hash, Buffer.from(signed), {
    key,
    ...padding,
    ...(type === 'ec' ? { dsaEncoding: 'ieee-p1363' as const } : {}),
  });
  return `${signed}.${signature.toString('base64url')}`;
}
