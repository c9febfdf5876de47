import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { authority } from '../../proxy/certificates.testing.ts';
import { createMetrics } from '../../telemetry/index.ts';
import { kubeAccess } from './access.ts';
import { KubeApi } from './api.ts';
import { ApiError } from './apiError.ts';

interface Bench {
  readonly file: string;
  /** The token that requests must carry. */
  token: string;
  readonly seen: string[];
  readonly connections: () => number;
  /** Writes the kubeconfig. */
  write(token: string, ca?: string): void;
  api(): Promise<KubeApi>;
}

/** A server that knows one token, and a kubeconfig for it. */
async function setUp(t: TestContext): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-access-'));
  const ca = authority();
  const seen: string[] = [];
  let connections = 0;
  const server = createServer(ca.issue({ names: ['127.0.0.1'] }), (request, response) => {
    const given = request.headers.authorization ?? '';
    seen.push(given);
    const status = given === `Bearer ${bench.token}` ? 200 : 401;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? { ok: true } : { code: 401, reason: 'Unauthorized' }));
  });
  server.on('secureConnection', () => connections++);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const file = join(folder, 'config');
  const bench: Bench = {
    file,
    token: 'first',
    seen,
    connections: () => connections,
    write: (token, authorityText = ca.cert) =>
      writeFileSync(
        file,
        JSON.stringify({
          clusters: [
            {
              name: 'c',
              cluster: {
                server: `https://127.0.0.1:${String(port)}/prefix/`,
                'certificate-authority-data': Buffer.from(authorityText).toString('base64'),
              },
            },
          ],
          users: [{ name: 'u', user: { token } }],
          contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'mine' } }],
          'current-context': 'x',
        }),
      ),
    api: async () => {
      const metrics = createMetrics({ process: false });
      const api = new KubeApi({ access: await kubeAccess({ file }), metrics, userAgent: 'test' });
      t.after(() => api.close());
      return api;
    },
  };
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });
  return bench;
}

const call = { path: '/api/v1/x' };

test('a kubeconfig gives the server, its authorities and the credentials', async (t) => {
  const bench = await setUp(t);
  bench.write('first');
  const api = await bench.api();
  assert.deepEqual(await api.request(call), { ok: true });
  assert.equal(api.namespace, 'mine');
});

test('connections are kept for the next request', async (t) => {
  const bench = await setUp(t);
  bench.write('first');
  const api = await bench.api();
  for (let n = 0; n < 3; n++) await api.request(call);
  assert.equal(bench.connections(), 1);
});

test('a token that is refused is read again', async (t) => {
  const bench = await setUp(t);
  bench.write('first');
  const api = await bench.api();
  await api.request(call);
  bench.token = 'second';
  bench.write('second');
  await assert.rejects(api.request(call), (error) => error instanceof ApiError && error.status === 401);
  assert.deepEqual(await api.request(call), { ok: true });
  assert.deepEqual(bench.seen, ['Bearer first', 'Bearer first', 'Bearer second']);
});

test('a server that another authority vouches for gets no token', async (t) => {
  const bench = await setUp(t);
  bench.write('first', authority('another').cert);
  const api = await bench.api();
  await assert.rejects(api.request(call), /certificate/);
  assert.deepEqual(bench.seen, []);
});

test('a context that does not exist is an error at once', async (t) => {
  const bench = await setUp(t);
  bench.write('first');
  await assert.rejects(kubeAccess({ file: bench.file, context: 'other' }), /has no cluster/);
  await assert.rejects(kubeAccess({ file: `${bench.file}.not` }), /ENOENT/);
});
