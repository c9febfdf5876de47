/** Servers that GatewayPolicies have the proxies call: authorization servers, and the processors of guardrails. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { after, before, describe, test } from 'node:test';
import { startProcessor, type Processor } from '../../examples/mcp/guardrails/processor.ts';
import { AuthorizationServer } from '../../src/policies/backendAuth/authorizationServer.testing.ts';
import { authority } from '../../src/proxy/certificates.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from '../e2e/gateway.testing.ts';
import { ask, type Answer } from '../e2e/http.testing.ts';
import { openSession, resultText } from '../e2e/session.testing.ts';
import { everything } from '../e2e/stage.testing.ts';
import { freePorts } from '../support/loopback.ts';
import { clusterForSuite, needsCluster } from './cluster.testing.ts';
import { startControllerProcess, type ControllerProcess } from './controllerProcess.testing.ts';
import { applyGateway, gatewayApi, object, ours } from './gatewayStage.testing.ts';
import { proxyFlags } from './proxyFlags.testing.ts';
import { here, noAddress, service } from './services.testing.ts';

const secret = 'open-sesame-of-the-gateway';

describe('servers that GatewayPolicies call', { skip: noAddress ?? needsCluster.skip }, () => {
  const stage = clusterForSuite();
  const ends: (() => unknown)[] = [];
  const suite = { after: (end: () => unknown) => void ends.push(end) };
  let idp: AuthorizationServer;
  let processor: Processor;
  let guard = '';
  let controller: ControllerProcess;
  let proxy: GatewayProcess;
  let port = 0;

  before(async () => {
    [port = 0] = await freePorts(1);
    const trusted = authority();
    idp = await AuthorizationServer.start({
      address: here!,
      clients: { gateway: { secret } },
      tls: trusted.issue({ names: [here!] }),
    });
    suite.after(() => idp.close());
    processor = await startProcessor(0, {
      request: (check) =>
        String(check.mcp_request).includes('secret')
          ? { error: { code: 'PERMISSION_DENIED', reason: 'no secrets' } }
          : { pass: {} },
      response: () => ({ pass: {} }),
    });
    suite.after(() => processor.close());
    // The processor of the example has no TLS of its own.
    const front = createTlsServer(
      { ...trusted.issue({ names: [here!] }), ALPNProtocols: ['h2'] },
      (socket) => {
        const inner = connect(processor.port, '127.0.0.1');
        for (const end of [socket, inner]) end.on('error', () => undefined);
        socket.pipe(inner).pipe(socket);
        socket.on('close', () => inner.destroy());
      },
    ).listen(0, here);
    await once(front, 'listening');
    suite.after(() => front.close());
    guard = `https://${here!}:${(front.address() as AddressInfo).port}`;
    // It shows its caller the credential that it gets.
    const backend = createServer((request, response) => response.end(request.headers.authorization));
    backend.listen(0, here);
    await once(backend, 'listening');
    suite.after(() => backend.close());
    await applyGateway(stage.cluster, port, service('app', (backend.address() as AddressInfo).port));
    controller = await startControllerProcess(suite, stage.cluster.kubeconfig);
    await controller.ready();
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-authority-'));
    suite.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'authority.pem');
    writeFileSync(file, trusted.cert);
    proxy = await startGateway('', {
      args: await proxyFlags(suite, stage.cluster, [controller]),
      env: { NODE_EXTRA_CA_CERTS: file },
    });
    suite.after(async () => await proxy.stop());
  });
  after(async () => {
    for (const end of ends.toReversed()) await end();
  });

  const get = async (name: string, token: string): Promise<Answer> =>
    await ask(`http://127.0.0.1:${port}/`, {
      headers: { host: `${name}.test`, authorization: `Bearer ${token}` },
    });

  /** A route to the app, whose requests get a credential from an authorization server. */
  const exchangeAt = async (name: string, host: string): Promise<void> =>
    await stage.cluster.apply(
      [
        object(gatewayApi, 'HTTPRoute', name, {
          spec: {
            parentRefs: [{ name: 'gw' }],
            hostnames: [`${name}.test`],
            rules: [{ backendRefs: [{ name: 'app', port: 80 }] }],
          },
        }),
        object(ours, 'GatewayPolicy', name, {
          spec: {
            targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
            policies: {
              backendAuth: {
                oauthTokenExchange: {
                  host,
                  path: '/token',
                  audiences: ['app'],
                  clientAuth: { clientId: 'gateway', clientSecret: { secret: 'client' } },
                },
              },
            },
          },
        }),
      ].join('\n---\n'),
    );

  test('the backend gets a token of the caller for itself, once the Secret of the policy is there', async () => {
    const token = await idp.issue({ sub: 'alice' });
    await exchangeAt('app', `https://${here!}:${idp.port}`);
    await until('the route is closed', async () => (await get('app', token)).status === 500);
    await stage.cluster.apply(object('v1', 'Secret', 'client', { stringData: { 'client-secret': secret } }));
    await until('the backend answers', async () => (await get('app', token)).status === 200);
    const { body } = await get('app', token);
    const { sub, aud, client } = await idp.claimsOf(body.replace('Bearer ', ''));
    assert.deepEqual([sub, aud, client], ['alice', ['app'], 'gateway']);
    assert.ok(idp.requests.length > 0);
    const foreign = await get('app', 'a-token-of-somebody-else');
    assert.deepEqual([foreign.status, foreign.headers['www-authenticate']], [403, undefined]);
  });

  test('a processor of a policy checks calls of an McpBackend', async () => {
    await stage.cluster.apply(
      [
        object(ours, 'McpBackend', 'tools', {
          spec: {
            targets: [{ name: 'a', stdio: { command: process.execPath, args: [everything, 'stdio'] } }],
          },
        }),
        object(gatewayApi, 'HTTPRoute', 'tools', {
          spec: {
            parentRefs: [{ name: 'gw' }],
            rules: [
              {
                matches: [{ path: { value: '/mcp' } }],
                backendRefs: [{ group: 'portcullis.dev', kind: 'McpBackend', name: 'tools' }],
              },
            ],
          },
        }),
        object(ours, 'GatewayPolicy', 'guard', {
          spec: {
            targetRefs: [{ group: 'portcullis.dev', kind: 'McpBackend', name: 'tools' }],
            policies: {
              mcpGuardrails: {
                processors: [{ kind: 'remote', host: guard, methods: { 'tools/call': 'request' } }],
              },
            },
          },
        }),
      ].join('\n---\n'),
    );
    await until('the proxy knows the policy', async () =>
      JSON.stringify((await proxy.configDump()).model).includes('"mcpGuardrails"'),
    );
    const session = await openSession(`http://127.0.0.1:${port}/mcp`, '');
    assert.equal(resultText(await session.call('echo', { message: 'hello' })), 'Echo: hello');
    const refused = await session.call('echo', { message: 'a secret' });
    assert.match(JSON.stringify(refused), /no secrets/);
    await session.close();
  });

  test('a proxy shows no token to a server on its own machine', async () => {
    const token = await idp.issue({ sub: 'alice' });
    await exchangeAt('loopback', `https://127.0.0.1:${port}`);
    await until('the route is closed', async () => (await get('loopback', token)).status === 500);
    await until('the log has the reason', () => /the gateway does not call 127\.0\.0\.1/.test(proxy.log()));
    const written = proxy.log() + proxy.accessLog() + controller.log();
    assert.ok(!written.includes(secret) && !written.includes(token));
    const objects = await stage.cluster.kubectl(['get', 'gatewaypolicy,httproute', '-A', '-o', 'yaml']);
    assert.ok(!objects.includes(secret));
  });
});
