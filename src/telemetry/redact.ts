import type { Fields } from './contract.ts';
import { hideTokens } from './compactTokens.ts';
import { hideSecrets } from './knownSecrets.ts';
import { safeBeginning } from './safeBeginning.ts';

export const redacted = '[redacted]';

/** Names of fields and headers whose value is a secret as a whole. */
const secretName =
  /^(?:proxy-)?authorization$|^(?:set-)?cookie$|token$|secret$|passw(?:or)?d$|passphrase$|api[-_]?key$|private[-_]?key$/i;

const credentials = /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}/gi;

/** True for names such as `authorization`, `clientSecret`, `refresh_token`. */
export const isSecretName = (name: string): boolean => secretName.test(name);

/** The text with known secrets, and everything that looks like a credential, replaced. */
export const redactText = (original: string): string => {
  const text = hideSecrets(original, redacted);
  // The common line has neither; `includes` is cheaper than two scans by expression.
  if (!text.includes('.') && !text.includes(' ')) return text;
  return hideTokens(text.replaceAll(credentials, `$1 ${redacted}`), redacted);
};

/** Longest value of one field, in characters. A peer can make messages long; a log line stays bounded. */
const maxValue = 8_192;

/** A message or a string value, fit for the log. */
export const safeText = (text: string): string => {
  const shown = safeBeginning(text, maxValue, redactText, redacted);
  return text.length > maxValue ? `${shown}… (${String(text.length)} characters)` : shown;
};

/** Fields fit for the log: secrets replaced, long values cut, undefined ones left out. */
export const safeFields = (fields: Fields): Record<string, string | number | boolean | null> => {
  const safe: Record<string, string | number | boolean | null> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (typeof value !== 'string') safe[name] = value;
    else safe[name] = isSecretName(name) ? redacted : safeText(value);
  }
  return safe;
};
