import { isSecretName } from '../telemetry/index.ts';

/** These tell of a secret anywhere in a name. */
const anywhere = /secret|passw(?:or)?d|passphrase|credential|cookie|authori[sz]ation|api[-_.]?key/i;

/** These tell of a secret as a word of a name: `x-auth-key`, but not `author`. */
const secretWords: ReadonlySet<string> = new Set(['auth', 'bearer', 'jwt', 'otp', 'pass', 'pwd', 'totp']);

/** Words before `key` or `keys`: `signingKey`, but not `primaryKey`. */
const keyWords: ReadonlySet<string> = new Set([
  'access',
  'account',
  'encryption',
  'master',
  'private',
  'shared',
  'signing',
  'ssh',
]);

/** Beside one of these, `token` is a piece of text: `max_tokens`. */
const countWords: ReadonlySet<string> = new Set([
  'budget',
  'completion',
  'count',
  'input',
  'limit',
  'max',
  'min',
  'num',
  'output',
  'prompt',
  'total',
  'usage',
]);

/** The words of a name such as `AWSAccessKey`, `token_value` and `x-auth-key`, in small letters. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/);

/** Each of the words above has one of these; most names have none. */
const suspicious = /auth|bearer|jwt|otp|pass|pwd|key|token/i;

/** Characters of the longest name whose words are read. */
const longest = 256;

/** Does the name of an argument say that its value is a secret? Arguments are named more freely than fields of logs. */
export function isSecretMember(name: string): boolean {
  if (isSecretName(name) || anywhere.test(name)) return true;
  if (!suspicious.test(name)) return false;
  // A caller may write any name, and its words must not delay other requests.
  if (name.length > longest) return true;
  const words = wordsOf(name);
  const counts = words.some((word) => countWords.has(word));
  return words.some(
    (word, index) =>
      secretWords.has(word) ||
      (/^keys?$/.test(word) && keyWords.has(words[index - 1] ?? '')) ||
      (/^tokens?$/.test(word) && !counts),
  );
}
