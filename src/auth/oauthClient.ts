import type * as OpenidClient from 'openid-client';
import { hideSent } from './sentTexts.ts';

/**
 * Chooses how a client authenticates at the token endpoint. RFC 8414 §2: Basic is meant where the metadata names no
 * method.
 * @param secret undefined for a public client
 * @param method that of the configuration or the registration; the metadata decides where absent
 */
export function clientAuthentication(
  client: typeof OpenidClient,
  { token_endpoint_auth_methods_supported: methods }: Readonly<Record<string, unknown>>,
  secret: string | undefined,
  method?: 'clientSecretBasic' | 'clientSecretPost',
): OpenidClient.ClientAuth {
  if (secret === undefined) return client.None();
  const knows = (name: string): boolean => Array.isArray(methods) && methods.includes(name);
  const byForm = knows('client_secret_post') && !knows('client_secret_basic');
  return method === 'clientSecretPost' || (method === undefined && byForm)
    ? client.ClientSecretPost(secret)
    : client.ClientSecretBasic(secret);
}

/**
 * The reason of a failed call of the library, fit for the log.
 * @param sent the `sentTexts` of the call: a provider may repeat them
 */
export function providerMessage(
  error: unknown,
  client: typeof OpenidClient,
  sent: readonly string[],
): string {
  if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError)
    return `the provider answered ${hideSent(error.error, sent)}: ${hideSent(error.error_description, sent)}`;
  const causes: string[] = [];
  for (let at: unknown = error; at instanceof Error && causes.length < 4; at = at.cause)
    causes.push(at.message === '' ? at.name : at.message);
  return hideSent(causes.join(': '), sent);
}
