/** The gateway as a process gets tokens of clouds with the credentials of its environment. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SignJWT } from 'jose';
import { CloudServer } from '../../src/policies/backendAuth/cloud.testing.ts';
import { startGateway } from './gateway.testing.ts';

const example = fileURLToPath(new URL('../../examples/credentials/clouds.yaml', import.meta.url));

test('backends of two clouds get the tokens of their own cloud, and the log has none', async (t) => {
  const google = await new SignJWT({ aud: 'https://run.test' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new Uint8Array(32));
  const metadata = await CloudServer.start(t, ({ url }) =>
    url.pathname === '/metadata/identity/oauth2/token'
      ? { body: { access_token: 'token-of-azure', expires_in: '3600' } }
      : {
          headers: { 'metadata-flavor': 'Google' },
          body: url.searchParams.get('audience') === 'https://run.test' ? google : '',
        },
  );
  const backend = await CloudServer.start(t, ({ headers }) => ({ body: headers.authorization }));
  await using gateway = await startGateway('', {
    args: ['-f', example],
    env: {
      GATEWAY_PORT: '0',
      RUN_AUDIENCE: 'https://run.test',
      RUN_HOST: backend.host,
      AZURE_HOST: backend.host,
      GCE_METADATA_HOST: metadata.host,
      AZURE_POD_IDENTITY_AUTHORITY_HOST: metadata.url,
      GOOGLE_APPLICATION_CREDENTIALS: '',
      AZURE_CLIENT_ID: '',
      IDENTITY_ENDPOINT: '',
    },
  });
  const sent = async (path: string): Promise<string> => {
    const response = await fetch(new URL(path, gateway.url), { headers: { authorization: 'Bearer mine' } });
    return await response.text();
  };
  for (let round = 0; round < 2; round++) {
    assert.equal(await sent('/google/a'), `Bearer ${google}`);
    assert.equal(await sent('/azure/a'), 'Bearer token-of-azure');
  }
  assert.equal(metadata.requests.length, 2);
  const shown = gateway.log() + gateway.accessLog() + JSON.stringify(await gateway.configDump());
  for (const token of ['token-of-azure', google]) assert.ok(!shown.includes(token));
});
