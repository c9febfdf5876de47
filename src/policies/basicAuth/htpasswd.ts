import { hashProblem } from './checkPassword.ts';

/**
 * Reads a user database in the format of htpasswd: a `user:hash` a line, `#` begins a comment.
 *
 * @returns user → hash
 * @throws Error that names the line and quotes nothing of it
 */
export function readHtpasswd(text: string): ReadonlyMap<string, string> {
  const users = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const entry = line.trim();
    if (entry === '' || entry.startsWith('#')) continue;
    const fail = (problem: string): never => {
      throw new Error(`line ${index + 1} of the user database: ${problem}`);
    };
    const colon = entry.indexOf(':');
    if (colon < 1) fail('expected user:hash');
    const user = entry.slice(0, colon);
    // The text after a second colon is for other programs (htdigest, comments).
    const hash = entry.slice(colon + 1).split(':')[0] as string;
    const problem = hashProblem(hash);
    if (problem !== undefined) fail(problem);
    if (users.has(user)) fail('the user is there twice');
    users.set(user, hash);
  }
  if (users.size === 0) throw new Error('the user database is empty');
  return users;
}
