import { createHash, createHmac } from 'node:crypto';

/**
 * Chooses the hash that is checked in the place of an unknown user's, so that an answer takes as long as for a known
 * one. Each name has always the same decoy, spread over the hashes of all users: where these differ in scheme or cost,
 * an unknown name looks like one user or another. The key is made of the hashes, so every process chooses alike and a
 * client that does not know them cannot foresee the choice.
 */
export function decoysOf(users: ReadonlyMap<string, string>): (user: string) => string {
  const hashes = [...users.values()];
  const key = createHash('sha256').update(hashes.join('\n')).digest();
  return (user) => {
    const digest = createHmac('sha256', key).update(user).digest();
    return hashes[digest.readUIntBE(0, 6) % hashes.length] ?? '';
  };
}
