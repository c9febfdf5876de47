import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, type JWK } from 'jose';

const generate = promisify(generateKeyPair);
const mostKeys = 10;

/** A private RSA key as JWK, with the members that are published with it. */
export type SigningKey = JWK & { kid: string; alg: 'RS256'; use: 'sig' };

/** The signing keys: the current one first, then those rotated out, each until its time is over. */
export class KeyRing {
  readonly #keptMilliseconds: number;
  #keys: { key: SigningKey; retiredAt: number }[] = [];

  private constructor(keptSeconds: number) {
    this.#keptMilliseconds = keptSeconds * 1000;
  }

  static async create(keptSeconds: number): Promise<KeyRing> {
    const ring = new KeyRing(keptSeconds);
    await ring.rotate();
    return ring;
  }

  /** The keys that are valid now, the signing one first. The same array as long as nothing changes. */
  get keys(): readonly SigningKey[] {
    const oldest = Date.now() - this.#keptMilliseconds;
    if (this.#keys.some(({ retiredAt }) => retiredAt < oldest))
      this.#set(this.#keys.filter(({ retiredAt }) => retiredAt >= oldest));
    return this.#view;
  }

  get current(): SigningKey {
    return this.keys[0] as SigningKey;
  }

  /** Signs with a new key from now on. The old ones stay published for their time, unless dropped. */
  async rotate({ dropOld = false } = {}): Promise<SigningKey> {
    const key = await newKey();
    const now = Date.now();
    const old = dropOld
      ? []
      : this.#keys.map((entry, index) => (index === 0 ? { ...entry, retiredAt: now } : entry));
    this.#set([{ key, retiredAt: Infinity }, ...old].slice(0, mostKeys));
    return key;
  }

  #view: readonly SigningKey[] = [];

  #set(keys: { key: SigningKey; retiredAt: number }[]): void {
    this.#keys = keys;
    this.#view = keys.map(({ key }) => key);
  }
}

/** A new RSA key; its kid is its thumbprint (RFC 7638). */
export async function newKey(): Promise<SigningKey> {
  const { privateKey } = await generate('rsa', { modulusLength: 2048 });
  const jwk = privateKey.export({ format: 'jwk' });
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'RS256', use: 'sig' };
}
