import type { Logger } from '../telemetry/index.ts';
import type { PublicKey } from './contract.ts';
import { readPublicKey } from './publicKey.ts';

/** The usable keys of one set, by id. */
export interface KeyList {
  readonly byKid: ReadonlyMap<string, readonly PublicKey[]>;
  readonly size: number;
  /** Equal for equal keys, whatever the order and the other members of the set. */
  readonly fingerprint: string;
}

const maxKeys = 128;

/**
 * Reads a JSON Web Key Set; entries that cannot be used are skipped, with a warning where that is not normal.
 * @param needsIds false: keys without `kid` have the empty one
 * @throws Error when it is no key set or holds no usable key
 */
export function readKeyList(jwks: unknown, log: Logger, needsIds = true): KeyList {
  const entries = (jwks as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(entries)) throw new Error('not a JSON Web Key Set');
  if (entries.length > maxKeys)
    log.warn('Key set too long: keys above the limit ignored', { keys: entries.length });
  const byKid = new Map<string, PublicKey[]>();
  const prints: string[] = [];
  entries.slice(0, maxKeys).forEach((entry: unknown, index) => {
    const key = readPublicKey(entry, needsIds);
    if ('skipped' in key) {
      const say = key.expected ? 'debug' : 'warn';
      log[say]('key of the set skipped', { index, reason: key.skipped });
      return;
    }
    const same = byKid.get(key.kid);
    if (same === undefined) byKid.set(key.kid, [key]);
    else same.push(key);
    const material = key.key.export({ type: 'spki', format: 'der' }).toString('base64');
    prints.push(`${key.kid} ${[...key.algorithms].join()} ${material}`);
  });
  if (prints.length === 0) throw new Error('the key set holds no usable key');
  return { byKid, size: prints.length, fingerprint: prints.sort().join('\n') };
}
