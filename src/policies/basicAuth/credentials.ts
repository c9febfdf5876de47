/** The credentials that a client presented; undefined if they are no pair of user and password (RFC 7617 §2). */
export function readCredentials(
  encoded: string,
): { readonly user: string; readonly password: string } | undefined {
  if (encoded.length > 4096 || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  // A user name is shown in logs and to backends: control characters have no business in it.
  if (colon < 1 || /[\u0000-\u001f\u007f-\u009f\ufffd]/.test(text)) return undefined;
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
