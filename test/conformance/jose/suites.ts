import type { Algorithm } from '../../../src/auth/algorithms.ts';

interface Suite {
  readonly algorithm: Algorithm;
  /** Files made for this very algorithm. */
  readonly own: readonly string[];
  /** Files made for others → the numbers of the few signatures in them that are good by this algorithm too. */
  readonly foreign: Readonly<Record<string, readonly number[]>>;
}

const rsa = (hash: string): string[] =>
  [2048, 3072, 4096, 8192].map((size) => `rsa_signature_${size}_${hash}`);

/** The files of Wycheproof for each algorithm of a token. */
export const suites: readonly Suite[] = [
  {
    algorithm: 'RS256',
    own: rsa('sha256'),
    foreign: { rsa_signature_2048_sha512: [221], rsa_pss_2048_sha256_mgf1_32: [108] },
  },
  { algorithm: 'RS384', own: rsa('sha384'), foreign: { rsa_signature_2048_sha3_384: [223] } },
  { algorithm: 'RS512', own: rsa('sha512'), foreign: { rsa_signature_2048_sha512_256: [225] } },
  {
    algorithm: 'PS256',
    own: [2048, 3072, 4096].map((size) => `rsa_pss_${size}_sha256_mgf1_32`),
    // RFC 7518 §3.5: the salt is as long as the hash, and MGF1 uses the same hash.
    foreign: {
      rsa_pss_2048_sha256_mgf1_0: [69],
      rsa_pss_2048_sha256_mgf1sha1_20: [],
      rsa_signature_2048_sha256: [257],
    },
  },
  {
    algorithm: 'PS384',
    own: ['rsa_pss_2048_sha384_mgf1_48', 'rsa_pss_4096_sha384_mgf1_48'],
    foreign: { rsa_pss_2048_sha256_mgf1_32: [] },
  },
  {
    algorithm: 'PS512',
    own: ['rsa_pss_4096_sha512_mgf1_64'],
    foreign: { rsa_pss_4096_sha512_mgf1_32: [] },
  },
  {
    algorithm: 'ES256',
    own: ['ecdsa_secp256r1_sha256_p1363'],
    foreign: {
      ecdsa_secp256r1_sha512_p1363: [],
      ecdsa_secp256k1_sha256_p1363: [],
      ecdsa_secp384r1_sha384_p1363: [],
    },
  },
  {
    algorithm: 'ES384',
    own: ['ecdsa_secp384r1_sha384_p1363'],
    foreign: { ecdsa_secp384r1_sha512_p1363: [] },
  },
  {
    algorithm: 'ES512',
    own: ['ecdsa_secp521r1_sha512_p1363'],
    foreign: { ecdsa_secp256r1_sha512_p1363: [] },
  },
  { algorithm: 'EdDSA', own: ['ed25519'], foreign: { ed448: [] } },
];
