import type { Logger } from '../telemetry/index.ts';
import type { PublicKey } from './contract.ts';
import { ofClients, readPublicKey, type KeyRules, type SkippedKey } from './publicKey.ts';

/** The usable keys of one set, by id. */
export interface KeyList {
  readonly byKid: ReadonlyMap<string, readonly PublicKey[]>;
  readonly size: number;
  /** Equal for equal keys, whatever the order and the other members of the set. */
  readonly fingerprint: string;
}

const maxKeys = 128;
/** A stranger may have written the keys of a client. */
const maxClientKeys = 32;

/**
 * Reads a JSON Web Key Set; entries that cannot be used are skipped, with a warning where that is not normal.
 * @throws Error when it is no key set or holds no usable key
 */
export function readKeyList(jwks: unknown, log: Logger): KeyList {
  const entries = entriesOf(jwks);
  if (entries.length > maxKeys)
    log.warn('Key set too long: keys above the limit ignored', { keys: entries.length });
  return listOf(entries.slice(0, maxKeys), undefined, ({ skipped, expected }, index) => {
    const say = expected ? 'debug' : 'warn';
    log[say]('key of the set skipped', { index, reason: skipped });
  });
}

/**
 * Reads the key set of an OAuth client. A key without `kid` has the empty one.
 * @throws Error when it is no key set, is too long, or holds no usable key, with the reason for the first key
 */
export function readClientKeys(jwks: unknown): KeyList {
  const entries = entriesOf(jwks);
  if (entries.length > maxClientKeys) throw new Error(`a key set of more than ${maxClientKeys} keys`);
  let first: string | undefined;
  try {
    return listOf(entries, ofClients, ({ skipped }) => (first ??= skipped));
  } catch (error) {
    throw first === undefined ? error : new Error(`the first key cannot be used: ${first}`);
  }
}

function entriesOf(jwks: unknown): readonly unknown[] {
  const entries = (jwks as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(entries)) throw new Error('not a JSON Web Key Set');
  return entries;
}

function listOf(
  entries: readonly unknown[],
  rules: KeyRules | undefined,
  onSkipped: (key: SkippedKey, index: number) => void,
): KeyList {
  const byKid = new Map<string, PublicKey[]>();
  const prints: string[] = [];
  for (const [index, entry] of entries.entries()) {
    const key = readPublicKey(entry, rules);
    if ('skipped' in key) {
      onSkipped(key, index);
      continue;
    }
    const same = byKid.get(key.kid);
    if (same === undefined) byKid.set(key.kid, [key]);
    else same.push(key);
    const material = key.key.export({ type: 'spki', format: 'der' }).toString('base64');
    prints.push(`${key.kid} ${[...key.algorithms].join()} ${material}`);
  }
  if (prints.length === 0) throw new Error('the key set holds no usable key');
  return { byKid, size: prints.length, fingerprint: prints.sort().join('\n') };
}
