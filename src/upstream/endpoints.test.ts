import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { recordingLog } from '../mcp/harness.testing.ts';
import { defaults, type BackendAddress } from '../model/index.ts';
import { certificate } from '../proxy/certificates.testing.ts';
import { ok } from '../proxy/wire.testing.ts';
import type { Destination } from './destination.ts';
import { ask, send, startBackend } from './endpoint.testing.ts';
import { Endpoints } from './endpoints.ts';
import type { Target } from './upstreamTarget.ts';

function start(t: TestContext) {
  const endpoints = new Endpoints({ log: recordingLog().log });
  t.after(() => endpoints.close());
  return {
    endpoints,
    use: (target: Target): Destination => endpoints.use(target, defaults.upstream, defaults.limits),
    /** A model with these targets comes into use. */
    load: (...targets: readonly Target[]): Destination[] => {
      const live = targets.map((target) => endpoints.use(target, defaults.upstream, defaults.limits));
      endpoints.retireOthers(new Set(live));
      return live;
    },
  };
}

const at = (...hosts: readonly string[]): BackendAddress[] => hosts.map((host) => ({ host, port: 1 }));
const target = (addresses: readonly BackendAddress[], more: Partial<Target> = {}): Target => ({
  host: 'app.test',
  port: 80,
  addresses,
  ...more,
});
const hosts = ({ known }: Destination): string[] => known.map(({ host }) => host);

test('routes with the same target share a destination, over reloads too', (t) => {
  const { load } = start(t);
  const [one, two, other] = load(target(at('127.0.0.1')), target(at('127.0.0.1')), target([], { port: 81 }));
  assert.equal(one, two);
  assert.notEqual(one, other);
  const [again] = load(target(at('127.0.0.1')));
  assert.equal(again, one);
});

test('a target with other addresses goes on with the same destination, and addresses that stay are kept', (t) => {
  const { load } = start(t);
  const [before] = load(target(at('127.0.0.1', '127.0.0.2')));
  const [kept] = before!.known;
  const [after] = load(target(at('127.0.0.1', '127.0.0.3')));
  assert.equal(after, before);
  assert.deepEqual(hosts(after!), ['127.0.0.1', '127.0.0.3']);
  assert.equal(after!.known[0], kept);
});

test('two targets of one model that differ by their addresses are two destinations', (t) => {
  const { load } = start(t);
  const [one, two] = load(target(at('127.0.0.1')), target(at('127.0.0.2')));
  assert.notEqual(one, two);
  const [again, other] = load(target(at('127.0.0.2')), target(at('127.0.0.3')));
  assert.equal(again, two, 'the same target comes first');
  assert.equal(other, one, 'the one that is left takes the other addresses');
});

test('a target that verifies its backend never shares connections with one that does not', (t) => {
  const { load } = start(t);
  const strict = { insecure: false, insecureHost: false, subjectAltNames: [] };
  const [plain, verified, trusting] = load(
    target([]),
    target([], { tls: strict }),
    target([], { tls: { ...strict, insecure: true } }),
  );
  assert.equal(new Set([plain, verified, trusting]).size, 3);
});

test('a model that did not come into use leaves the addresses as they were', (t) => {
  const { endpoints, use, load } = start(t);
  const [one] = load(target(at('127.0.0.1')));
  use(target(at('127.0.0.2')));
  assert.deepEqual(hosts(one!), ['127.0.0.2']);
  endpoints.undo();
  // The data plane configures what is in use again.
  assert.equal(use(target(at('127.0.0.1'))), one);
  assert.deepEqual(hosts(one!), ['127.0.0.1']);
});

test('a destination that was made in the place of a former target gives way when the model is undone', (t) => {
  const { endpoints, use, load } = start(t);
  const [one] = load(target(at('127.0.0.1')));
  assert.equal(use(target(at('127.0.0.2'))), one);
  const other = use(target(at('127.0.0.1')));
  assert.notEqual(other, one);
  endpoints.undo();
  assert.deepEqual([...endpoints.destinations()], [one]);
  assert.deepEqual(one!.target, target(at('127.0.0.1')));
  assert.equal(use(target(at('127.0.0.1'))), one);
  assert.notEqual(use(target(at('127.0.0.3'))), other, 'a destination that was closed is not used again');
});

test('lists of addresses that change reach the destinations that name them, and no other', (t) => {
  const { endpoints, load } = start(t);
  const [one, two, fixed] = load(
    target(at('127.0.0.1'), { endpoints: 'ns/one:80/TCP' }),
    target(at('127.0.0.2'), { endpoints: 'ns/two:80/TCP' }),
    target(at('127.0.0.3')),
  );
  endpoints.useAddresses(
    new Map([
      ['ns/one:80/TCP', at('127.0.0.9')],
      ['ns/unknown:80/TCP', at('127.0.0.8')],
    ]),
    defaults.upstream,
    defaults.limits,
  );
  assert.deepEqual([one!, two!, fixed!].map(hosts), [['127.0.0.9'], ['127.0.0.2'], ['127.0.0.3']]);
  const [again] = load(target(at('127.0.0.9'), { endpoints: 'ns/one:80/TCP' }), two!.target, fixed!.target);
  assert.equal(again, one);
});

test('a destination without a route keeps its connections until the last request is done', async (t) => {
  const { endpoints, load } = start(t);
  const backend = await startBackend(t, {
    onRequest: (request, one) => {
      if (!request.start.includes('/held')) one.send(ok('x'));
    },
  });
  const [one] = load(target([{ host: '127.0.0.1', port: backend.port }]));
  const idle = one!.take()!;
  const busy = one!.take(true)!;
  await ask(idle);
  const { outcome } = send(busy, 'GET /held HTTP/1.1\r\nhost: a\r\n\r\n');
  await backend.until('the request is there', () => backend.requests.length === 2);
  load();
  assert.deepEqual([...endpoints.all()], []);
  assert.equal(idle.usable, false);
  await backend.until('the idle connection is closed', () => backend.connections.size === 1);
  for (const there of backend.connections) there.send(ok('late'));
  assert.equal((await outcome).body, 'late');
  await backend.until('the backend has no connection', () => backend.connections.size === 0);
});

test('when the endpoints close, destinations with and without a route lose their connections', async (t) => {
  const { endpoints, load } = start(t);
  const backend = await startBackend(t, {});
  const addresses = [{ host: '127.0.0.1', port: backend.port }];
  const [leaving] = load(target(addresses));
  send(leaving!.take()!);
  const [staying] = load(target(addresses, { port: 81 }));
  send(staying!.take()!);
  await backend.until('both requests are there', () => backend.requests.length === 2);
  endpoints.close();
  await backend.until('the backend has no connection', () => backend.connections.size === 0);
});

test('a target whose certificate cannot be used is an error, and leaves nothing behind', (t) => {
  const { endpoints, use } = start(t);
  const { key } = certificate();
  const tls = { insecure: false, insecureHost: false, subjectAltNames: [], root: { inline: key } };
  assert.throws(() => use(target([], { tls })), /backendTLS\.root/);
  assert.deepEqual([...endpoints.destinations()], []);
});
