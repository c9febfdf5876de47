import { createHash, type KeyObject } from 'node:crypto';
import { messageOf } from '../../errorText.ts';
import { rememberSecrets } from '../../telemetry/index.ts';
import { addressOf } from './serverAddress.ts';
import { signingKeyOf } from './signToken.ts';

/** The identity in a credential file of Google Cloud. */
export type GcpCredential = {
  readonly tokenUri: string;
  /** Digest of the text, which tells one credential from the next. */
  readonly digest: string;
} & (
  | {
      readonly type: 'service_account';
      readonly email: string;
      readonly key: KeyObject;
      readonly keyId: string | undefined;
    }
  | {
      readonly type: 'authorized_user';
      readonly clientId: string;
      readonly clientSecret: string;
      readonly refreshToken: string;
    }
);

const usualTokenUri = 'https://oauth2.googleapis.com/token';
const unbuilt = ['impersonated_service_account', 'external_account', 'gdch_service_account'];

/**
 * Reads the JSON of a service account or an authorized user (AIP-4112, AIP-4113).
 * @throws Error that never quotes the text
 */
export function readGcpCredential(text: string): GcpCredential {
  const json = jsonOf(text);
  const field = (name: string): string => {
    const value = json[name];
    if (typeof value !== 'string' || value === '') throw new Error(`the credential has no ${name}`);
    return value;
  };
  const type = field('type');
  if (unbuilt.includes(type)) throw new Error(`credentials of type ${type} are known, but not built yet`);
  const tokenUri = json['token_uri'] === undefined ? usualTokenUri : field('token_uri');
  try {
    addressOf(tokenUri);
  } catch (error) {
    throw new Error(`token_uri of the credential: ${messageOf(error)}`, { cause: error });
  }
  const common = { tokenUri, digest: createHash('sha256').update(text).digest('base64') };
  if (type === 'service_account')
    return {
      ...common,
      type,
      email: field('client_email'),
      key: signingKeyOf(field('private_key'), 'RS256'),
      keyId: json['private_key_id'] === undefined ? undefined : field('private_key_id'),
    };
  if (type === 'authorized_user')
    return {
      ...common,
      type,
      clientId: field('client_id'),
      clientSecret: field('client_secret'),
      refreshToken: field('refresh_token'),
    };
  throw new Error('expected a credential of type service_account or authorized_user');
}

/** The same for a credential in use: the log replaces its secrets from now on. */
export function useGcpCredential(text: string): GcpCredential {
  const credential = readGcpCredential(text);
  const json = jsonOf(text);
  rememberSecrets(
    ['private_key', 'client_secret', 'refresh_token'].flatMap((name) => {
      const value = json[name];
      return typeof value === 'string' ? [value] : [];
    }),
  );
  return credential;
}

/** The problem of a credential that is written in the configuration; undefined where there is none. */
export function gcpCredentialProblem(text: string): string | undefined {
  try {
    readGcpCredential(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Is this the credential of a user? Its ID tokens are for the OAuth client of the user only. */
export const isAuthorizedUser = (text: string): boolean => {
  try {
    return jsonOf(text)['type'] === 'authorized_user';
  } catch {
    return false;
  }
};

function jsonOf(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The words of the parser could quote the text.
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('expected a credential of Google Cloud as a JSON object');
  return value as Record<string, unknown>;
}
