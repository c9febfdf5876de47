import { verifySignature, type Algorithm } from '../../../src/auth/algorithms.ts';
import { readPublicKey } from '../../../src/auth/publicKey.ts';

/** The parts of a Wycheproof file of signatures that are read here. */
export interface VectorFile {
  readonly testGroups: readonly Group[];
}

interface Group {
  readonly publicKeyJwk?: Readonly<Record<string, unknown>>;
  /** Numbers and coordinates in hexadecimal, where there is no JWK. */
  readonly publicKey?: Readonly<Record<string, unknown>>;
  readonly tests: readonly Vector[];
}

interface Vector {
  readonly tcId: number;
  readonly comment: string;
  readonly msg: string;
  readonly sig: string;
  /** `acceptable`: implementations may differ. */
  readonly result: 'valid' | 'invalid' | 'acceptable';
}

/** The verdicts of our verifier on the vectors of a file under an algorithm of RFC 7518. */
export interface Outcome {
  readonly right: number;
  readonly undecided: number;
  /** Invalid, and accepted all the same. */
  readonly falseAccepts: readonly string[];
  /** Valid, and refused. */
  readonly falseRefusals: readonly string[];
}

/**
 * Every key goes the way of a key set (RFC 7517) and every signature that of a token. Where the file was made for another
 * algorithm (another hash, curve or salt), `good` has the numbers of the signatures that are good all the same.
 */
export function judge(file: VectorFile, algorithm: Algorithm, good?: readonly number[]): Outcome {
  let right = 0;
  let undecided = 0;
  const falseAccepts: string[] = [];
  const falseRefusals: string[] = [];
  for (const { tests, ...group } of file.testGroups) {
    const key = readPublicKey({ ...jwkOf(group), kid: 'k', alg: algorithm });
    const problem = 'skipped' in key ? `key: ${key.skipped}` : undefined;
    for (const { tcId, comment, msg, sig, result } of tests) {
      const accepted =
        'key' in key && verifySignature(algorithm, key.key, Buffer.from(msg, 'hex'), Buffer.from(sig, 'hex'));
      const wanted = good === undefined ? result : good.includes(tcId) ? 'valid' : 'invalid';
      const name = `${tcId} ${comment}${problem === undefined ? '' : ` (${problem})`}`;
      if (wanted === 'acceptable') undecided += 1;
      else if (accepted === (wanted === 'valid')) right += 1;
      else (accepted ? falseAccepts : falseRefusals).push(name);
    }
  }
  return { right, undecided, falseAccepts, falseRefusals };
}

function jwkOf({ publicKeyJwk, publicKey = {} }: Omit<Group, 'tests'>): Readonly<Record<string, unknown>> {
  if (publicKeyJwk !== undefined) return publicKeyJwk;
  const { modulus, publicExponent, curve, wx, wy } = publicKey as Record<string, string>;
  if (modulus !== undefined && publicExponent !== undefined)
    return { kty: 'RSA', n: base64url(modulus), e: base64url(publicExponent) };
  const known = curves[curve ?? ''] ?? { crv: String(curve), bytes: 0 };
  return { kty: 'EC', crv: known.crv, x: base64url(wx, known.bytes), y: base64url(wy, known.bytes) };
}

const curves: Readonly<Record<string, { readonly crv: string; readonly bytes: number }>> = {
  secp256r1: { crv: 'P-256', bytes: 32 },
  secp384r1: { crv: 'P-384', bytes: 48 },
  secp521r1: { crv: 'P-521', bytes: 66 },
  secp256k1: { crv: 'secp256k1', bytes: 32 },
};

/** A number in hexadecimal as unsigned bytes: without leading zeros, or as many bytes as `length` says. */
function base64url(hex = '', length = 0): string {
  const plain = hex.replace(/^(?:00)+/, '');
  return Buffer.from(plain.padStart(length * 2, '0'), 'hex').toString('base64url');
}
