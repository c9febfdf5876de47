import { z } from 'zod';
import { normalizePath } from '../../http/index.ts';
import { endpointOf, isOnLoopback, secret } from '../../schema/index.ts';
import type { PolicyFacts } from '../policyFacts.ts';
import { clientSecretForm, keySetForm } from '../token/clusterForm.ts';
import { discoveredJwks, type KeyPlace } from '../token/discovered.ts';
import { documentSource, jsonProblem, jwks, urlProblem } from '../token/schema.ts';

/** Every cookie of the policy has this name in it, after the prefix that browsers know. */
export const cookieName = 'portcullis-oidc';

/** The address with this last segment, beside the callback, ends a login. */
const logoutSegment = 'logout';

/** OpenID Connect providers publish their keys in no usual place, but most name them in the discovery document. */
const openid: KeyPlace = { keys: '.well-known/jwks.json', metadata: 'openid' };

const checked = (problem: (text: string) => string | undefined, description: string) =>
  z
    .string()
    .max(2_048)
    .superRefine((text, ctx) => {
      const message = problem(text);
      if (message !== undefined) ctx.addIssue({ code: 'custom', message });
    })
    .meta({ description });

/** The provider adds parameters to its query, and no server gets a fragment. */
const endpointProblem = (text: string): string | undefined =>
  urlProblem(text) ?? (text.includes('#') ? 'expected a URL without a fragment' : undefined);

/** The author of the configuration may name a proxy on the same machine, or a provider that runs there for a trial. */
const mayBeEndpoint = (text: string, issuer: string): boolean =>
  endpointOf(text, issuer) !== undefined || isOnLoopback(new URL(text));

function redirectProblem(text: string): string | undefined {
  const problem = urlProblem(text);
  if (problem !== undefined) return problem;
  if (/[?#]/.test(text)) return 'expected a URL without query and fragment';
  const { pathname } = new URL(text);
  // The gateway answers this path itself.
  if (pathname.endsWith('/')) return 'expected a path of its own, such as /oauth/callback';
  if (pathname === logoutPath(text)) return `the path /${logoutSegment} beside it ends logins`;
  return undefined;
}

const discovery = documentSource(
  'discovery document',
  jsonProblem(({ issuer }) => typeof issuer === 'string', 'expected a JSON object with `issuer`'),
).meta({
  description:
    'The discovery document, where it is not at `{issuer}/.well-known/openid-configuration`: from a URL, a file, or written here.',
});

const written = z.strictObject({
  issuer: checked(urlProblem, 'The provider: the claim `iss` of ID tokens must be exactly this URL.'),
  discovery: discovery.optional(),
  authorizationEndpoint: checked(
    endpointProblem,
    'Where browsers log in. With tokenEndpoint and jwks, it takes the place of discovery.',
  ).optional(),
  tokenEndpoint: checked(endpointProblem, 'Where the gateway exchanges codes for tokens.').optional(),
  tokenEndpointAuth: z
    .enum(['clientSecretBasic', 'clientSecretPost'])
    .meta({
      description:
        'How the gateway sends its secret to the token endpoint; if missing, as the discovery document says, or clientSecretBasic.',
    })
    .optional(),
  jwks: jwks.optional(),
  clientId: z.string().min(1).max(512).meta({ description: 'The id of the gateway at the provider.' }),
  clientSecret: secret(
    z.string().min(1).max(4_096).meta({ description: 'The secret of clientId.' }),
    'clientSecret',
  ),
  redirectURI: checked(
    redirectProblem,
    'The address of the callback, as browsers reach it. It is registered at the provider, and the gateway answers it.',
  ),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, 'not a scope (RFC 6749 §3.3)'))
    .max(64)
    .default([])
    .meta({ description: 'Scopes to ask for, besides `openid`.' }),
});

type Written = z.output<typeof written>;

/** The source of the provider's metadata. */
export type MetadataSource =
  | { readonly kind: 'explicit'; readonly authorizationEndpoint: string; readonly tokenEndpoint: string }
  | { readonly kind: 'issuer' }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'inline'; readonly text: string };

function metadataOf(
  { issuer, discovery: document, authorizationEndpoint, tokenEndpoint, jwks: keys }: Written,
  ctx: z.RefinementCtx,
): MetadataSource {
  const refuse = (name: string, message: string): void =>
    ctx.addIssue({ code: 'custom', message, path: [name] });
  if (authorizationEndpoint === undefined && tokenEndpoint === undefined)
    return document ?? { kind: 'issuer' };
  const explicit = { authorizationEndpoint, tokenEndpoint };
  for (const [name, value] of Object.entries({ ...explicit, jwks: keys }))
    if (value === undefined)
      refuse(name, 'missing: authorizationEndpoint, tokenEndpoint and jwks go together');
  for (const [name, value] of Object.entries(explicit))
    if (value !== undefined && urlProblem(value) === undefined && !mayBeEndpoint(value, issuer))
      refuse(name, 'expected https, a loopback address, or the host of an issuer with http');
  if (document !== undefined) refuse('discovery', 'excludes authorizationEndpoint and tokenEndpoint');
  return authorizationEndpoint === undefined || tokenEndpoint === undefined
    ? z.NEVER
    : { kind: 'explicit', authorizationEndpoint, tokenEndpoint };
}

export const oidcSchema = written
  .transform((settings, ctx) => {
    const { issuer, clientId, clientSecret, redirectURI, scopes, tokenEndpointAuth } = settings;
    const metadata = metadataOf(settings, ctx);
    if (metadata.kind === 'inline' && (JSON.parse(metadata.text) as { issuer?: unknown }).issuer !== issuer)
      ctx.addIssue({ code: 'custom', message: 'the document names another issuer', path: ['discovery'] });
    const keys = settings.jwks ?? (metadata.kind === 'issuer' ? discoveredJwks(issuer, openid) : undefined);
    return {
      issuer,
      clientId,
      clientSecret,
      redirectURI,
      scopes,
      metadata,
      ...(tokenEndpointAuth === undefined ? {} : { tokenEndpointAuth }),
      ...(keys === undefined ? {} : { jwks: keys }),
    };
  })
  .meta({
    description: 'Logs users of browsers in at an OpenID Connect provider, and keeps the login in cookies.',
  });

/** `jwks` is absent where only a discovery document that is read later can name the keys. */
export type OidcSettings = z.output<typeof oidcSchema>;

/** The path of a URL as requests have it. */
const requestPath = ({ pathname }: URL): string => normalizePath(pathname) ?? pathname;

/** The path of the callback. */
export const callbackPath = (redirectURI: string): string => requestPath(new URL(redirectURI));

/** The path beside the callback that ends a login. */
export const logoutPath = (redirectURI: string): string => requestPath(new URL(logoutSegment, redirectURI));

export const oidcFacts = {
  schema: oidcSchema,
  on: ['listener', 'route'],
  about: 'caller',
  logins: (settings) => {
    const { issuer, clientId, scopes } = settings as OidcSettings;
    return { issuers: [issuer], audiences: [clientId], clientScopes: scopes };
  },
  ownCookies: { name: cookieName },
  ownPaths: (settings) => {
    const { redirectURI } = settings as OidcSettings;
    return [callbackPath(redirectURI), logoutPath(redirectURI)];
  },
  logoutPath: (settings) => logoutPath((settings as OidcSettings).redirectURI),
  clusterForms: [
    keySetForm('jwks'),
    {
      path: 'discovery',
      without: ['file'],
      from: { field: 'configMap', entry: 'openid-configuration.json' },
      as: 'inline',
      or: { url: undefined, inline: undefined },
      description:
        'A ConfigMap of the same namespace that holds the discovery document as openid-configuration.json.',
    },
    clientSecretForm(),
  ],
  crdRules: {
    '': [
      {
        rule: 'has(self.authorizationEndpoint) == has(self.tokenEndpoint) && (!has(self.tokenEndpoint) || (has(self.jwks) && !has(self.discovery)))',
        message: 'authorizationEndpoint, tokenEndpoint and jwks go together, in place of discovery',
      },
    ],
  },
} as const satisfies PolicyFacts;
