import type { LoginViews } from '../contract.ts';
import type { Page } from '../page.ts';
import { consolePath } from './loginPages.ts';

/** The path to which issuers send the browser back. */
export const callbackPath = `${consolePath}playground/callback`;

/**
 * The page that ends a login of the playground at an issuer. Browsers send no cookie of the console here, because they
 * come from another site; the state in the query, which only the begun login knows, stands for it. The page shows no
 * data, and the code in the query is worthless without the verifier in this process.
 */
export const callbackPage = (logins: LoginViews): Page => ({
  method: 'GET',
  path: callbackPath,
  about: 'takes the answer of an issuer to a login of the playground',
  access: 'public',
  fromOtherSites: true,
  answer: ({ method, query }) =>
    method === 'GET' && logins.returned(query.toString())
      ? page(200, 'The issuer has answered', 'Close this tab, and go back to the console.')
      : page(400, 'This login is over', 'Begin a login in the playground of the console.'),
});

const page = (status: number, title: string, text: string) => ({
  status,
  type: 'text/html; charset=utf-8',
  headers: {
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  },
  body: `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p></body></html>\n`,
});
