const alphabet = /^[A-Za-z0-9_-]*$/;

/**
 * Decodes base64url without padding (RFC 7515 §2), and only its one canonical form: no spaces, no padding, no
 * stray bits at the end. A second spelling of the same bytes would pass a cache or a deny list as another token.
 */
export function decodeBase64url(text: string): Buffer | undefined {
  if (!alphabet.test(text) || text.length % 4 === 1) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
