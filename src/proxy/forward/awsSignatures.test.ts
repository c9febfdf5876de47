/** Requests for services of AWS: the services verify the signatures over what they receive. */
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  AwsService,
  type AwsAnswer,
  type SignedRequest,
} from '../../policies/backendAuth/awsService.testing.ts';
import { CloudServer, setEnvironment, type CloudRequest } from '../../policies/backendAuth/cloud.testing.ts';
import type { AwsKeys } from '../../policies/backendAuth/sigV4.ts';
import { policySchemas } from '../../policies/index.ts';
import { forgetSecrets, redactText } from '../../telemetry/index.ts';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';

const own: AwsKeys = { accessKeyId: 'AKIAOWN', secretAccessKey: 'secret-of-own' };
const session: AwsKeys = {
  accessKeyId: 'ASIASESSION',
  secretAccessKey: 'secret-of-session',
  sessionToken: 'token-of-session',
};
const inConfig = { ...own, region: 'eu-west-1', serviceName: 'execute-api' };

/** The variables of AWS that a test sets; all others are unset. */
function environment(t: TestContext, values: Readonly<Record<string, string>>): void {
  const none = join(tmpdir(), 'no-such-folder');
  setEnvironment(t, {
    AWS_ACCESS_KEY_ID: undefined,
    AWS_SECRET_ACCESS_KEY: undefined,
    AWS_SESSION_TOKEN: undefined,
    AWS_PROFILE: undefined,
    AWS_SHARED_CREDENTIALS_FILE: join(none, 'credentials'),
    AWS_CONFIG_FILE: join(none, 'config'),
    AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
    AWS_ROLE_ARN: undefined,
    AWS_ROLE_SESSION_NAME: undefined,
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
    AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined,
    AWS_CONTAINER_AUTHORIZATION_TOKEN: undefined,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: undefined,
    AWS_EC2_METADATA_DISABLED: undefined,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: undefined,
    AWS_ENDPOINT_URL_STS: undefined,
    AWS_REGION: undefined,
    AWS_DEFAULT_REGION: undefined,
    ...values,
  });
}

interface Stage {
  readonly plane: TestPlane;
  readonly service: AwsService;
  readonly url: string;
}

interface Setting {
  readonly known?: readonly AwsKeys[];
  readonly policies?: Readonly<Record<string, unknown>>;
  readonly model?: ModelInShort;
  readonly answer?: (request: SignedRequest) => AwsAnswer;
}

async function stage(t: TestContext, aws: object, setting: Setting = {}): Promise<Stage> {
  const service = await AwsService.start(t, setting.known ?? [own, session], setting.answer);
  const policies = { backendAuth: policySchemas.backendAuth.parse({ aws }), ...setting.policies };
  const plane = await TestPlane.start({ ...setting.model, routes: [{ to: service.port, policies }] });
  t.after(() => plane.close());
  return { plane, service, url: `http://127.0.0.1:${String(plane.port)}` };
}

/** A folder that lasts as long as the test. */
function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'aws-'));
  t.after(() => {
    forgetSecrets();
    rmSync(made, { recursive: true });
  });
  return made;
}

const replace = (file: string, text: string): void => {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
};

const stsAnswer = ({ accessKeyId, secretAccessKey, sessionToken = '' }: AwsKeys, action: string): string =>
  `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><Credentials>
    <AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>
    <SessionToken>${sessionToken}</SessionToken><Expiration>${new Date(Date.now() + 3_600_000).toISOString()}</Expiration>
  </Credentials></${action}Result></${action}Response>`;

const metadataAnswer = ({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys): object => ({
  Code: 'Success',
  AccessKeyId: accessKeyId,
  SecretAccessKey: secretAccessKey,
  Token: sessionToken,
  Expiration: new Date(Date.now() + 3_600_000).toISOString(),
});

test('the signature fits what the service receives: query, body, and fields of the client', async (t) => {
  const { service, url } = await stage(t, inConfig);
  const mine = {
    authorization: 'Bearer mine',
    'x-amz-date': 'mine',
    'x-amz-security-token': 'mine',
    'x-amz-target': 'Some.Target',
    'content-type': 'application/x-amz-json-1.1',
  };
  const asked: RequestInit[] = [
    { headers: mine },
    { method: 'POST', headers: mine, body: '{"a":1}' },
    { method: 'POST', headers: mine, body: 'a'.repeat(300_000) },
    { method: 'PUT', headers: mine, body: '' },
    { method: 'HEAD' },
  ];
  for (const init of asked) {
    const response = await fetch(`${url}/model/a%3A0/invoke?b=2&a=%20&c`, init);
    assert.equal(response.status, 200, service.refused.join());
    await response.text();
  }
  assert.deepEqual(
    service.requests.map(({ body }) => body.length),
    [0, 7, 300_000, 0, 0],
  );
  assert.ok(service.requests.every(({ scope }) => scope === 'eu-west-1/execute-api'));
  assert.equal(service.requests[0]?.headers['x-amz-target'], 'Some.Target');
});

test('a body in chunks arrives whole, with its length, because the signature covers it', async (t) => {
  const { plane, service } = await stage(t, inConfig);
  const head =
    'POST /a HTTP/1.1\r\nhost: gateway.test\r\ntransfer-encoding: chunked\r\ntrailer: x-end\r\n\r\n';
  const answer = await plane.ask(`${head}3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nx-end: 1\r\n\r\n`);
  assert.match(answer.start, / 200 /, service.refused.join());
  const [seen] = service.requests;
  assert.equal(seen?.body, 'abcde');
  assert.deepEqual(
    ['content-length', 'transfer-encoding', 'trailer'].map((name) => seen.headers[name]),
    ['5', undefined, undefined],
  );
  assert.match((await plane.ask(`${head}0\r\n\r\n`)).start, / 200 /, service.refused.join());
});

test('the signature covers what other policies change: path, host and fields', async (t) => {
  const { service, url } = await stage(t, inConfig, {
    policies: {
      urlRewrite: policySchemas.urlRewrite.parse({
        authority: { full: 'api.eu-west-1.amazonaws.com' },
        path: { full: '/other%20path' },
      }),
      requestHeaderModifier: policySchemas.requestHeaderModifier.parse({
        set: { 'x-amz-meta-a': 'of the policy', 'content-type': 'text/plain' },
      }),
    },
  });
  const response = await fetch(`${url}/a?b=c`, {
    method: 'POST',
    body: 'x',
    headers: { 'x-amz-meta-a': 'mine' },
  });
  assert.equal(response.status, 200, service.refused.join());
  const [seen] = service.requests;
  assert.equal(seen?.headers.host, 'api.eu-west-1.amazonaws.com');
  assert.equal(seen.headers['x-amz-meta-a'], 'of the policy');
});

test('a body over the limit gets 413, and nothing of it reaches the service', async (t) => {
  const { plane, service, url } = await stage(t, inConfig, { model: { limits: { maxBufferBytes: 1_000 } } });
  for (const body of ['a'.repeat(1_001), new Blob(['a'.repeat(1_001)]).stream()]) {
    const response = await fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit);
    assert.equal(response.status, 413);
    assert.deepEqual(
      [plane.access.at(-1)?.reason, plane.access.at(-1)?.decidedBy?.policy],
      ['the signature needs the whole body: limits.maxBufferBytes', 'backendAuth'],
    );
  }
  assert.equal((await fetch(url, { method: 'POST', body: 'a'.repeat(1_000) })).status, 200);
  assert.deepEqual([service.requests.length, service.refused.length], [1, 0]);
});

test('S3 gets bodies while they arrive, without a signature over them', async (t) => {
  const { service, url } = await stage(
    t,
    { ...inConfig, serviceName: 's3' },
    { model: { limits: { maxBufferBytes: 10 } } },
  );
  const response = await fetch(`${url}/bucket/a%20b`, { method: 'PUT', body: 'a'.repeat(100_000) });
  assert.equal(response.status, 200, service.refused.join());
  assert.equal(service.requests[0]?.headers['x-amz-content-sha256'], 'UNSIGNED-PAYLOAD');
  assert.equal(service.requests[0].body.length, 100_000);
});

test('each try of a request has its signature', async (t) => {
  const { service, url } = await stage(t, inConfig, {
    policies: { retry: policySchemas.retry.parse({ attempts: 3, codes: [503] }) },
    answer: () => (service.requests.length < 3 ? { status: 503 } : {}),
  });
  const response = await fetch(url, { method: 'PUT', body: 'again' });
  assert.equal(response.status, 200, service.refused.join());
  assert.deepEqual(
    service.requests.map(({ body }) => body),
    ['again', 'again', 'again'],
  );
});

test('the keys of the environment sign, with their session token, for its region and for Bedrock', async (t) => {
  environment(t, {
    AWS_ACCESS_KEY_ID: session.accessKeyId,
    AWS_SECRET_ACCESS_KEY: session.secretAccessKey,
    AWS_SESSION_TOKEN: session.sessionToken ?? '',
    AWS_DEFAULT_REGION: 'ap-south-1',
  });
  t.after(() => forgetSecrets());
  const { service, url } = await stage(t, {});
  assert.equal((await fetch(url)).status, 200, service.refused.join());
  assert.deepEqual([service.requests[0]?.keys, service.requests[0]?.scope], [session, 'ap-south-1/bedrock']);
  assert.equal(redactText('secret-of-session token-of-session'), '[redacted] [redacted]');
});

test('the keys of a profile sign, and those of a changed file', async (t) => {
  const made = folder(t);
  const credentials = join(made, 'credentials');
  const profile = (keys: AwsKeys): string =>
    `[default]\naws_access_key_id = wrong\n\n[team a]\n# comment\naws_access_key_id = ${keys.accessKeyId}\naws_secret_access_key=${keys.secretAccessKey}\n${keys.sessionToken === undefined ? '' : `aws_session_token = ${keys.sessionToken}\n`}`;
  writeFileSync(credentials, profile(own));
  writeFileSync(join(made, 'config'), '[profile team a]\nregion = sa-east-1\ns3 =\n  region = nested\n');
  environment(t, {
    AWS_PROFILE: 'team a',
    AWS_SHARED_CREDENTIALS_FILE: credentials,
    AWS_CONFIG_FILE: join(made, 'config'),
  });
  const { service, url } = await stage(t, {});
  assert.equal((await fetch(url)).status, 200, service.refused.join());
  assert.equal(service.requests[0]?.scope, 'sa-east-1/bedrock');
  replace(credentials, profile(session));
  while (service.requests.at(-1)?.keys !== session) assert.equal((await fetch(url)).status, 200);
});

test('a profile with an empty session token signs without one', async (t) => {
  const file = join(folder(t), 'credentials');
  writeFileSync(
    file,
    `[default]\naws_access_key_id = ${own.accessKeyId}\naws_secret_access_key = ${own.secretAccessKey}\naws_session_token =\n`,
  );
  environment(t, { AWS_SHARED_CREDENTIALS_FILE: file, AWS_REGION: 'sa-east-1' });
  const { service, url } = await stage(t, {});
  assert.equal((await fetch(url)).status, 200, service.refused.join());
  assert.equal(service.requests[0]?.headers['x-amz-security-token'], undefined);
});

test('a token of a service account is exchanged for keys of a role, once for all callers', async (t) => {
  const made = folder(t);
  writeFileSync(join(made, 'token'), 'token-of-the-pod\n');
  const sts = await CloudServer.start(t, ({ method, form, headers }) => {
    assert.deepEqual([method, headers.authorization], ['POST', undefined]);
    assert.deepEqual(Object.fromEntries(form), {
      Version: '2011-06-15',
      Action: 'AssumeRoleWithWebIdentity',
      RoleArn: 'arn:aws:iam::123456789012:role/pod',
      RoleSessionName: 'gate',
      WebIdentityToken: 'token-of-the-pod',
    });
    return { body: stsAnswer(session, 'AssumeRoleWithWebIdentity') };
  });
  environment(t, {
    AWS_WEB_IDENTITY_TOKEN_FILE: join(made, 'token'),
    AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/pod',
    AWS_ROLE_SESSION_NAME: 'gate',
    AWS_ENDPOINT_URL_STS: sts.url,
  });
  const { service, url } = await stage(t, { region: 'us-east-1' });
  const statuses = await Promise.all([1, 2, 3].map(async () => (await fetch(url)).status));
  assert.deepEqual(statuses, [200, 200, 200], service.refused.join());
  assert.equal((await fetch(url)).status, 200);
  assert.equal(sts.requests.length, 1);
  assert.equal(redactText('token-of-the-pod secret-of-session'), '[redacted] [redacted]');
});

test('a container gets its keys from the endpoint in its environment', async (t) => {
  const made = folder(t);
  const file = join(made, 'token');
  writeFileSync(file, 'token-of-the-task');
  const endpoint = await CloudServer.start(t, ({ url, headers }) => {
    assert.deepEqual(
      [url.pathname, url.search, headers.authorization],
      ['/keys', '?a=1', 'token-of-the-task'],
    );
    return { body: metadataAnswer(session) };
  });
  environment(t, {
    AWS_CONTAINER_CREDENTIALS_FULL_URI: `${endpoint.url}/keys?a=1`,
    AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file,
  });
  const { service, url } = await stage(t, { region: 'us-east-1' });
  for (let sent = 0; sent < 2; sent++) assert.equal((await fetch(url)).status, 200, service.refused.join());
  assert.equal(endpoint.requests.length, 1);
});

/** The metadata service of a machine with a role (IMDSv2). */
const machine = ({ method, url, headers }: CloudRequest): { status?: number; body: unknown } => {
  if (method === 'PUT' && url.pathname === '/latest/api/token') {
    assert.ok(Number(headers['x-aws-ec2-metadata-token-ttl-seconds']) > 0);
    return { body: 'session-of-metadata' };
  }
  if (headers['x-aws-ec2-metadata-token'] !== 'session-of-metadata') return { status: 401, body: '' };
  const roles = '/latest/meta-data/iam/security-credentials/';
  if (url.pathname === roles) return { body: 'machine-role' };
  assert.equal(url.pathname, `${roles}machine-role`);
  return { body: metadataAnswer(session) };
};

test('a machine gets its keys from its metadata service', async (t) => {
  const metadata = await CloudServer.start(t, machine);
  t.after(() => forgetSecrets());
  environment(t, { AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url, AWS_REGION: 'us-east-1' });
  const { service, url } = await stage(t, {});
  for (let sent = 0; sent < 2; sent++) assert.equal((await fetch(url)).status, 200, service.refused.join());
  assert.equal(metadata.requests.length, 3);
});

test('a role is assumed for each caller, with the tags of the request, and kept for that caller', async (t) => {
  t.after(() => forgetSecrets());
  const keysOf = (who: string): AwsKeys => ({
    accessKeyId: `ASIA${who}`,
    secretAccessKey: `secret-of-${who}`,
    sessionToken: `token-of-${who}`,
  });
  const sts = await AwsService.start(t, [own], ({ body, scope }) => {
    assert.equal(scope, 'eu-west-1/sts');
    const form = Object.fromEntries(new URLSearchParams(body));
    const { 'Tags.member.2.Value': who = '', RoleSessionName: name } = form;
    assert.deepEqual(form, {
      Version: '2011-06-15',
      Action: 'AssumeRole',
      RoleArn: 'arn:aws:iam::123456789012:role/calls',
      RoleSessionName: name,
      'Tags.member.1.Key': 'Team',
      'Tags.member.1.Value': 'blue team',
      'Tags.member.2.Key': 'User',
      'Tags.member.2.Value': who,
    });
    assert.equal(name, `n-${who}`);
    return { body: stsAnswer(keysOf(who), 'AssumeRole') };
  });
  environment(t, {
    AWS_ACCESS_KEY_ID: own.accessKeyId,
    AWS_SECRET_ACCESS_KEY: own.secretAccessKey,
    AWS_ENDPOINT_URL_STS: sts.url,
  });
  const { plane, service, url } = await stage(
    t,
    {
      region: 'eu-west-1',
      assumeRole: {
        roleArn: 'arn:aws:iam::123456789012:role/calls',
        sessionName: { expression: '"n-" + request.headers["x-user"]' },
        tags: [
          { key: 'User', expression: 'request.headers["x-user"]' },
          { key: 'Team', value: 'blue team' },
        ],
      },
    },
    { known: [keysOf('alice'), keysOf('bob')] },
  );
  for (const user of ['alice', 'bob', 'alice'])
    assert.equal((await fetch(url, { headers: { 'x-user': user } })).status, 200, service.refused.join());
  assert.deepEqual(
    service.requests.map(({ keys: { accessKeyId } }) => accessKeyId),
    ['ASIAalice', 'ASIAbob', 'ASIAalice'],
  );
  assert.equal(sts.requests.length, 2, sts.refused.join());
  for (const [user, why] of [
    ['a b', /sessionName: expected 2 to 64 letters/],
    ['a'.repeat(63), /sessionName: expected 2 to 64 letters/],
    ['', /tags User: the expression came to no text/],
  ] as const) {
    assert.equal((await fetch(url, { headers: { 'x-user': user } })).status, 500);
    assert.match(plane.access.at(-1)?.reason ?? '', why);
  }
  assert.equal((await fetch(url)).status, 500);
  assert.deepEqual([sts.requests.length, service.requests.length], [2, 3]);
});

test('a refusal of STS gets the caller 502, and the log has its code and no secret', async (t) => {
  t.after(() => forgetSecrets());
  const sts = await CloudServer.start(t, () => ({
    status: 403,
    body: '<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not allowed to assume</Message></Error></ErrorResponse>',
  }));
  environment(t, {
    AWS_ACCESS_KEY_ID: own.accessKeyId,
    AWS_SECRET_ACCESS_KEY: own.secretAccessKey,
    AWS_ENDPOINT_URL_STS: sts.url,
  });
  const { plane, service, url } = await stage(t, {
    region: 'eu-west-1',
    assumeRole: { roleArn: 'arn:aws:iam::123456789012:role/calls' },
  });
  assert.equal((await fetch(url)).status, 502);
  assert.match(plane.access.at(-1)?.reason ?? '', /status 403, AccessDenied: not allowed to assume/);
  assert.equal(service.requests.length + service.refused.length, 0);
  assert.doesNotMatch(JSON.stringify([plane.access, plane.log]), /secret-of/);
});

test('an environment that does not fit closes the route, and the log says why', async (t) => {
  const made = folder(t);
  const config = join(made, 'config');
  const file = { AWS_CONFIG_FILE: config, AWS_REGION: 'us-east-1' };
  for (const [values, text, why] of [
    [{}, '', /aws needs a region/],
    [{ AWS_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true' }, '', /no credentials of AWS/],
    [{ AWS_REGION: 'us-east-1', AWS_WEB_IDENTITY_TOKEN_FILE: config }, '', /needs AWS_ROLE_ARN/],
    [
      { AWS_REGION: 'us-east-1', AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://example.test/' },
      '',
      /expected an https URL/,
    ],
    [{ ...file, AWS_PROFILE: 'missing' }, '[default]\n', /no keys of the profile missing/],
    [file, '[default]\nrole_arn = a\n', /role_arn of a profile is known, but not built yet/],
  ] as const) {
    writeFileSync(config, text);
    environment(t, values);
    const { plane, url } = await stage(t, {});
    assert.equal((await fetch(url)).status, 500);
    assert.match(JSON.stringify([plane.log, plane.access]), why);
  }
});

test('settings that cannot be used are rejected by name', () => {
  const messages = (aws: object): string =>
    (policySchemas.backendAuth.safeParse({ aws }).error?.issues ?? [])
      .map(({ path, message }) => `${path.join('.')}: ${message}`)
      .join('; ');
  const role = (fields: object): object => ({
    assumeRole: { roleArn: 'arn:aws:iam::123456789012:role/a', ...fields },
  });
  assert.equal(messages({}), '');
  assert.equal(messages(role({ tags: [{ key: 'a', expression: 'jwt.org' }] })), '');
  for (const [aws, why] of [
    [{ accessKeyId: 'a' }, /aws\.secretAccessKey: accessKeyId and secretAccessKey go together/],
    [{ sessionToken: 'a' }, /aws\.accessKeyId: accessKeyId and secretAccessKey go together/],
    [{ ...own, ...role({}) }, /aws\.assumeRole: does not go with keys/],
    [{ region: 'eu west' }, /aws\.region: expected lower-case letters/],
    [{ serviceName: 'a/b' }, /aws\.serviceName: expected lower-case letters/],
    [{ assumeRole: { roleArn: 'role' } }, /aws\.assumeRole\.roleArn: expected the ARN of a role/],
    [role({ sessionName: 'a' }), /aws\.assumeRole\.sessionName: expected 2 to 64 letters/],
    [role({ tags: [{ key: 'a' }] }), /aws\.assumeRole\.tags\.0: expected one of value, expression/],
    [role({ tags: [{ key: 'a', value: 'a,b' }] }), /tags\.0\.value: expected at most 256/],
    [role({ tags: [1, 2].map(() => ({ key: 'a', value: 'b' })) }), /tags: two tags with the key a/],
  ] as const)
    assert.match(messages(aws), why);
});
