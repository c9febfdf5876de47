import type { Reply } from '../../../http/index.ts';
import type { KnownClient } from './knownClient.ts';
import { isOnUsersMachine } from './redirectUris.ts';

const headers: NonNullable<Reply['headers']> = [
  ['content-type', 'text/html; charset=utf-8'],
  ['cache-control', 'no-store'],
  [
    'content-security-policy',
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  ],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
];

const page = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>` +
  '<style>body{font:16px/1.5 system-ui,sans-serif;max-width:28rem;margin:12vh auto;padding:0 1rem}button{font:inherit;padding:.5rem 1rem}</style>' +
  `</head><body><h1>${title}</h1>${body}</body></html>`;

export interface Consent {
  readonly client: KnownClient;
  readonly redirectUri: string;
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The sealed request that the form sends back. */
  readonly request: string;
  readonly cookie: string;
}

/** Asks the user whether a client may log in: all clients share one registration at the provider. */
export const consentPage = ({ client, redirectUri, resource, scopes, request, cookie }: Consent): Reply => ({
  status: 200,
  headers: [...headers, ['set-cookie', cookie]],
  body: page(
    'Allow this client?',
    `<p>${nameOf(client)} asks for access to ${bold(resource)}. The login brings you back to ${bold(redirectUri)}.</p>` +
      listOf(scopes) +
      warningOf(client, redirectUri) +
      `<p>Continue only if you have started this login yourself.</p><form method="post">` +
      `<input type="hidden" name="request" value="${escaped(request)}">` +
      `<button name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></form>`,
  ),
});

/** A document shows who has written the name: the owner of its host. */
const nameOf = ({ name, host }: KnownClient): string =>
  host === undefined ? bold(name) : `${bold(name)} of ${bold(host)}`;

/** No text turns the one beside it around. */
const bold = (text: string): string => `<b><bdi>${escaped(text)}</bdi></b>`;

/** A user who reads a scope of another server can refuse it. */
const listOf = (scopes: readonly string[]): string =>
  scopes.length === 0
    ? ''
    : `<p>It asks for these permissions:</p><ul>${scopes.map((scope) => `<li>${bold(scope)}</li>`).join('')}</ul>`;

/** Anybody can use the name of a client that has registered itself, or that runs on the machine of its user. */
function warningOf({ host }: KnownClient, redirectUri: string): string {
  if (host === undefined) return '<p>Nobody has checked the name of this client.</p>';
  return isOnUsersMachine(redirectUri)
    ? '<p>The login ends at a program on your own machine. Any program there can use the name of this client.</p>'
    : '';
}

/** An error that must not reach the client: its address is not known to be the client's. */
export const errorPage = (problem: string): Reply => ({
  status: 400,
  headers,
  body: page('The login cannot continue', `<p>${escaped(problem)}</p>`),
});

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
