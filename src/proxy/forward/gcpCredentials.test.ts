/** Tokens of Google Cloud, as backends see them. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import { CloudServer, setEnvironment, type CloudAnswer } from '../../policies/backendAuth/cloud.testing.ts';
import { policySchemas } from '../../policies/index.ts';
import { forgetSecrets, redactText } from '../../telemetry/index.ts';
import { stage, tokenOf } from './credentialStage.testing.ts';

const keys = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const privateKey = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const email = 'gate@project.iam.gserviceaccount.com';
const scope = 'https://www.googleapis.com/auth/cloud-platform';
const google = { 'metadata-flavor': 'Google' };

const idToken = async (audience: string): Promise<string> =>
  await new SignJWT({ aud: audience })
    .setProtectedHeader({ alg: 'RS256' })
    .setExpirationTime('1h')
    .sign(keys.privateKey);

/** A token endpoint that verifies assertions with the public key of the service account, as Google does. */
async function tokenEndpoint(t: TestContext, lifetime = 3_600): Promise<CloudServer> {
  const server: CloudServer = await CloudServer.start(t, async ({ form, url }): Promise<CloudAnswer> => {
    if (form.get('grant_type') === 'refresh_token') {
      assert.equal(form.get('client_secret'), 'user-secret');
      return { body: { access_token: `user-${form.get('refresh_token')}`, expires_in: lifetime } };
    }
    assert.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer');
    const assertion = form.get('assertion') ?? '';
    assert.deepEqual(decodeProtectedHeader(assertion), { alg: 'RS256', typ: 'JWT', kid: 'k1' });
    const { payload } = await jwtVerify(assertion, keys.publicKey, {
      issuer: email,
      subject: email,
      audience: url.href,
      maxTokenAge: 60,
    });
    assert.ok((payload.exp ?? 0) - (payload.iat ?? 0) <= 3_600);
    const { target_audience: target } = payload;
    if (target !== undefined) return { body: { id_token: await idToken(String(target)) } };
    assert.equal(payload['scope'], scope);
    const body = { access_token: `token-${String(server.requests.length)}`, expires_in: lifetime };
    return { body };
  });
  return server;
}

const serviceAccount = (server: CloudServer): object => ({
  type: 'service_account',
  client_email: email,
  private_key: privateKey,
  private_key_id: 'k1',
  token_uri: `${server.url}/token`,
});

const user = (server: CloudServer, refreshToken: string): object => ({
  type: 'authorized_user',
  client_id: 'gate',
  client_secret: 'user-secret',
  refresh_token: refreshToken,
  token_uri: `${server.url}/token`,
});

test('a service account gets one access token for all callers, in place of their own tokens', async (t) => {
  const server = await tokenEndpoint(t);
  const { ask } = await stage(t, { gcp: { credential: JSON.stringify(serviceAccount(server)) } });
  const callers = await Promise.all([ask({ authorization: 'Bearer mine' }), ask()]);
  callers.push(await ask());
  assert.deepEqual(
    callers.map(({ got }) => tokenOf(got)),
    ['token-1', 'token-1', 'token-1'],
  );
  assert.equal(server.requests.length, 1);
});

test('a service account gets an ID token for the audience', async (t) => {
  const server = await tokenEndpoint(t);
  const credential = JSON.stringify(serviceAccount(server));
  const { ask } = await stage(t, {
    gcp: { type: 'idToken', audience: 'https://app.a.run.app', credential },
  });
  const tokens = [await ask(), await ask()].map(({ got }) => tokenOf(got));
  await jwtVerify(tokens[0] ?? '', keys.publicKey, { audience: 'https://app.a.run.app' });
  assert.equal(tokens[0], tokens[1]);
  assert.equal(server.requests.length, 1);
});

test('a token without a lifetime left is asked for again', async (t) => {
  const server = await tokenEndpoint(t, 0);
  const { ask } = await stage(t, { gcp: { credential: JSON.stringify(serviceAccount(server)) } });
  assert.equal(tokenOf((await ask()).got), 'token-1');
  assert.equal(tokenOf((await ask()).got), 'token-2');
});

test('the file of the environment is used, and a changed one gives another token', async (t) => {
  const server = await tokenEndpoint(t);
  const folder = mkdtempSync(join(tmpdir(), 'gcp-'));
  t.after(() => {
    forgetSecrets();
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, 'credential.json');
  const write = (refreshToken: string): void => {
    writeFileSync(`${file}.new`, JSON.stringify(user(server, refreshToken)));
    renameSync(`${file}.new`, file);
  };
  write('refresh-1');
  setEnvironment(t, { GOOGLE_APPLICATION_CREDENTIALS: file });
  const { ask } = await stage(t, { gcp: {} });
  assert.equal(tokenOf((await ask()).got), 'user-refresh-1');
  assert.equal(redactText('a refresh-1 user-secret'), 'a [redacted] [redacted]');
  write('refresh-2');
  while (tokenOf((await ask()).got) !== 'user-refresh-2') await new Promise(setImmediate);
  assert.equal(server.requests.length, 2);
});

test('without a credential the metadata server gives access tokens and ID tokens', async (t) => {
  const server = await CloudServer.start(t, async ({ method, url, headers }) => {
    assert.deepEqual([method, headers['metadata-flavor']], ['GET', 'Google']);
    const account = '/computeMetadata/v1/instance/service-accounts/default';
    if (url.pathname === `${account}/token`)
      return { headers: google, body: { access_token: 'machine', expires_in: 3_599, token_type: 'Bearer' } };
    assert.equal(url.pathname, `${account}/identity`);
    assert.equal(url.searchParams.get('format'), 'full');
    return { headers: google, body: await idToken(url.searchParams.get('audience') ?? '') };
  });
  setEnvironment(t, { GOOGLE_APPLICATION_CREDENTIALS: undefined, GCE_METADATA_HOST: server.host });
  const access = await stage(t, { gcp: {} });
  for (let sent = 0; sent < 2; sent++) assert.equal(tokenOf((await access.ask()).got), 'machine');
  assert.equal(server.requests.length, 1);
  const identity = await stage(t, { gcp: { type: 'idToken', audience: 'https://a?b&c=d' } });
  for (let sent = 0; sent < 2; sent++)
    await jwtVerify(tokenOf((await identity.ask()).got), keys.publicKey, { audience: 'https://a?b&c=d' });
  assert.equal(server.requests.length, 2);
});

test('a metadata server that is gone, fails or is not of Google gets the caller 502', async (t) => {
  let answer: CloudAnswer = { body: { access_token: 'captive', expires_in: 60 } };
  const server = await CloudServer.start(t, () => answer);
  setEnvironment(t, { GOOGLE_APPLICATION_CREDENTIALS: undefined, GCE_METADATA_HOST: server.host });
  const refused = async (why: RegExp): Promise<void> => {
    // A gateway keeps a failure for a moment.
    const { ask, plane } = await stage(t, { gcp: {} });
    const { status, got } = await ask({ authorization: 'Bearer mine' });
    assert.deepEqual([status, got], [502, undefined]);
    assert.match(plane.access.at(-1)?.reason ?? '', why);
  };
  await refused(/not of the metadata server of Google/);
  answer = { status: 404, headers: google, body: 'no service account' };
  await refused(/status 404/);
  answer = { headers: google, body: { expires_in: 1 } };
  await refused(/no access_token/);
  server.close();
  await refused(/127\.0\.0\.1/);
});

test('a refused credential is the fault of the gateway: 502, and no secret in the log', async (t) => {
  const server = await CloudServer.start(t, () => ({ status: 400, body: { error: 'invalid_grant' } }));
  const { ask, plane } = await stage(t, { gcp: { credential: JSON.stringify(user(server, 'refresh-9')) } });
  const { status, got } = await ask({ authorization: 'Bearer mine' });
  assert.deepEqual([status, got], [502, undefined]);
  assert.match(plane.access.at(-1)?.reason ?? '', /status 400, invalid_grant/);
  assert.doesNotMatch(JSON.stringify([plane.access, plane.log]), /refresh-9|user-secret/);
});

test('credentials that cannot be used are rejected, and the message does not quote them', () => {
  const messages = (gcp: object): string =>
    (policySchemas.backendAuth.safeParse({ gcp }).error?.issues ?? [])
      .map(({ path, message }) => `${path.join('.')}: ${message}`)
      .join('; ');
  const credential = (changed: object): object => ({
    credential: JSON.stringify({
      type: 'service_account',
      client_email: email,
      private_key: privateKey,
      ...changed,
    }),
  });
  assert.equal(messages({}), '');
  assert.equal(messages(credential({})), '');
  const userFields = { client_id: 'a', client_secret: 'b', refresh_token: 'c' };
  for (const [gcp, why] of [
    [{ type: 'idToken' }, /gcp\.audience: type idToken needs the audience/],
    [{ audience: 'a' }, /gcp\.audience: is for type idToken only/],
    [{ credential: '{"secret' }, /gcp\.credential: expected a credential of Google Cloud as a JSON object/],
    [credential({ type: 'external_account' }), /external_account are known, but not built yet/],
    [credential({ type: 'secret' }), /expected a credential of type/],
    [credential({ private_key: 'secret' }), /expected a private key as PEM/],
    [credential({ client_email: '' }), /no client_email/],
    [credential({ token_uri: 'http://secret.test/' }), /token_uri of the credential: expected an https URL/],
    [
      { type: 'idToken', audience: 'a', ...credential({ type: 'authorized_user', ...userFields }) },
      /authorized_user gets no ID token/,
    ],
  ] as const satisfies readonly (readonly [object, RegExp])[]) {
    assert.match(messages(gcp), why);
    assert.doesNotMatch(messages(gcp), /secret/);
  }
});
