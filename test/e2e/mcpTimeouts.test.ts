/** The time-outs of calls, as the servers and two users see them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../apps/dev-idp/src/config.ts';
import { startDevIdp } from '../../apps/dev-idp/src/index.ts';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { openSession } from './session.testing.ts';

const fromRoot = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

test('two users have different time-outs for tools, prompts and resources', async (t) => {
  const idp = await startDevIdp({
    port: 0,
    config: await loadConfig(fromRoot('examples/quickstart/idp.yaml')),
  });
  const server = await RemoteServer.start();
  const never = (): void => undefined;
  server.tools['export'] = never;
  server.methods['prompts/get'] = never;
  server.methods['resources/read'] = never;
  t.after(() => Promise.all([server.close(), idp.close()]));
  await using gateway = await startGateway(`
config: { limits: { maxMcpCallTime: 220ms } }
binds:
  - port: 0
    listeners:
      - routes:
          - policies:
              timeout: { requestTimeout: 60s }
              mcpAuthentication:
                issuer: ${idp.issuer}
                audiences: [api://default]
                jwks: { url: '${idp.issuer}/v1/keys' }
                resourceMetadata: { resource: http://localhost/mcp }
              mcpTimeouts:
                - { if: 'mcp.tool.name == "export" && jwt.sub == "alice"', timeout: 1h }
                - { if: 'mcp.tool.name == "export"', timeout: 120ms }
                - { if: 'mcp.prompt.name == "p" && jwt.sub == "alice"', timeout: 130ms }
                - { if: 'mcp.resource.name == "test://r" && jwt.missing == true', timeout: 140ms }
                - { if: 'mcp.resource.name == "test://slow"', timeout: 160ms }
                - { if: 'jwt.sub == "bob"', timeout: 150ms }
            backends:
              - mcp:
                  targets:
                    - name: tools
                      mcp: { host: '${server.url}' }
                      callTimeout: 700ms
                      toolTimeouts: { export: 700ms }
`);
  await gateway.keysReady();
  const url = `${gateway.url}/mcp`;
  const [alice, bob] = [
    await openSession(url, await idp.issueToken({ user: 'alice' })),
    await openSession(url, await idp.issueToken({ user: 'bob' })),
  ];
  const limit = async (asked: Promise<{ readonly error?: { readonly message: string } }>) =>
    /within (.*)$/.exec((await asked).error?.message ?? '')?.[1];
  // The hour is above the longest time of a call in this process.
  assert.equal(await limit(alice.call('export')), '220 ms');
  assert.equal(await limit(bob.call('export')), '120 ms');
  const prompt = { name: 'p' };
  assert.equal(await limit(alice.request('prompts/get', prompt)), '130 ms');
  assert.equal(await limit(bob.request('prompts/get', prompt)), '150 ms');
  // The failing condition limits the time that the target would give.
  const resource = { uri: 'test://r' };
  assert.equal(await limit(alice.request('resources/read', resource)), '140 ms');
  assert.equal(await limit(bob.request('resources/read', resource)), '140 ms');
  assert.equal(await limit(alice.request('resources/read', { uri: 'TEST://slow' })), '160 ms');
  for (const session of [alice, bob]) await session.close();
});
