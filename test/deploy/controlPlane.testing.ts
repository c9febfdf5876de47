/** `portcullis controller` in this process, in front of a server that stands for the API server of a cluster. */

import type { RequestListener } from 'node:http';
import type { TestContext } from 'node:test';
import { KubeApi, startControlPlane } from '../../src/controller/index.ts';
import { accessTo } from '../../src/controller/api/localServer.testing.ts';
import { memoryLog } from '../../src/auth/log.testing.ts';
import { createMetrics } from '../../src/telemetry/index.ts';
import { until } from '../../src/until.testing.ts';

type Stored = Readonly<Record<string, unknown>>;

/** The objects of the cluster, by the path of their list. */
const objects: Readonly<Record<string, readonly Stored[]>> = {
  '/apis/gateway.networking.k8s.io/v1/gatewayclasses': [
    {
      metadata: { name: 'portcullis', uid: 'class', resourceVersion: '1', generation: 1 },
      spec: { controllerName: 'portcullis.dev/gateway' },
    },
  ],
  '/apis/gateway.networking.k8s.io/v1/gateways': [
    {
      metadata: { name: 'edge', namespace: 'default', uid: 'edge', resourceVersion: '1', generation: 1 },
      spec: { gatewayClassName: 'portcullis', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
    },
  ],
};

/** Lists objects, keeps watches open, and stores whatever is written. */
function apiServer(): RequestListener {
  const stored = new Map<string, Stored>();
  let version = 1;
  return (request, response) => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://server');
    const { method } = request;
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (query.has('watch')) {
      response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
      return;
    }
    if (method === 'GET') {
      const found = stored.get(path);
      // The name of an object follows the plural of its kind, so a list has an odd number of parts behind the version.
      const isObject = /\/namespaces\/[^/]+\/[^/]+\/[^/]+$/.test(path);
      if (found !== undefined) answer(200, found);
      else if (isObject) answer(404, { kind: 'Status', reason: 'NotFound', code: 404 });
      else answer(200, { kind: 'List', metadata: { resourceVersion: '1' }, items: objects[path] ?? [] });
      return;
    }
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const body = (text === '' ? {} : JSON.parse(text)) as {
        readonly metadata?: { readonly name?: string };
      };
      const written = { ...body, metadata: { ...body.metadata, resourceVersion: String(++version) } };
      stored.set(method === 'POST' ? `${path}/${body.metadata?.name ?? ''}` : path, written);
      answer(method === 'POST' ? 201 : 200, written);
    });
  };
}

/** Starts a controller. @returns its metrics as text, once it leads and has written statuses */
export async function controllerMetrics(t: TestContext): Promise<string> {
  const access = await accessTo(t, apiServer());
  const { log, lines } = memoryLog();
  const metrics = createMetrics();
  const api = new KubeApi({ access, metrics, userAgent: 'test' });
  const plane = await startControlPlane(
    {
      namespace: 'default',
      watchNamespaces: undefined,
      controllerName: undefined,
      models: { kind: 'tcp', host: '127.0.0.1', port: 0 },
      service: undefined,
      certificate: undefined,
      proxyImage: 'portcullis:test',
      proxyImagePullPolicy: undefined,
    },
    { access, api, version: 'test', log, metrics },
  );
  t.after(async () => {
    await plane.close();
    api.close();
  });
  await plane.ready;
  await until(
    () => `statuses are written: ${JSON.stringify(lines.slice(-20))}`,
    async () => /portcullis_kube_status_writes_total\{[^}]*result="written"/.test(await metrics.expose()),
  );
  return await metrics.expose();
}
