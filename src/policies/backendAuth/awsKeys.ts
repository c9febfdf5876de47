import { messageOf } from '../../errorText.ts';
import { readRegularText } from '../../files/index.ts';
import type { HeaderLine } from '../../http/index.ts';
import { isOnLoopback } from '../../schema/index.ts';
import { rememberIssuedSecrets, rememberSecrets } from '../../telemetry/index.ts';
import type { PolicyTools } from '../policy.ts';
import type { TextSource } from '../text/schema.ts';
import { WatchedText } from '../text/watchedText.ts';
import { keysInJson, type IssuedKeys } from './awsAnswers.ts';
import { fileWithKeys, keysIn, sharedFiles } from './awsProfile.ts';
import type { ExplicitAwsKeys } from './awsSchema.ts';
import { IssuedTokens } from './issuedTokens.ts';
import { readSecret } from './secretText.ts';
import { addressIn } from './serverAddress.ts';
import type { AwsKeys } from './sigV4.ts';
import type { SecurityTokenService } from './securityTokenService.ts';
import { TokenServer } from './tokenServer.ts';

/** Gives the keys of the gateway itself. */
export interface KeySource {
  /**
   * A promise only where they must be asked for.
   * @throws GatewayError policy_failed while there are none, backend_auth_failed where they cannot be had
   */
  readonly keys: () => AwsKeys | Promise<AwsKeys>;
  readonly waits: boolean;
  readonly problem: () => string | undefined;
  readonly close: () => void;
}

/** One credential is in use at a time, and the last one for a moment. */
const cache = { maxEntries: 2, defaultTtlMs: 300_000 };
/** Seconds that a session with the metadata service of a machine lasts. */
const sessionSeconds = 21_600;
const roles = '/latest/meta-data/iam/security-credentials/';
/** Addresses besides loopback where a container gets its credentials without TLS (ECS, EKS). */
const containerHosts: ReadonlySet<string> = new Set(['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]']);

/** An environment variable; empty where there is none. */
const variable = (name: string): string => process.env[name] ?? '';

/** The log replaces the secret parts from now on. */
function known(keys: AwsKeys): AwsKeys {
  rememberSecrets(secretsOf(keys));
  return keys;
}

const secretsOf = ({ secretAccessKey, sessionToken }: AwsKeys): readonly string[] =>
  sessionToken === undefined ? [secretAccessKey] : [secretAccessKey, sessionToken];

/** The keys in the configuration. */
export function explicitKeys(written: ExplicitAwsKeys, { log }: PolicyTools): KeySource {
  const watched = (source: TextSource, name: string): WatchedText<string> =>
    new WatchedText(source, { name: `backendAuth.aws.${name}`, read: readSecret, log });
  const id = watched(written.accessKeyId, 'accessKeyId');
  const secret = watched(written.secretAccessKey, 'secretAccessKey');
  const token = written.sessionToken && watched(written.sessionToken, 'sessionToken');
  const texts = [id, secret, ...(token === undefined ? [] : [token])];
  let last: AwsKeys | undefined;
  return {
    keys() {
      const [accessKeyId, secretAccessKey, sessionToken] = [id.value, secret.value, token?.value];
      if (
        last?.accessKeyId !== accessKeyId ||
        last.secretAccessKey !== secretAccessKey ||
        last.sessionToken !== sessionToken
      )
        last = known({
          accessKeyId,
          secretAccessKey,
          ...(sessionToken === undefined ? {} : { sessionToken }),
        });
      return last;
    },
    waits: false,
    problem: () => texts.map(({ problem }) => problem).find((problem) => problem !== undefined),
    close() {
      for (const text of texts) text.close();
    },
  };
}

/**
 * The keys of the environment of the process, in the order of the SDKs of AWS: variables, shared files, web identity,
 * container, machine.
 * @throws Error where the environment cannot be used
 */
export function environmentKeys(sts: () => SecurityTokenService, tools: PolicyTools): KeySource {
  const accessKeyId = variable('AWS_ACCESS_KEY_ID');
  const secretAccessKey = variable('AWS_SECRET_ACCESS_KEY');
  if (accessKeyId !== '' && secretAccessKey !== '') {
    const token = variable('AWS_SESSION_TOKEN');
    const keys = known({ accessKeyId, secretAccessKey, ...(token === '' ? {} : { sessionToken: token }) });
    return { keys: () => keys, waits: false, problem: () => undefined, close: () => undefined };
  }
  const files = sharedFiles();
  const file = fileWithKeys(files);
  if (file !== undefined) return profileKeys(file, files.profile, tools);
  if (variable('AWS_WEB_IDENTITY_TOKEN_FILE') !== '') return webIdentityKeys(sts(), tools);
  const relative = variable('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI');
  const full = variable('AWS_CONTAINER_CREDENTIALS_FULL_URI');
  if (relative !== '' || full !== '') return containerKeys(relative, full, tools);
  return machineKeys(tools);
}

function profileKeys(file: string, profile: string, { log }: PolicyTools): KeySource {
  const text = new WatchedText(
    { kind: 'file', file },
    { name: 'backendAuth.aws', read: (content) => known(keysIn(content, profile)), log },
  );
  return {
    keys: () => text.value,
    waits: false,
    problem: () => text.problem,
    close: () => text.close(),
  };
}

/** Keys that are asked for, and kept until shortly before their end. */
function askedKeys(
  ask: () => Promise<IssuedKeys>,
  { now }: PolicyTools,
  parts: () => readonly string[] = () => [],
): KeySource {
  const kept = new IssuedTokens<AwsKeys>(cache, now);
  return {
    keys: () =>
      kept.get(parts(), [], async () => {
        const issued = await ask();
        rememberIssuedSecrets(secretsOf(issued.token));
        return issued;
      }),
    waits: true,
    problem: () => undefined,
    close: () => undefined,
  };
}

/** The token of a service account of Kubernetes, exchanged for keys of a role. */
function webIdentityKeys(sts: SecurityTokenService, tools: PolicyTools): KeySource {
  const role = variable('AWS_ROLE_ARN');
  if (role === '') throw new Error('AWS_WEB_IDENTITY_TOKEN_FILE needs AWS_ROLE_ARN in the environment');
  const token = new WatchedText(
    { kind: 'file', file: variable('AWS_WEB_IDENTITY_TOKEN_FILE') },
    {
      name: 'backendAuth.aws.webIdentity',
      read(text) {
        const secret = readSecret(text);
        rememberSecrets([secret]);
        return secret;
      },
      log: tools.log,
    },
  );
  const session = variable('AWS_ROLE_SESSION_NAME') || 'portcullis';
  const asked = askedKeys(
    () =>
      sts.ask([
        ['Action', 'AssumeRoleWithWebIdentity'],
        ['RoleArn', role],
        ['RoleSessionName', session],
        ['WebIdentityToken', token.value],
      ]),
    tools,
  );
  return { ...asked, problem: () => token.problem, close: () => token.close() };
}

/** The endpoint of a container: a task of ECS, or a pod of EKS. */
function containerKeys(relative: string, full: string, tools: PolicyTools): KeySource {
  const url = URL.parse(relative === '' ? full : `http://169.254.170.2${relative}`);
  const isSafe =
    url !== null &&
    url.username === '' &&
    (url.protocol === 'https:' ||
      (url.protocol === 'http:' && (isOnLoopback(url) || containerHosts.has(url.hostname))));
  if (!isSafe)
    throw new Error(
      'AWS_CONTAINER_CREDENTIALS_FULL_URI: expected an https URL, or an http URL of this machine, ECS or EKS',
    );
  const server = new TokenServer(addressIn(url), tools);
  const target = `${url.pathname}${url.search}`;
  return askedKeys(async () => {
    let headers: readonly HeaderLine[];
    try {
      headers = containerHeaders();
    } catch (error) {
      throw server.failed(target, `AWS_CONTAINER_AUTHORIZATION_TOKEN: ${messageOf(error)}`, error);
    }
    const answer = await server.ask({ method: 'GET', target, headers, grantOf: 'gateway' });
    return read(server, target, () => keysInJson(answer.body));
  }, tools);
}

/** The token is read for each request, because the file changes. */
function containerHeaders(): readonly HeaderLine[] {
  const file = variable('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  const token = file === '' ? variable('AWS_CONTAINER_AUTHORIZATION_TOKEN') : readRegularText(file);
  if (token === '') return [];
  const secret = readSecret(token);
  rememberSecrets([secret]);
  return [['authorization', secret]];
}

/** The role of the machine, which the metadata service knows (EC2, IMDSv2). */
function machineKeys(tools: PolicyTools): KeySource {
  if (variable('AWS_EC2_METADATA_DISABLED').toLowerCase() === 'true')
    throw new Error('the environment has no credentials of AWS, and AWS_EC2_METADATA_DISABLED is set');
  const url = URL.parse(variable('AWS_EC2_METADATA_SERVICE_ENDPOINT') || 'http://169.254.169.254');
  if (url === null || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.username !== '')
    throw new Error('AWS_EC2_METADATA_SERVICE_ENDPOINT: expected an http URL without a path');
  const server = new TokenServer(addressIn(url), tools);
  const get = async (target: string, token: string): Promise<Buffer> => {
    const headers = [['x-aws-ec2-metadata-token', token]] as const;
    return (await server.ask({ method: 'GET', target, headers, grantOf: 'gateway' })).body;
  };
  return askedKeys(async () => {
    const session = await server.ask({
      method: 'PUT',
      target: '/latest/api/token',
      headers: [['x-aws-ec2-metadata-token-ttl-seconds', String(sessionSeconds)]],
      body: Buffer.alloc(0),
      grantOf: 'gateway',
    });
    const token = read(server, '/latest/api/token', () => readSecret(session.body.toString('utf8')));
    const [role = ''] = (await get(roles, token)).toString('utf8').trim().split('\n');
    if (!/^[\w+=,.@-]{1,128}$/.test(role)) throw server.failed(roles, 'the machine has no role');
    const target = `${roles}${role}`;
    const body = await get(target, token);
    return read(server, target, () => keysInJson(body));
  }, tools);
}

function read<T>(server: TokenServer, target: string, reader: () => T): T {
  try {
    return reader();
  } catch (error) {
    throw server.failed(target, messageOf(error), error);
  }
}
