/** The Content Security Policy of the console: the page loads nothing from elsewhere, and nothing frames it. */

/**
 * The value of `Content-Security-Policy` for one response.
 * @param nonce allows the style elements that the components add while the page runs; another for each response
 */
export const contentSecurityPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    'media-src data:',
    "font-src 'self'",
    "connect-src 'self'",
    // Answers of tools are shown in frames without scripts, by srcdoc.
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
