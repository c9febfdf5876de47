import { constants, createPrivateKey, sign, type KeyObject } from 'node:crypto';
import { messageOf } from '../../errorText.ts';
import type { TextSource } from '../text/schema.ts';

/** Signature algorithms of tokens that the gateway signs (RFC 7518 §3.1). */
export const signingAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384'] as const;
export type SigningAlgorithm = (typeof signingAlgorithms)[number];

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

/** Bits of an RSA key: RFC 7518 §3.3 forbids fewer, and a signature with many more holds up the process for seconds. */
const rsaBits = { least: 2_048, most: 4_096 };

/** @throws Error that never quotes the text: a key that is not PEM, or not for the algorithm */
export function signingKeyOf(pem: string, alg: SigningAlgorithm): KeyObject {
  const { key: type, curve } = algorithms[alg];
  const key = privateKeyOf(pem);
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== type || (curve !== undefined && namedCurve !== curve))
    throw new Error(`expected a private key for ${alg}`);
  if (type === 'rsa' && (modulusLength < rsaBits.least || modulusLength > rsaBits.most))
    throw new Error(`expected an RSA key of ${rsaBits.least} to ${rsaBits.most} bits`);
  return key;
}

/** The problem of a key that is written in the configuration; undefined if there is none, or a file holds the key. */
export function keyProblem(key: TextSource, alg: SigningAlgorithm): string | undefined {
  if (key.kind === 'file') return undefined;
  try {
    signingKeyOf(key.text, alg);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
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
