/** PortcullisParameters, by way of the pod that the controller makes of them, in a real `portcullis proxy`. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { verifyFiles } from '../../src/audit/index.ts';
import type { KubeObject } from '../../src/controller/api/object.ts';
import { KnownParameters } from '../../src/controller/provision/knownParameters.ts';
import { objectsOf } from '../../src/controller/provision/objects.ts';
import type { Gateway, GatewayClass } from '../../src/controller/types/index.ts';
import { modelWith, routeNamed } from '../../src/stream/model.testing.ts';
import { Collector } from '../../src/tracing/collector.testing.ts';
import { until } from '../../src/until.testing.ts';
import { usedSecret } from '../../src/usedSecrets.testing.ts';
import { freePorts, listenOnLoopback } from '../support/loopback.ts';
import { ask } from './http.testing.ts';
import { app, on, say, stage, synchronized, type Stage } from './proxy.testing.ts';

const gateway = {
  kind: 'Gateway',
  metadata: { name: 'gw', namespace: 'ns', uid: '1' },
  spec: {
    gatewayClassName: 'portcullis',
    infrastructure: { parametersRef: { group: 'portcullis.dev', kind: 'PortcullisParameters', name: 'p' } },
    listeners: [{ name: 'web', port: 80, protocol: 'HTTP' }],
  },
} as unknown as Gateway;
const gatewayClass = { metadata: { name: 'portcullis' }, spec: {} } as unknown as GatewayClass;

/** The container of the proxies that the controller makes of a spec. */
function containerOf(spec: object): { readonly args: readonly string[] } {
  const object = {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'PortcullisParameters',
    metadata: { name: 'p', namespace: 'ns' },
    spec,
  } satisfies KubeObject;
  const known = new KnownParameters([object]);
  assert.equal(known.named[0]?.problem, undefined);
  const parameters = known.of(gateway, gatewayClass);
  assert.ok(parameters !== undefined);
  const objects = objectsOf({
    gateway,
    ports: [{ port: 80, protocol: 'TCP' }],
    sessions: false,
    parameters,
    installation: { controllerName: 'c', image: 'i', controller: 'c:1', trust: '' },
  });
  const deployment = objects.find(({ kind }) => kind === 'Deployment') as unknown as {
    spec: { template: { spec: { containers: readonly { args: readonly string[] }[] } } };
  };
  const [container] = deployment.spec.template.spec.containers;
  assert.ok(container !== undefined);
  return container;
}

/** The flags for a proxy of this machine: folders of the pod are folders of the test. */
function flagsOf(spec: object, folder: string): string[] {
  const logs = join(folder, 'logs');
  mkdirSync(logs, { recursive: true });
  return containerOf(spec)
    .args.filter((arg) => /^--(?:settings|audit-files|tracing-headers|log-headers|log-format)=/.test(arg))
    .map((arg) => arg.replaceAll('/var/run/secrets/portcullis.dev', folder))
    .map((arg) => arg.replaceAll('/var/log/portcullis', logs));
}

/** A Secret as a pod has it: entries are links into a folder that changes. */
function mount(folder: string, name: string, entries: Readonly<Record<string, string>>): void {
  const data = join(folder, name, '..2026');
  mkdirSync(data, { recursive: true });
  symlinkSync('..2026', join(folder, name, '..data'));
  for (const [entry, text] of Object.entries(entries)) {
    writeFileSync(join(data, entry), text);
    symlinkSync(join('..data', entry), join(folder, name, entry));
  }
}

/** A proxy with a route to an app, and its address. */
async function serving(t: TestContext, { controller }: Stage): Promise<string> {
  const [port = 0] = await freePorts(1);
  say(controller, on(port, modelWith([routeNamed('a', '/')])), [await app(t, 'one')]);
  return `http://127.0.0.1:${String(port)}/`;
}

test('the parameters of a Gateway give its proxies traces and exported logs, with headers of a Secret', async (t) => {
  await using collector = await Collector.http();
  const own = await stage(t);
  const url = await serving(t, own);
  const key = usedSecret('the-$HOME-key-of-the-collector');
  mount(own.folder.path, 'tracing', { authorization: `Bearer ${key}\n` });
  mount(own.folder.path, 'log-export', { 'x-key': key });
  const spec = {
    logFormat: 'json',
    tracing: {
      otlpEndpoint: collector.url,
      otlpProtocol: 'http',
      randomSampling: '1',
      resources: { 'service.name': '"edge"' },
      filter: 'response.code == 200',
      secretName: 'collector',
    },
    logging: {
      fields: {
        add: { price: String.raw`request.path.matches("^/a$") ? "$HOME" : "none"` },
        remove: ['client'],
      },
      otlp: { otlpEndpoint: collector.url, otlpProtocol: 'http', secretName: 'other' },
    },
  };
  await using proxy = await own.start(...flagsOf(spec, own.folder.path));
  await until('the model to be in use', () => synchronized(proxy));
  assert.equal((await ask(`${url}a`)).status, 200);
  await until('the spans', () => collector.spans.length >= 2);
  await until('the record', () => collector.logs.length === 1);
  assert.equal(collector.spans[0]?.resource['service.name'], 'edge');
  const [record] = collector.logs;
  assert.deepEqual([record?.attributes['price'], record?.attributes['client']], ['$HOME', undefined]);
  const sent = collector.heads.map(({ authorization, 'x-key': own }) => authorization ?? own);
  assert.deepEqual(new Set(sent), new Set([`Bearer ${key}`, key]));
  await until('the line', () => proxy.accessLog().includes('"price":"$HOME"'));
});

test('the parameters of a Gateway give its proxies an audit stream to a collector that wants a token', async (t) => {
  const heads: IncomingHttpHeaders[] = [];
  let text = '';
  const { port, close } = await listenOnLoopback(
    createServer((request, response) => {
      heads.push(request.headers);
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => response.writeHead(204).end());
    }),
  );
  t.after(close);
  const own = await stage(t);
  await serving(t, own);
  const token = usedSecret('the-token-of-the-auditor');
  mount(own.folder.path, 'audit', { token, 'chain.key': usedSecret('k'.repeat(48)) });
  const spec = {
    audit: {
      sink: { http: { url: `http://127.0.0.1:${String(port)}/lines` } },
      chain: {},
      required: true,
      secretName: 'audit',
    },
  };
  await using proxy = await own.start(...flagsOf(spec, own.folder.path));
  await until('a line', () => text.includes('"api.operation":"gateway.start"'));
  assert.deepEqual(new Set(heads.map(({ authorization }) => authorization)), new Set([`Bearer ${token}`]));
  assert.match(text, /"chain\.mac":"/);
  await until('the checkpoint', () => proxy.log().includes('checkpoint'));
});

test('the parameters of a Gateway give its proxies an audit stream in the volume of their pod', async (t) => {
  const own = await stage(t);
  await serving(t, own);
  mount(own.folder.path, 'audit', { 'chain.key': 'k'.repeat(48) });
  const spec = {
    audit: {
      sink: { file: { path: '/var/log/portcullis/audit.jsonl' } },
      chain: { checkpoints: { file: '/var/log/portcullis/checkpoints.jsonl' }, checkpointInterval: '100ms' },
      secretName: 'audit',
      volume: { emptyDir: {} },
    },
  };
  await using proxy = await own.start(...flagsOf(spec, own.folder.path));
  await proxy.stop();
  const file = (name: string): string => join(own.folder.path, 'logs', name);
  assert.match(readFileSync(file('audit.jsonl'), 'utf8'), /gateway\.stop/);
  const found = await verifyFiles({
    files: [file('audit.jsonl')],
    key: Buffer.from('k'.repeat(48)),
    checkpoints: [file('checkpoints.jsonl')],
    partial: false,
  });
  assert.deepEqual(found.problems, []);
});

test('the lines of a proxy go to standard output beside its access log', async (t) => {
  const own = await stage(t);
  const url = await serving(t, own);
  const spec = { audit: { sink: { stdout: {} } }, logging: { accessLog: 'none' } };
  await using proxy = await own.start(...flagsOf(spec, own.folder.path));
  await until('the line', () => proxy.accessLog().includes('"api.operation":"gateway.start"'));
  assert.equal((await ask(url)).status, 200);
  await proxy.stop();
  assert.doesNotMatch(proxy.accessLog(), / 200 GET /);
});
