import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto';
import { algorithms, isAlgorithm, type Algorithm } from './algorithms.ts';
import { decodeBase64url } from './base64url.ts';
import type { PublicKey } from './contract.ts';
import { receivedValue } from './shown.ts';
import { isRoca } from './weakRsa.ts';

/** The reason why a key of a set is left out. `expected` ones are normal in good sets and not worth a warning. */
export interface SkippedKey {
  readonly skipped: string;
  readonly expected: boolean;
}

const skip = (skipped: string, expected = false): SkippedKey => ({ skipped, expected });

const coordinateBytes: Readonly<Record<string, number>> = { 'P-256': 32, 'P-384': 48, 'P-521': 66 };

/** The keys that the gateway takes from an author. */
export interface KeyRules {
  /** False: a key without `kid` has the empty one. */
  readonly needsId: boolean;
  readonly mostRsaBits: number;
  /** The only exponent of RSA keys; undefined: any odd one of at most 32 bits. */
  readonly rsaExponent?: bigint;
}

const ofIssuers: KeyRules = { needsId: true, mostRsaBits: 8192 };
/** A stranger may have written the keys of a client: a check with a longer key or exponent takes many times as long. */
export const ofClients: KeyRules = { needsId: false, mostRsaBits: 4096, rsaExponent: 65_537n };

/**
 * Takes one entry of a key set (RFC 7517) if it is a public key that may check signatures and is strong enough;
 * otherwise says why not. An unusual entry must not spoil the others.
 */
export function readPublicKey(entry: unknown, rules = ofIssuers): PublicKey | SkippedKey {
  if (typeof entry !== 'object' || entry === null) return skip('not an object');
  const jwk = entry as Record<string, unknown>;
  const { needsId } = rules;
  const kid = jwk.kid ?? (needsId ? undefined : '');
  if (typeof kid !== 'string' || (kid === '' && needsId)) return skip('no kid: tokens cannot name it');
  const purpose = wrongPurpose(jwk);
  if (purpose !== undefined) return skip(purpose, true);
  if (jwk.d !== undefined) return skip('a private key, which a published set must never hold');
  const kind = kinds.get(jwk.kty);
  if (kind === undefined) return skip(`key type ${receivedValue(jwk.kty)}`);

  const fitting = kind.algorithms(jwk);
  const usable = narrow(fitting, jwk.alg);
  if (usable.length === 0)
    return skip(`algorithm ${receivedValue(jwk.alg ?? jwk.crv)} of type ${receivedValue(jwk.kty)}`);
  const key = kind.read(jwk, rules);
  return 'skipped' in key ? key : { kid, key, algorithms: new Set(usable) };
}

function wrongPurpose(jwk: Record<string, unknown>): string | undefined {
  if (jwk.use !== undefined && jwk.use !== 'sig') return 'not for signatures (use)';
  if (jwk.key_ops !== undefined && !(Array.isArray(jwk.key_ops) && jwk.key_ops.includes('verify')))
    return 'not for checking signatures (key_ops)';
  return undefined;
}

/** `alg` of the key leaves that one algorithm only; both names of EdDSA with Ed25519 mean the same (RFC 9864). */
function narrow(fitting: readonly Algorithm[], alg: unknown): readonly Algorithm[] {
  if (alg === undefined) return fitting;
  if (alg === 'EdDSA' || alg === 'Ed25519') return fitting.filter((name) => algorithms[name].kty === 'OKP');
  return fitting.filter((name) => name === alg);
}

interface KeyKind {
  readonly algorithms: (jwk: Record<string, unknown>) => readonly Algorithm[];
  readonly read: (jwk: Record<string, unknown>, rules: KeyRules) => KeyObject | SkippedKey;
}

const named = Object.keys(algorithms).filter(isAlgorithm);
const ofKind = (kty: string, crv?: unknown): readonly Algorithm[] =>
  named.filter((name) => {
    const facts = algorithms[name];
    return facts.kty === kty && (!('curve' in facts) || facts.curve === crv);
  });

const kinds: ReadonlyMap<unknown, KeyKind> = new Map<unknown, KeyKind>([
  ['RSA', { algorithms: () => ofKind('RSA'), read: readRsa }],
  ['EC', { algorithms: (jwk) => ofKind('EC', jwk.crv), read: (jwk) => readPoint(jwk, ['x', 'y']) }],
  ['OKP', { algorithms: (jwk) => ofKind('OKP', jwk.crv), read: (jwk) => readPoint(jwk, ['x']) }],
]);

function readRsa(
  jwk: Record<string, unknown>,
  { mostRsaBits, rsaExponent }: KeyRules,
): KeyObject | SkippedKey {
  const modulus = bytesOf(jwk.n);
  const exponent = bytesOf(jwk.e);
  if (modulus === undefined || exponent === undefined) return skip('n or e is not canonical base64url');
  const n = BigInt(`0x${modulus.toString('hex')}`);
  const e = BigInt(`0x${exponent.toString('hex')}`);
  const bits = n.toString(2).length;
  // Large ones make every check slow; small ones can be broken (NIST SP 800-131A).
  if (bits < 2048 || bits > mostRsaBits)
    return skip(`an RSA modulus of ${bits} bits (2048 to ${mostRsaBits} are taken)`);
  if (e < 3n || e % 2n === 0n || e > 0xffff_ffffn)
    return skip('an RSA exponent that is even, 1, or very large');
  if (rsaExponent !== undefined && e !== rsaExponent)
    return skip(`an RSA exponent of ${e} (only ${rsaExponent} is taken)`);
  if (n % 2n === 0n || isRoca(n)) return skip('an RSA modulus that can be factored');
  return imported({ kty: 'RSA', n: jwk.n as string, e: jwk.e as string });
}

function readPoint(jwk: Record<string, unknown>, names: readonly ('x' | 'y')[]): KeyObject | SkippedKey {
  const length = coordinateBytes[String(jwk.crv)] ?? 32;
  for (const name of names)
    if (bytesOf(jwk[name])?.length !== length)
      return skip(`${name} is not ${length} bytes of canonical base64url`);
  const point = Object.fromEntries(names.map((name) => [name, jwk[name]]));
  return imported({ kty: jwk.kty as string, crv: jwk.crv as string, ...point });
}

const bytesOf = (value: unknown): Buffer | undefined => {
  const bytes = typeof value === 'string' ? decodeBase64url(value) : undefined;
  return bytes === undefined || bytes.length === 0 ? undefined : bytes;
};

/** The platform checks that a point lies on its curve. */
function imported(jwk: JsonWebKeyInput['key']): KeyObject | SkippedKey {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' });
  } catch {
    return skip('the numbers are not a key of that type');
  }
}
