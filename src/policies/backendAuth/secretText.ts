import { createPrivateKey, X509Certificate } from 'node:crypto';
import { messageOf } from '../../errorText.ts';
import { valuePattern } from '../fields/httpText.ts';
import { textSource } from '../text/schema.ts';

/** The secret in the text of a file, which editors end with a line break. */
export function readSecret(text: string): string {
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw new Error('the secret is empty');
  if (!valuePattern.test(secret))
    throw new Error('the secret cannot stand in a header: only visible ASCII, no line breaks');
  return secret;
}

function secretProblem(text: string): string | undefined {
  try {
    readSecret(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

export const secret = textSource('The secret: written here, or `{file: …}`.', secretProblem);

/** The problem of a PEM text; the words of OpenSSL never quote it. */
export const pemProblem =
  (what: 'private key' | 'certificate') =>
  (text: string): string | undefined => {
    try {
      if (what === 'private key') createPrivateKey(text);
      else new X509Certificate(text);
      return undefined;
    } catch {
      return `expected a ${what} as PEM`;
    }
  };
