/** Hosts that the policies of tenants of a cluster have the proxies call. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test, type TestContext } from 'node:test';
import { memoryLog, type Line } from '../../auth/log.testing.ts';
import { buildTls } from '../../schema/index.ts';
import { defaults } from '../../model/index.ts';
import type { Hosts } from '../../policies/index.ts';
import { Endpoints } from '../../upstream/index.ts';
import { policyHosts } from './policyHosts.ts';

const [here] = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .filter(({ family, internal }) => family === 'IPv4' && !internal)
  .map(({ address }) => address);

const call = {
  method: 'GET',
  target: '/',
  headers: [],
  timeoutMs: 60_000,
  maxBodyBytes: 1_000,
  repeatable: true,
} as const;
const nobody = { onClose: () => undefined };

interface Stage {
  readonly hosts: Hosts;
  readonly lines: readonly Line[];
  /** The port of a server that counts its connections. */
  readonly port: number;
  readonly connections: () => number;
}

/** @param addresses of every name */
async function stage(t: TestContext, address: string, addresses: readonly string[]): Promise<Stage> {
  const { log, lines } = memoryLog();
  const lookup = {
    lookup: () => Promise.resolve(addresses.map((one) => ({ address: one, family: 4 }))),
    everyMs: 5_000,
  };
  const endpoints = new Endpoints({ log, tenantLookup: lookup });
  let connections = 0;
  const server = createServer((_request, response) => response.end('served'));
  server.on('connection', () => connections++);
  server.listen(0, address);
  await once(server, 'listening');
  t.after(() => {
    endpoints.close();
    server.closeAllConnections();
    server.close();
  });
  const uses = { destinations: new Set<never>(), mcp: new Set<never>() };
  const mcp = { backend: () => assert.fail('no policy calls an MCP server') };
  const { port } = server.address() as AddressInfo;
  const hosts = policyHosts(defaults, { endpoints, mcp, uses }, true);
  return { hosts, lines, port, connections: () => connections };
}

const skip = here === undefined ? 'this machine has no address but those of loopback' : false;

test('a Service of the cluster is called, by the addresses of its name', { skip }, async (t) => {
  const { hosts, port } = await stage(t, here!, [here!]);
  const answer = await hosts.use({ host: 'idp.login.svc', port }).ask(call, nobody);
  assert.equal(answer.body.toString(), 'served');
});

test('a name is not called if one of its addresses is that of the machine or of a cloud', async (t) => {
  for (const closed of ['127.0.0.1', '169.254.169.254']) {
    const { hosts, lines, port, connections } = await stage(t, '127.0.0.1', ['127.0.0.1', closed]);
    const host = hosts.use({ host: 'idp.login.svc', port });
    await assert.rejects(host.ask(call, nobody), { code: 'upstream_unhealthy' });
    assert.match(JSON.stringify(lines), /the gateway does not call 127\.0\.0\.1/);
    assert.equal(connections(), 0);
  }
});

test('an address that is closed, and plain text to another host than a Service, are refused at once', async (t) => {
  const { hosts, port } = await stage(t, '127.0.0.1', ['127.0.0.1']);
  for (const host of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '169.254.169.254'])
    assert.throws(() => hosts.use({ host, port, tls: buildTls({}) }), /the gateway does not call/);
  for (const host of ['idp.example.com', '10.0.0.1'])
    assert.throws(() => hosts.use({ host, port }), /only by TLS, or a Service of the cluster/);
});

test('a backend of the same name shares no connection with a policy of a tenant', { skip }, async (t) => {
  const { hosts, port } = await stage(t, here!, [here!]);
  const { log } = memoryLog();
  const endpoints = new Endpoints({ log });
  t.after(() => endpoints.close());
  const target = { host: here!, port };
  const { limits, upstream } = defaults;
  const open = endpoints.use(target, upstream, limits);
  assert.notEqual(endpoints.use({ ...target, guarded: true }, upstream, limits), open);
  assert.throws(() => hosts.use(target), /only by TLS/);
});
