import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { test } from 'node:test';
import { policySchemas } from '../../policies/index.ts';
import { startApp } from '../apps.testing.ts';
import { authority } from '../certificates.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { get, status } from '../wire.testing.ts';

const rules = (...expressions: string[]): Record<string, unknown> => ({
  authorization: policySchemas.authorization.parse({ rules: expressions.map((require) => ({ require })) }),
});

test('rules see the port, the listener and the route that a request took', async (t) => {
  const app = await startApp(t);
  const plane = await TestPlane.start({
    routes: [
      {
        name: 'shop',
        prefix: '/shop',
        to: app.port,
        policies: rules(
          'proxy.route.name == "shop"',
          'proxy.listener.name == "listener0"',
          'proxy.bind == "0#0"',
          '!has(proxy.gateway)',
          'destination.hostname == "gateway.test"',
        ),
      },
      { name: 'other', to: app.port, policies: rules('proxy.route.name == "shop"') },
    ],
  });
  t.after(() => plane.close());
  assert.equal(status(await plane.ask(get('/shop').replace(/host: [^\r]*/i, 'host: gateway.test:80'))), 200);
  assert.equal(status(await plane.ask(get('/'))), 403);
});

test('the name of the TLS handshake is the host that was asked for, whatever Host says', async (t) => {
  const app = await startApp(t);
  const ca = authority();
  const { cert, key } = ca.issue({ names: ['a.test'] });
  const plane = await TestPlane.start({
    listeners: [
      {
        tls: {
          cert: { inline: cert },
          key: { inline: key },
          ciphers: [],
          minVersion: 'TLSv1.2',
          maxVersion: 'TLSv1.3',
        },
        routes: [{ to: app.port, policies: rules('destination.hostname == "a.test"') }],
      },
    ],
  });
  t.after(() => plane.close());
  const ask = async (servername: string): Promise<number | undefined> => {
    const request = httpsRequest({
      port: plane.port,
      host: '127.0.0.1',
      servername,
      ca: ca.cert,
      agent: false,
      checkServerIdentity: () => undefined,
      headers: { host: 'b.test' },
    }).end();
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'end');
    return answer.statusCode;
  };
  assert.equal(await ask('A.test'), 200);
  assert.equal(await ask('b.test'), 403);
  assert.equal(await ask(''), 403);
});

test('a further try may depend on the backend, on how long it took, and on the status of gRPC', async (t) => {
  const app = await startApp(t);
  let requests = 0;
  app.behave = (request, response) => {
    requests++;
    if (request.url === '/grpc') response.setHeader('grpc-status', requests === 1 ? '14' : '0');
    response.statusCode = request.url === '/grpc' ? 200 : requests === 1 ? 500 : 200;
    response.end();
  };
  const name = `127.0.0.1:${app.port}`;
  const plane = await TestPlane.start({
    routes: [
      {
        to: app.port,
        policies: {
          retry: policySchemas.retry.parse({
            codes: [503],
            attempts: 2,
            precondition: `backend.name == "${name}" && backend.type == "static" && backend.protocol == "http"`,
            condition:
              'response.code == 500 && backend.name != "" && proxy.upstreamDuration < duration("10s") && ' +
              'proxy.requestProcessingDuration >= duration("0s") || response.grpcStatus == 14',
          }),
        },
      },
    ],
  });
  t.after(() => plane.close());
  assert.equal(status(await plane.ask(get('/'))), 200);
  assert.equal(requests, 2);
  requests = 0;
  assert.equal((await plane.ask(get('/grpc'))).lines.find(([field]) => field === 'grpc-status')?.[1], '0');
  assert.equal(requests, 2);
});
