import { redacted, redactText } from './redact.ts';
import { safeBeginning } from './safeBeginning.ts';

/** Forms of secrets that their issuers document, and credentials in addresses. */
const patterns: readonly (readonly [RegExp, string])[] = [
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, redacted],
  [/\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{30,})/g, redacted],
  [/\bxox[abeprs]-[\w-]{10,}/g, redacted],
  [/\bAIza[\w-]{35}/g, redacted],
  [/\b[sr]k[-_](?:live_|test_|ant-|proj-)?[\w-]{16,}/g, redacted],
  [
    /-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----END )[\s\S])*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g,
    redacted,
  ],
  [/(:\/\/)[^\s/?#@]{1,512}@/g, `$1${redacted}@`],
  [
    /([?&;#](?:[\w-]{0,64}(?:token|secret|(?:api|access|private|session|subscription)[-_]?key|signature|passw(?:or)?d)|key|sig|code)=)[^&;#\s]+/gi,
    `$1${redacted}`,
  ],
];

/** Every pattern needs one of these; one look for all of them costs less than the patterns. */
const suspicious =
  /A[KS]IA|AIza|gh[pousr]_|github_pat_|glpat-|npm_|xox|[sr]k[-_]|-----BEGIN|:\/\/[^\s/?#@]*@|[?&;#][\w-]*=/;

/** The text without known secrets, credentials, and everything that has the form of a secret. */
export function hideSecretForms(original: string): string {
  const text = redactText(original);
  if (!suspicious.test(text)) return text;
  let hidden = text;
  for (const [pattern, mark] of patterns) hidden = hidden.replaceAll(pattern, mark);
  return hidden;
}

/** JSON data with `hideSecretForms` applied to all of its texts. */
export const hideInData = <Data>(data: Data): Data =>
  JSON.parse(JSON.stringify(data), (_name, value: unknown) =>
    typeof value === 'string' ? hideSecretForms(value) : value,
  ) as Data;

/** The beginning of the text without the forms of secrets. */
export const hiddenBeginning = (text: string, most: number): string =>
  safeBeginning(text, most, hideSecretForms, redacted);

const suspiciousName = /[?@]|:\/\//;

/**
 * The beginning of a name that a client wrote. Most names are short and have none of these characters, and cost one look.
 * The log hides tokens in the others, but would not recognise a token that is cut.
 */
export const shownBeginning = (name: string, most: number): string =>
  name.length > most || suspiciousName.test(name) ? hiddenBeginning(name, most) : name;
