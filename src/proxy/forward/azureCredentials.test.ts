/** Tokens of Azure, as backends see them. */
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CloudServer, setEnvironment, type CloudAnswer } from '../../policies/backendAuth/cloud.testing.ts';
import { policySchemas } from '../../policies/index.ts';
import { forgetSecrets, redactText } from '../../telemetry/index.ts';
import { stage, tokenOf } from './credentialStage.testing.ts';

const resource = 'https://cognitiveservices.azure.com';

/** No variable of Azure but these. */
const setOnly = (t: TestContext, values: Readonly<Record<string, string>>): void =>
  setEnvironment(t, {
    AZURE_AUTHORITY_HOST: undefined,
    AZURE_TENANT_ID: undefined,
    AZURE_CLIENT_ID: undefined,
    AZURE_FEDERATED_TOKEN_FILE: undefined,
    AZURE_POD_IDENTITY_AUTHORITY_HOST: undefined,
    IDENTITY_ENDPOINT: undefined,
    IDENTITY_HEADER: undefined,
    IDENTITY_SERVER_THUMBPRINT: undefined,
    ...values,
  });

const application = (client_secret: string): object => ({
  azure: { explicitConfig: { clientSecret: { tenant_id: 'tenant-1', client_id: 'gate', client_secret } } },
});

/** A token endpoint that compares the secret, as Entra ID does. */
const tokenEndpoint = async (t: TestContext): Promise<CloudServer> =>
  await CloudServer.start(t, ({ method, url, form }): CloudAnswer => {
    assert.deepEqual([method, url.pathname], ['POST', '/tenant-1/oauth2/v2.0/token']);
    if (form.get('client_secret') !== 'app-secret')
      return { status: 401, body: { error: 'invalid_client', error_description: 'AADSTS7000215' } };
    const { grant_type: grant, client_id: client, scope } = Object.fromEntries(form);
    assert.deepEqual([grant, client, scope], ['client_credentials', 'gate', `${resource}/.default`]);
    return { body: { access_token: 'app-token', expires_in: 3_599, token_type: 'Bearer' } };
  });

test('an application with a secret gets one token for all callers, in place of their own tokens', async (t) => {
  const server = await tokenEndpoint(t);
  for (const authority of [server.url, `${server.url}/`]) {
    server.requests.length = 0;
    setOnly(t, { AZURE_AUTHORITY_HOST: authority });
    const { ask } = await stage(t, application('app-secret'));
    const callers = await Promise.all([ask({ authorization: 'Bearer mine' }), ask()]);
    callers.push(await ask());
    assert.deepEqual(
      callers.map(({ got }) => tokenOf(got)),
      ['app-token', 'app-token', 'app-token'],
    );
    assert.equal(server.requests.length, 1);
  }
});

test('a wrong secret or a token endpoint that is gone gets the caller 502, and no log has the secret', async (t) => {
  const server = await tokenEndpoint(t);
  setOnly(t, { AZURE_AUTHORITY_HOST: server.url });
  const { ask, plane } = await stage(t, application('wrong-secret'));
  const refused = async (why: RegExp): Promise<void> => {
    const { status, got } = await ask({ authorization: 'Bearer mine' });
    assert.deepEqual([status, got], [502, undefined]);
    assert.match(plane.access.at(-1)?.reason ?? '', why);
  };
  await refused(/status 401, invalid_client: AADSTS7000215/);
  server.close();
  await refused(/127\.0\.0\.1/);
  assert.doesNotMatch(JSON.stringify([plane.access, plane.log]), /wrong-secret/);
  forgetSecrets();
});

test('a workload identity shows the token of its file, and the next one after the file changes', async (t) => {
  const server = await CloudServer.start(t, ({ url, form }) => {
    assert.equal(url.pathname, '/tenant-2/oauth2/v2.0/token');
    const { client_id: client, client_assertion_type: type, scope } = Object.fromEntries(form);
    assert.deepEqual(
      [client, type, scope],
      ['pod', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer', `${resource}/.default`],
    );
    return { body: { access_token: `for-${form.get('client_assertion')}`, expires_in: 3_599 } };
  });
  const folder = mkdtempSync(join(tmpdir(), 'azure-'));
  t.after(() => {
    forgetSecrets();
    rmSync(folder, { recursive: true });
  });
  const file = join(folder, 'token');
  const write = (token: string): void => {
    writeFileSync(`${file}.new`, `${token}\n`);
    renameSync(`${file}.new`, file);
  };
  write('federated-1');
  setOnly(t, {
    AZURE_AUTHORITY_HOST: server.url,
    AZURE_TENANT_ID: 'tenant-2',
    AZURE_CLIENT_ID: 'pod',
    AZURE_FEDERATED_TOKEN_FILE: file,
  });
  const explicit = await stage(t, { azure: { explicitConfig: { workloadIdentity: {} } } });
  assert.equal(tokenOf((await explicit.ask()).got), 'for-federated-1');
  assert.equal(redactText('a federated-1'), 'a [redacted]');
  const { ask } = await stage(t, { azure: { implicit: {} } });
  assert.equal(tokenOf((await ask()).got), 'for-federated-1');
  write('federated-2');
  while (tokenOf((await ask()).got) !== 'for-federated-2') await new Promise(setImmediate);
});

test('a managed identity is asked for at the metadata service, by the id of the settings', async (t) => {
  const server = await CloudServer.start(t, ({ method, url, headers }) => {
    assert.deepEqual([method, headers['metadata']], ['GET', 'true']);
    assert.equal(url.pathname, '/metadata/identity/oauth2/token');
    const { 'api-version': version, resource: wanted, ...identity } = Object.fromEntries(url.searchParams);
    assert.deepEqual([version, wanted], ['2018-02-01', resource]);
    // The service writes numbers as texts.
    return { body: { access_token: `for-${JSON.stringify(identity)}`, expires_in: '86399' } };
  });
  const host = { AZURE_POD_IDENTITY_AUTHORITY_HOST: server.url };
  const managed = (userAssignedIdentity?: object): object => ({
    explicitConfig: { managedIdentity: userAssignedIdentity === undefined ? {} : { userAssignedIdentity } },
  });
  for (const [azure, sent, environment] of [
    [managed(), {}, {}],
    [managed({ clientId: 'a' }), { client_id: 'a' }, {}],
    [managed({ objectId: 'b' }), { object_id: 'b' }, {}],
    [managed({ resourceId: '/c d' }), { msi_res_id: '/c d' }, {}],
    [{ implicit: {} }, {}, {}],
    [{ implicit: {} }, { client_id: 'e' }, { AZURE_CLIENT_ID: 'e' }],
  ] as const) {
    server.requests.length = 0;
    setOnly(t, { ...host, ...environment });
    const { ask } = await stage(t, { azure });
    for (let asked = 0; asked < 2; asked++)
      assert.equal(tokenOf((await ask()).got), `for-${JSON.stringify(sent)}`);
    assert.equal(server.requests.length, 1);
  }
});

test('App Service gets its own request, and the end of a token by its time', async (t) => {
  let end = Math.floor(Date.now() / 1_000) + 3_600;
  const server = await CloudServer.start(t, ({ url, headers }): CloudAnswer => {
    if (headers['x-identity-header'] !== 'header-secret') return { status: 400, body: 'no' };
    assert.equal(url.pathname, '/msi/token');
    assert.deepEqual(Object.fromEntries(url.searchParams), {
      'api-version': '2019-08-01',
      resource,
      mi_res_id: 'r',
    });
    return { body: { access_token: 'site', expires_on: String(end) } };
  });
  setOnly(t, { IDENTITY_ENDPOINT: `${server.url}/msi/token`, IDENTITY_HEADER: 'header-secret' });
  const azure = { explicitConfig: { managedIdentity: { userAssignedIdentity: { resourceId: 'r' } } } };
  for (const calls of [1, 2]) {
    server.requests.length = 0;
    const { ask } = await stage(t, { azure });
    for (let asked = 0; asked < 2; asked++) assert.equal(tokenOf((await ask()).got), 'site');
    assert.equal(server.requests.length, calls);
    // A token that has ended is not kept.
    end = Math.floor(Date.now() / 1_000);
  }
  assert.equal(redactText('a header-secret'), 'a [redacted]');
  forgetSecrets();
});

test('an environment that cannot be used closes the route', async (t) => {
  const app = application('app-secret');
  for (const [environment, settings] of [
    [{ AZURE_AUTHORITY_HOST: 'http://login.test' }, app],
    [{ AZURE_TENANT_ID: 'a' }, { azure: { explicitConfig: { workloadIdentity: {} } } }],
    [{ IDENTITY_ENDPOINT: 'http://127.0.0.1:1/msi/token' }, { azure: { implicit: {} } }],
  ] as const) {
    setOnly(t, environment);
    const { ask } = await stage(t, settings);
    const { status, got } = await ask();
    assert.deepEqual([status, got], [500, undefined], JSON.stringify(environment));
  }
});

test('settings of Azure that contradict each other are rejected', () => {
  const messages = (azure: object): string =>
    (policySchemas.backendAuth.safeParse({ azure }).error?.issues ?? [])
      .map(({ path, message }) => `${path.join('.')}: ${message}`)
      .join('; ');
  const app = { tenant_id: 't', client_id: 'c', client_secret: 's' };
  for (const [azure, why] of [
    [{}, /expected exactly one of explicitConfig, implicit/],
    [{ implicit: {}, explicitConfig: { workloadIdentity: {} } }, /got explicitConfig and implicit/],
    [{ developerImplicit: {} }, /developerImplicit: known, but not built yet/],
    [{ explicitConfig: {} }, /expected exactly one of clientSecret, managedIdentity, workloadIdentity/],
    [{ explicitConfig: { clientSecret: { ...app, tenant_id: 'a/b' } } }, /tenant_id: expected the id/],
    [
      { explicitConfig: { managedIdentity: { userAssignedIdentity: { clientId: 'a', objectId: 'b' } } } },
      /got clientId and objectId/,
    ],
  ] as const satisfies readonly (readonly [object, RegExp])[])
    assert.match(messages(azure), why);
  assert.equal(messages({ explicitConfig: { clientSecret: app } }), '');
});
