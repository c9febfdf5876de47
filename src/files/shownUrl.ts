/** The address as a name, for logs, metrics and errors. Its query or its user information may hold a secret. */
export const shownUrl = (url: string): string =>
  (url.split(/[?#]/, 1)[0] ?? '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/\\]*@/i, '$1');
