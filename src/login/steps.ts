/** The steps of a login before the page of the issuer. Each adds a row for people, also where it fails. */

import type { LoginRequest, LoginStep } from '../admin/index.ts';
import { boundedFetch } from '../auth/index.ts';
import { messageOf } from '../errorText.ts';
import { bareAddress, endpointOf } from '../schema/index.ts';
import { resourceOf, serverMetadata, type Resource } from './metadata.ts';
import { register, type OauthClient } from './registration.ts';

/** An authorization server, and the way to it. */
export interface Server {
  readonly issuer: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly send: typeof fetch;
}

/** The route of a login, as far as it matters. */
export interface Chosen {
  readonly issuer: string;
  readonly address: string;
  readonly scopes: readonly string[];
}

/** Clients that the gateway has registered, by server and redirect address. */
export type Registrations = Map<string, OauthClient>;

const mostRegistrations = 16;

/** A step that cannot be taken. */
export class StepProblem extends Error {}

/** Reads the metadata of the resource. @throws StepProblem */
export async function resourceStep(
  { address }: Chosen,
  inside: typeof fetch,
  steps: LoginStep[],
): Promise<Resource | undefined> {
  try {
    const resource = await resourceOf(address, inside);
    steps.push(
      resource === undefined
        ? {
            step: 'resource',
            warning: 'The route has no metadata, so clients need the issuer in their settings.',
          }
        : { step: 'resource', url: resource.url, value: resource.document },
    );
    return resource;
  } catch (error) {
    throw failed(steps, { step: 'resource', url: address }, error);
  }
}

/** Reads the metadata of the authorization server. @throws StepProblem */
export async function serverStep(
  { issuer, address }: Chosen,
  resource: Resource | undefined,
  inside: typeof fetch,
  steps: LoginStep[],
): Promise<Server> {
  // With a shared client, the route itself is the authorization server; requests to it enter the data plane.
  // As a server, it has a name without a slash at its end.
  const route = bareAddress(resource?.resource ?? '');
  const own = route === undefined ? undefined : resource?.servers.find((each) => bareAddress(each) === route);
  const isOwn = own !== undefined && !resource?.servers.includes(issuer);
  const chosen = isOwn ? own : issuer;
  const send = isOwn ? onlyAt(own, address, inside) : boundedFetch();
  try {
    const { url, document: metadata } = await serverMetadata(chosen, send);
    for (const name of ['authorization_endpoint', 'token_endpoint'])
      if (endpointOf(metadata[name], chosen) === undefined)
        throw new Error(`${name} is missing in ${url}, or not https`);
    steps.push({ step: 'server', url, value: metadata });
    return { issuer: chosen, metadata, send };
  } catch (error) {
    throw failed(steps, { step: 'server', url: chosen }, error);
  }
}

/** Finds or registers the client. @throws StepProblem */
export async function clientStep(
  { clientId: id, clientSecret: secret, redirectUri }: LoginRequest,
  { issuer, metadata, send }: Server,
  registrations: Registrations,
  steps: LoginStep[],
): Promise<{ readonly client: OauthClient; readonly registration: string | undefined }> {
  if (id !== undefined) {
    steps.push({ step: 'client', value: { client_id: id, redirect_uri: redirectUri } });
    return { client: { id, secret }, registration: undefined };
  }
  const registration = `${issuer} ${redirectUri}`;
  const known = registrations.get(registration);
  if (known !== undefined) {
    steps.push({
      step: 'client',
      value: { client_id: known.id, redirect_uri: redirectUri, registered: 'before' },
    });
    return { client: known, registration };
  }
  const endpoint = endpointOf(metadata['registration_endpoint'], issuer);
  try {
    if (endpoint === undefined)
      throw new Error('the server registers no clients: register one there, and write its id');
    const { client, shown } = await register(endpoint, redirectUri, send);
    steps.push({ step: 'client', url: endpoint.href, value: shown });
    const [oldest] = registrations.keys();
    if (registrations.size >= mostRegistrations && oldest !== undefined) registrations.delete(oldest);
    registrations.set(registration, client);
    return { client, registration };
  } catch (error) {
    throw failed(steps, { step: 'client', ...(endpoint && { url: endpoint.href }) }, error);
  }
}

/** Requests to another host than the route's would enter the data plane under a name that nobody chose. */
const onlyAt =
  (own: string, address: string, inside: typeof fetch): typeof fetch =>
  (input, init) => {
    const { origin } = new URL(input instanceof Request ? input.url : input);
    if (![own, address].some((each) => new URL(each).origin === origin))
      throw new Error(`${origin} is not the address of the route`);
    return inside(input, init);
  };

function failed(steps: LoginStep[], step: Omit<LoginStep, 'problem'>, error: unknown): StepProblem {
  const problem = messageOf(error);
  steps.push({ ...step, problem });
  return new StepProblem(problem, { cause: error });
}
