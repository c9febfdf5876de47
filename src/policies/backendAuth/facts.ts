import { z } from 'zod';
import { notBuilt } from '../fields/notBuilt.ts';
import type { TextSource } from '../text/schema.ts';
import { bearer, credentialLocation, type Location } from '../token/schema.ts';
import type { PolicyFacts } from '../policyFacts.ts';
import { atMostOne, someOf } from '../fields/crdRules.ts';
import { clientSecretForm, pemForm } from '../token/clusterForm.ts';
import { aws, type AwsSettings } from './awsSchema.ts';
import { azure, type AzureSettings } from './azureSchema.ts';
import { gcp, type GcpSettings } from './gcpSchema.ts';
import { jwtSign, type JwtSignSettings } from './jwtSignSchema.ts';
import {
  clientCredentials,
  crossAppAccess,
  oauthTokenExchange,
  withLocatedServers,
  type ClientCredentialsSettings,
  type CrossAppAccessSettings,
  type TokenExchangeSettings,
} from './oauthSchema.ts';
import { secret } from './secretText.ts';

/** The credential to send, and its place. `secret` is named so that no dump shows it. */
export type BackendCredential =
  | { readonly kind: 'key'; readonly secret: TextSource; readonly location: Location }
  | { readonly kind: 'passthrough'; readonly location: Location }
  | JwtSignSettings
  | TokenExchangeSettings
  | CrossAppAccessSettings
  | ClientCredentialsSettings
  | GcpSettings
  | AwsSettings
  | AzureSettings;

const place = credentialLocation(
  'Where it is put; `Authorization: Bearer …` where this is left out.',
  'accepted',
);

const credential = z.strictObject({ key: secret, location: place });

/** `key: secret`, `key: {file: …}` or `key: {value: …, location: …}`. */
const keyShape = z.union([
  z.strictObject({ value: secret, location: place.optional() }),
  secret.transform((value) => ({ value, location: undefined })),
]);

const copilotTokens = 'tokens of GitHub Copilot';

/** Credentials that are made for a request. */
const issuedKinds = [
  'jwtSign',
  'oauthTokenExchange',
  'crossAppAccess',
  'clientCredentials',
  'gcp',
  'aws',
  'azure',
] as const;
/** At most one of them stands there; `credentials` may stand beside it. */
const mainKinds = ['key', 'passthrough', ...issuedKinds] as const;

/** Credentials of the machine that the gateway runs on. */
const ofMachine: readonly string[] = ['gcp', 'aws', 'azure'];
const inCluster = mainKinds.filter((kind) => !ofMachine.includes(kind));

export const backendAuthSchema = z
  .strictObject(
    {
      key: keyShape.meta({ description: 'A secret that the backend gets with every request.' }).optional(),
      credentials: z
        .array(credential)
        .max(16)
        .meta({ description: 'Further secrets, each at its own place.' })
        .optional(),
      passthrough: z
        .strictObject({ location: place.optional() })
        .meta({ description: 'Sends on the token that jwtAuth or mcpAuthentication verified.' })
        .optional(),
      gcp: gcp.optional(),
      aws: aws.optional(),
      azure: azure.optional(),
      copilot: notBuilt(copilotTokens),
      jwtSign: jwtSign.optional(),
      oauthTokenExchange: oauthTokenExchange.optional(),
      crossAppAccess: crossAppAccess.optional(),
      clientCredentials: clientCredentials.optional(),
    },
    {
      // The format has it without settings, too.
      error: ({ input }) =>
        input === 'copilot' ? `copilot is known, but not built yet: ${copilotTokens}` : undefined,
    },
  )
  .transform(({ credentials = [], ...kinds }, ctx) => {
    const { key, passthrough } = kinds;
    const given = mainKinds.filter((name) => kinds[name] !== undefined);
    if (given.length === 0 && credentials.length === 0)
      ctx.addIssue({ code: 'custom', message: `expected one of ${mainKinds.join(', ')}, credentials` });
    if (given.length > 1)
      ctx.addIssue({
        code: 'custom',
        message: `${given.join(' and ')} exclude each other`,
        path: [given[1] ?? ''],
      });
    const all: BackendCredential[] = [
      ...issuedKinds.flatMap((name) => kinds[name] ?? []),
      ...(key === undefined
        ? []
        : [{ kind: 'key', secret: key.value, location: key.location ?? bearer } as const]),
      ...(passthrough === undefined
        ? []
        : [{ kind: 'passthrough', location: passthrough.location ?? bearer } as const]),
      ...credentials.map(({ key: value, location }) => ({ kind: 'key', secret: value, location }) as const),
    ];
    const places = all.map(({ location }) => `${location.kind} ${location.name}`);
    if (new Set(places).size !== places.length)
      ctx.addIssue({ code: 'custom', message: 'two credentials for one place' });
    return { credentials: all };
  })
  .meta({ description: 'Credentials that the gateway shows to the backend.' });

export type BackendAuthSettings = z.output<typeof backendAuthSchema>;

/** The objects of the settings that name an authorization server. */
const tokenEndpoints = [
  'oauthTokenExchange',
  'clientCredentials',
  'crossAppAccess.identityProvider',
  'crossAppAccess.resourceAuthorizationServer',
] as const;

export const backendAuthFacts = {
  schema: backendAuthSchema,
  on: ['route', 'backend', 'service', 'target'],
  about: 'connection',
  servers: {
    paths: tokenEndpoints,
    located: (settings, find) => ({
      credentials: (settings as BackendAuthSettings).credentials.map((one) => withLocatedServers(one, find)),
    }),
  },
  clusterForms: [
    {
      path: 'key',
      without: ['value'],
      from: { field: 'secret', entry: 'api-key' },
      as: 'value',
      description: 'A Secret of the same namespace that holds the key as api-key.',
    },
    {
      path: 'credentials.*.key',
      without: ['file'],
      from: { field: 'secret', entry: 'api-key' },
      description: 'A Secret of the same namespace that holds the key as api-key.',
    },
    pemForm('jwtSign.signingKey', 'tls.key'),
    ...tokenEndpoints.flatMap((endpoint) => [
      clientSecretForm(`${endpoint}.clientAuth.clientSecret`),
      pemForm(`${endpoint}.clientAuth.signingKey`, 'tls.key'),
      pemForm(`${endpoint}.clientAuth.certificate`, 'tls.crt'),
    ]),
  ],
  notInCluster: ofMachine,
  crdRules: { '': [someOf(...inCluster, 'credentials'), atMostOne(...inCluster)] },
} as const satisfies PolicyFacts;
