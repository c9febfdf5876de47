import { constants, verify, type KeyObject } from 'node:crypto';

/**
 * The signature algorithms a token may have (RFC 7518 §3, RFC 8037, RFC 9864). `none` and the HMAC family are not
 * among them: with a public key set, an HMAC "key" would be a value that everybody knows (RFC 8725 §2.1).
 */
export const algorithms = {
  RS256: { kty: 'RSA', hash: 'sha256', padding: 'pkcs1' },
  RS384: { kty: 'RSA', hash: 'sha384', padding: 'pkcs1' },
  RS512: { kty: 'RSA', hash: 'sha512', padding: 'pkcs1' },
  PS256: { kty: 'RSA', hash: 'sha256', padding: 'pss' },
  PS384: { kty: 'RSA', hash: 'sha384', padding: 'pss' },
  PS512: { kty: 'RSA', hash: 'sha512', padding: 'pss' },
  ES256: { kty: 'EC', hash: 'sha256', curve: 'P-256', bytes: 64 },
  ES384: { kty: 'EC', hash: 'sha384', curve: 'P-384', bytes: 96 },
  ES512: { kty: 'EC', hash: 'sha512', curve: 'P-521', bytes: 132 },
  EdDSA: { kty: 'OKP', hash: null, curve: 'Ed25519', bytes: 64 },
  Ed25519: { kty: 'OKP', hash: null, curve: 'Ed25519', bytes: 64 },
} as const satisfies Record<string, AlgorithmFacts>;

interface AlgorithmFacts {
  readonly kty: 'RSA' | 'EC' | 'OKP';
  readonly hash: string | null;
  readonly padding?: 'pkcs1' | 'pss';
  readonly curve?: string;
  /** Length of a signature where the algorithm alone decides it. */
  readonly bytes?: number;
}

export type Algorithm = keyof typeof algorithms;

/** The names of all algorithms. */
export const algorithmNames: readonly string[] = Object.keys(algorithms);

export const isAlgorithm = (name: unknown): name is Algorithm =>
  typeof name === 'string' && Object.hasOwn(algorithms, name);

/** Checks a signature; the key must be one of the algorithm's kind. Synchronous: an RSA check takes about 35 µs. */
export function verifySignature(
  algorithm: Algorithm,
  key: KeyObject,
  signed: Buffer,
  signature: Buffer,
): boolean {
  const facts: AlgorithmFacts = algorithms[algorithm];
  // A signature of another length is malformed; some implementations cut or pad it.
  const bytes = facts.bytes ?? (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
  if (signature.length !== Math.ceil(bytes)) return false;
  switch (facts.padding) {
    case 'pkcs1':
      return verify(facts.hash, signed, { key, padding: constants.RSA_PKCS1_PADDING }, signature);
    case 'pss': {
      const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
      return verify(
        facts.hash,
        signed,
        { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength },
        signature,
      );
    }
    default:
      return verify(facts.hash, signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
  }
}
