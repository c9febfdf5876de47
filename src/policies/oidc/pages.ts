import type { HeaderLine, Reply } from '../../http/index.ts';

const headers: readonly HeaderLine[] = [
  ['content-type', 'text/html; charset=utf-8'],
  ['cache-control', 'no-store'],
  [
    'content-security-policy',
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  ],
  ['x-frame-options', 'DENY'],
];

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>` +
  '<style>body{font:16px/1.5 system-ui,sans-serif;max-width:28rem;margin:12vh auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>' +
  `</head><body><h1>${title}</h1>${body}</body></html>`;

/** Asks the user, where another site may have asked for the logout. */
export const logoutPage: Reply = {
  status: 200,
  headers,
  body: page('Log out?', '<form method="post"><button>Log out</button></form>'),
};

/** The end of a login at a provider that has no logout of its own. */
export const loggedOutPage = (cookies: readonly HeaderLine[]): Reply => ({
  status: 200,
  headers: [...headers, ...cookies],
  body: page('Logged out', '<p>You are logged out here. The identity provider may still know you.</p>'),
});
