import { createHash } from 'node:crypto';
import { assertionType } from '../../auth/index.ts';
import { messageOf } from '../../errorText.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { PolicyTools } from '../policy.ts';
import { WatchedText } from '../text/watchedText.ts';
import {
  tenantPattern,
  type AzureCredential,
  type AzureSettings,
  type UserAssignedIdentity,
} from './azureSchema.ts';
import { ownTokenSender, type OwnGrant } from './ownToken.ts';
import { readSecret } from './secretText.ts';
import type { Sender } from './sender.ts';
import { addressIn, addressOf } from './serverAddress.ts';
import { TokenEndpoint } from './tokenEndpoint.ts';
import { TokenServer, type ServerAddress } from './tokenServer.ts';

/** The API that tokens are for: the one of the format, Azure AI services. */
const resource = 'https://cognitiveservices.azure.com';
const scope = `${resource}/.default`;

/** Sends a token of Azure (Microsoft Entra ID). */
export function azureSender({ credential, location }: AzureSettings, tools: PolicyTools): Sender {
  return ownTokenSender(grantOf(credential, tools), location, tools);
}

function grantOf(credential: AzureCredential, tools: PolicyTools): OwnGrant {
  if (credential.type === 'clientSecret') return secretGrant(credential, tools);
  if (credential.type === 'managedIdentity') return managedGrant(credential.identity, tools);
  if (credential.type === 'workloadIdentity') return workloadGrant(tools);
  const { file, tenant, client } = workloadVariables();
  if (file !== '' && tenant !== '' && client !== '') return workloadGrant(tools);
  return managedGrant(client === '' ? undefined : { clientId: client }, tools);
}

/** An environment variable; empty where there is none. */
const variable = (name: string): string => process.env[name] ?? '';

/** The token endpoint of a tenant. @throws Error where AZURE_AUTHORITY_HOST is no https URL */
function tenantEndpoint(tenant: string): ServerAddress & { readonly path: string } {
  const authority = variable('AZURE_AUTHORITY_HOST');
  const url = authority === '' ? 'https://login.microsoftonline.com' : authority;
  try {
    const { path, ...address } = addressOf(url.includes('://') ? url : `https://${url}`);
    return { ...address, path: `${path.replace(/\/$/, '')}/${tenant}/oauth2/v2.0/token` };
  } catch (error) {
    throw new Error(`AZURE_AUTHORITY_HOST: ${messageOf(error)}`, { cause: error });
  }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64');

/** The client credentials grant (RFC 6749 §4.4) with a secret. */
function secretGrant(
  { tenantId, clientId, secret }: AzureCredential & { readonly type: 'clientSecret' },
  tools: PolicyTools,
): OwnGrant {
  const text = new WatchedText(secret, {
    name: 'backendAuth.azure.clientSecret',
    read: knownSecret,
    log: tools.log,
  });
  return clientGrant(tenantId, clientId, text, (value) => [['client_secret', value]], tools);
}

/** The client credentials grant with the token of a service account as assertion (RFC 7523 §2.2). */
function workloadGrant(tools: PolicyTools): OwnGrant {
  const { file, tenant, client } = workloadVariables();
  if (file === '' || client === '' || !tenantPattern.test(tenant))
    throw new Error(
      'workloadIdentity needs AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE in the environment',
    );
  const text = new WatchedText(
    { kind: 'file', file },
    { name: 'backendAuth.azure.workloadIdentity', read: knownSecret, log: tools.log },
  );
  const proof = (value: string) =>
    [
      ['client_assertion_type', assertionType],
      ['client_assertion', value],
    ] as const;
  return clientGrant(tenant, client, text, proof, tools);
}

const workloadVariables = () => ({
  file: variable('AZURE_FEDERATED_TOKEN_FILE'),
  tenant: variable('AZURE_TENANT_ID'),
  client: variable('AZURE_CLIENT_ID'),
});

function knownSecret(text: string): string {
  const secret = readSecret(text);
  rememberSecrets([secret]);
  return secret;
}

function clientGrant(
  tenant: string,
  client: string,
  text: WatchedText<string>,
  proof: (value: string) => readonly (readonly [string, string])[],
  tools: PolicyTools,
): OwnGrant {
  const endpoint = new TokenEndpoint(tenantEndpoint(tenant), tools);
  return {
    parts: () => [tenant, client, digestOf(text.value)],
    ask: () =>
      endpoint.ask(
        [['grant_type', 'client_credentials'], ['client_id', client], ['scope', scope], ...proof(text.value)],
        { grantOf: 'gateway' },
      ),
    problem: () => text.problem,
    close: () => text.close(),
  };
}

/** The server that knows the managed identities of this machine, and its form of a request. */
interface IdentityServer {
  readonly address: ServerAddress;
  /** Path, and the query so far. */
  readonly target: string;
  readonly headers: readonly HeaderLine[];
  readonly resourceIdName: string;
}

function managedGrant(identity: UserAssignedIdentity | undefined, tools: PolicyTools): OwnGrant {
  const { address, target: path, headers, resourceIdName } = identityServer();
  const server = new TokenServer(address, tools);
  const query = new URLSearchParams({ resource });
  if (identity !== undefined && 'clientId' in identity) query.set('client_id', identity.clientId);
  if (identity !== undefined && 'objectId' in identity) query.set('object_id', identity.objectId);
  if (identity !== undefined && 'resourceId' in identity) query.set(resourceIdName, identity.resourceId);
  const target = `${path}&${query.toString()}`;
  return {
    parts: () => [target],
    async ask() {
      const answer = await server.ask({ method: 'GET', target, headers, grantOf: 'gateway' });
      return server.issued(target, answer.body);
    },
    problem: () => undefined,
    close: () => undefined,
  };
}

/** App Service names its server in the environment; machines have the metadata service (IMDS). @throws Error */
function identityServer(): IdentityServer {
  const endpoint = variable('IDENTITY_ENDPOINT');
  if (endpoint === '')
    return {
      address: metadataAddress(),
      target: '/metadata/identity/oauth2/token?api-version=2018-02-01',
      headers: [['metadata', 'true']],
      resourceIdName: 'msi_res_id',
    };
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '')
    throw new Error('IDENTITY_ENDPOINT: expected an http or https URL');
  const header = variable('IDENTITY_HEADER');
  // Azure Arc has no header, and Service Fabric a certificate of its own.
  if (header === '' || variable('IDENTITY_SERVER_THUMBPRINT') !== '')
    throw new Error('managed identities of Azure Arc and Service Fabric are known, but not built yet');
  return {
    address: addressIn(url),
    target: `${url.pathname}?api-version=2019-08-01`,
    headers: [['x-identity-header', knownSecret(header)]],
    resourceIdName: 'mi_res_id',
  };
}

function metadataAddress(): ServerAddress {
  const url = URL.parse(variable('AZURE_POD_IDENTITY_AUTHORITY_HOST') || 'http://169.254.169.254');
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.username !== '')
    throw new Error('AZURE_POD_IDENTITY_AUTHORITY_HOST: expected an http URL without a path');
  return addressIn(url);
}
