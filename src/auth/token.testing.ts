import { constants, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { algorithms, type Algorithm } from './algorithms.ts';
import type { KeySet, PublicKey } from './contract.ts';
import { readPublicKey } from './publicKey.ts';

/** A key pair of a test issuer. */
export interface TestKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: Record<string, unknown>;
}

/** Key type → how to make one. Made once for each kind: RSA takes long. */
const makers = {
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  RSA1024: () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': () => generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  secp256k1: () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  Ed25519: () => generateKeyPairSync('ed25519'),
  X25519: () => generateKeyPairSync('x25519'),
} as const;

export type KeyKind = keyof typeof makers;

export function makeKey(kind: KeyKind, kid: string = kind, members: Record<string, unknown> = {}): TestKey {
  const { privateKey, publicKey } = makers[kind]() as { privateKey: KeyObject; publicKey: KeyObject };
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, ...members } };
}

export const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Signs `head.body` as the algorithm says. */
export function signatureOf(algorithm: Algorithm, key: KeyObject, input: string): Buffer {
  const facts = algorithms[algorithm];
  const data = Buffer.from(input);
  if (facts.kty === 'OKP') return sign(null, data, key);
  if (facts.kty === 'EC') return sign(facts.hash, data, { key, dsaEncoding: 'ieee-p1363' });
  if (facts.padding === 'pkcs1') return sign(facts.hash, data, key);
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  return sign(facts.hash, data, { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
}

export interface TokenParts {
  readonly header?: Record<string, unknown> | string;
  readonly claims?: Record<string, unknown> | string;
}

export const issuerName = 'https://issuer.test/oauth2/default';
/** The time of the tests, in seconds. */
export const nowSeconds = 1_800_000_000;

export const goodClaims = {
  iss: issuerName,
  aud: 'api://test',
  sub: 'alice',
  iat: nowSeconds - 10,
  exp: nowSeconds + 300,
};

/** A signed token; parts replace the good ones, a string is used as it is. */
export function makeToken(algorithm: Algorithm, key: TestKey, parts: TokenParts = {}): string {
  const header =
    typeof parts.header === 'string' ? parts.header : { alg: algorithm, kid: key.kid, ...parts.header };
  const claims = typeof parts.claims === 'string' ? parts.claims : { ...goodClaims, ...parts.claims };
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${signatureOf(algorithm, key.privateKey, input).toString('base64url')}`;
}

/** A key set that holds these keys and fetches as told. */
export function fixedKeys(
  keys: readonly TestKey[],
  onRefetch?: () => Promise<void> | undefined,
): KeySet & {
  add(key: TestKey): void;
  remove(key: TestKey): void;
} {
  const watchers = new Set<() => void>();
  const changed = (): void => {
    set.generation += 1;
    for (const watcher of watchers) watcher();
  };
  const held = new Map<string, PublicKey[]>();
  const set = {
    generation: 1,
    ready: true,
    remote: false,
    find: (kid: string) => held.get(kid) ?? [],
    get ids() {
      return [...held.keys()];
    },
    refetch: () => onRefetch?.(),
    watch(listener: () => void) {
      watchers.add(listener);
      return () => void watchers.delete(listener);
    },
    add(key: TestKey) {
      const read = readPublicKey(key.jwk);
      if ('skipped' in read) throw new Error(read.skipped);
      held.set(key.kid, [...(held.get(key.kid) ?? []), read]);
      changed();
    },
    remove(key: TestKey) {
      held.delete(key.kid);
      changed();
    },
  };
  for (const key of keys) set.add(key);
  return set;
}
