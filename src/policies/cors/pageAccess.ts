import type { HeaderLine } from '../../http/index.ts';
import type { PolicyUse } from '../../model/index.ts';
import { factsOf } from '../facts.ts';
import type { Steps } from '../policy.ts';
import { originTest } from '../fields/origins.ts';

/** Pages of programs on the user's own machine, such as the MCP Inspector. */
const localOrigins = ['http', 'https'].flatMap((scheme) =>
  ['localhost', '*.localhost', '127.0.0.1', '[::1]'].flatMap((host) => [
    `${scheme}://${host}`,
    `${scheme}://${host}:*`,
  ]),
);
const isLocal = originTest(localOrigins);

const exposed: HeaderLine = [
  'access-control-expose-headers',
  'Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate',
];
const methods = 'GET, POST, DELETE';
/** The headers of the protocol; a preflight may ask for others, such as the header of an API key. */
const headers = 'Authorization, Content-Type, Mcp-Session-Id, MCP-Protocol-Version, Last-Event-ID';
const isNames = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;
const mostNames = 1_024;

/**
 * Lets MCP clients in web pages use a route without a `cors` policy: it answers preflights, which carry no
 * credentials, and marks responses, refusals included. Any page may use a route whose policies refuse callers
 * without a credential, because a page has no credential unless its user gave it one. Other routes are open to
 * pages of the user's machine only: a page of any site would otherwise call tools in the name of the user's network.
 *
 * @returns undefined for routes that do not speak MCP, and where a `cors` policy decides
 */
export function pageAccess(policies: readonly PolicyUse[], servesMcp: boolean): Steps | undefined {
  const names = new Set(policies.map(({ name }) => name));
  if (names.has('cors') || !(servesMcp || names.has('mcpAuthentication'))) return undefined;
  return policies.some(refusesStrangers) ? anyPage : localPages;
}

const refusesStrangers = ({ name, settings }: PolicyUse): boolean =>
  factsOf(name)?.asksFor !== undefined &&
  typeof settings === 'object' &&
  settings !== null &&
  (settings as { readonly mode?: unknown }).mode === 'strict';

const stepsFor = (allow: (origin: string) => string | undefined, varies: boolean): Steps => ({
  onRequest({ request, responseHeaders }) {
    const origin = request.header('origin');
    if (origin === undefined) return undefined;
    if (varies) responseHeaders.add('vary', 'Origin');
    const allowed = allow(origin);
    if (allowed === undefined) return undefined;
    if (request.method === 'OPTIONS' && request.header('access-control-request-method') !== undefined) {
      const asked = request.header('access-control-request-headers') ?? '';
      const named = asked.length <= mostNames && isNames.test(asked) ? `${headers}, ${asked}` : headers;
      return {
        status: 204,
        headers: [
          ['access-control-allow-origin', allowed],
          ['access-control-allow-methods', methods],
          ['access-control-allow-headers', named],
          ['access-control-max-age', '600'],
        ],
      };
    }
    responseHeaders.set('access-control-allow-origin', allowed);
    responseHeaders.set(...exposed);
    return undefined;
  },
});

const anyPage = stepsFor(() => '*', false);
const localPages = stepsFor((origin) => (isLocal(origin.toLowerCase()) ? origin : undefined), true);
