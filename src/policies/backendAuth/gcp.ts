import type { GatewayError } from '../../errors.ts';
import type { HostAnswer, PolicyTools } from '../policy.ts';
import type { TextSource } from '../text/schema.ts';
import { WatchedText } from '../text/watchedText.ts';
import { expiryOf } from './claims.ts';
import { useGcpCredential, type GcpCredential } from './gcpCredential.ts';
import type { GcpSettings } from './gcpSchema.ts';
import { ownTokenSender, type OwnGrant } from './ownToken.ts';
import type { Sender } from './sender.ts';
import { addressIn, addressOf } from './serverAddress.ts';
import { signToken } from './signToken.ts';
import { TokenEndpoint } from './tokenEndpoint.ts';
import { TokenServer, type IssuedToken } from './tokenServer.ts';

const scope = 'https://www.googleapis.com/auth/cloud-platform';
/** Seconds that an assertion is valid; Google accepts up to an hour. */
const assertionSeconds = 3_600;
const account = '/computeMetadata/v1/instance/service-accounts/default';

/**
 * Sends a token of Google Cloud. The credential comes from the settings, from the file of
 * `GOOGLE_APPLICATION_CREDENTIALS`, or from the metadata server, in this order (AIP-4110).
 */
export function gcpSender({ audience, credential, location }: GcpSettings, tools: PolicyTools): Sender {
  const file = process.env['GOOGLE_APPLICATION_CREDENTIALS'] ?? '';
  const source = credential ?? (file === '' ? undefined : { kind: 'file' as const, file });
  const grant =
    source === undefined ? metadataGrant(audience, tools) : credentialGrant(source, audience, tools);
  return ownTokenSender(grant, location, tools);
}

function credentialGrant(source: TextSource, audience: string | undefined, tools: PolicyTools): OwnGrant {
  const { log, now } = tools;
  const watched = new WatchedText(source, {
    name: 'backendAuth.gcp.credential',
    read(text) {
      const credential = useGcpCredential(text);
      if (audience !== undefined && credential.type === 'authorized_user')
        throw new Error('an authorized_user gets no ID token for an audience');
      return { credential, endpoint: new TokenEndpoint(addressOf(credential.tokenUri), tools) };
    },
    log,
  });
  return {
    parts: () => [watched.value.credential.digest, audience ?? ''],
    ask() {
      const { credential, endpoint } = watched.value;
      return endpoint.ask(parametersOf(credential, audience, now()), {
        field: audience === undefined ? 'access_token' : 'id_token',
        grantOf: 'gateway',
      });
    },
    problem: () => watched.problem,
    close: () => watched.close(),
  };
}

function parametersOf(
  credential: GcpCredential,
  audience: string | undefined,
  now: number,
): readonly (readonly [string, string])[] {
  if (credential.type === 'authorized_user')
    // RFC 6749 §6
    return [
      ['grant_type', 'refresh_token'],
      ['client_id', credential.clientId],
      ['client_secret', credential.clientSecret],
      ['refresh_token', credential.refreshToken],
    ];
  const { email, key, keyId, tokenUri } = credential;
  const seconds = Math.floor(now / 1_000);
  // RFC 7523 §2.1
  const assertion = signToken(key, 'RS256', keyId === undefined ? {} : { kid: keyId }, {
    iss: email,
    sub: email,
    aud: tokenUri,
    ...(audience === undefined ? { scope } : { target_audience: audience }),
    iat: seconds,
    exp: seconds + assertionSeconds,
  });
  return [
    ['grant_type', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    ['assertion', assertion],
  ];
}

/** The service account of the machine, which the metadata server knows. */
function metadataGrant(audience: string | undefined, tools: PolicyTools): OwnGrant {
  const server = new TokenServer(metadataAddress(), tools);
  const target =
    audience === undefined
      ? `${account}/token`
      : `${account}/identity?audience=${encodeURIComponent(audience)}&format=full`;
  return {
    parts: () => [target],
    async ask() {
      const headers = [['metadata-flavor', 'Google']] as const;
      const answer = await server.ask({ method: 'GET', target, headers, grantOf: 'gateway' });
      if (!isGoogle(answer))
        throw server.failed(target, 'the answer is not of the metadata server of Google');
      return audience === undefined
        ? server.issued(target, answer.body)
        : identityIn(answer, (detail) => server.failed(target, detail));
    },
    problem: () => undefined,
    close: () => undefined,
  };
}

/** The metadata server marks its answers, so that no other server on the way is taken for it. */
const isGoogle = ({ headers }: HostAnswer): boolean =>
  headers.some(([name, value]) => name === 'metadata-flavor' && value === 'Google');

/** An ID token is the whole text of the answer. */
function identityIn({ body }: HostAnswer, failed: (detail: string) => GatewayError): IssuedToken {
  const token = body.toString('utf8').trim();
  const expiresAt = expiryOf(token);
  if (expiresAt === undefined || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token))
    throw failed('the answer is no JSON Web Token');
  return { token, expiresAt };
}

/** @throws Error where GCE_METADATA_HOST is no host */
function metadataAddress(): ReturnType<typeof addressIn> {
  const host = process.env['GCE_METADATA_HOST'] ?? '';
  const url = URL.parse(`http://${host === '' ? 'metadata.google.internal' : host}/`);
  if (url === null || url.pathname !== '/' || url.username !== '')
    throw new Error('GCE_METADATA_HOST: expected a host, or host:port');
  return addressIn(url);
}
