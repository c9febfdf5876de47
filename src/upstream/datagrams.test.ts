import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { recordingLog } from '../mcp/harness.testing.ts';
import { defaults, type BackendAddress } from '../model/index.ts';
import { DatagramDestination, type DatagramAddress } from './datagrams.ts';

const settings = { ...defaults.upstream, zone: 'here' };
const at = (host: string, zone?: string): BackendAddress => ({ host, port: 53, ...(zone && { zone }) });

function destination(t: TestContext, ...addresses: readonly BackendAddress[]): DatagramDestination {
  const made = new DatagramDestination(
    { host: 'dns.test', port: 53, addresses },
    settings,
    recordingLog().log,
  );
  t.after(() => made.close());
  return made;
}

/** The addresses that are drawn in many tries. */
const drawn = (from: DatagramDestination): string[] =>
  [...new Set(Array.from({ length: 200 }, () => from.pick()?.name ?? 'none'))].toSorted();

test('datagrams go to every address of the best tier, and to no other', (t) => {
  const dns = destination(t, at('127.0.0.1', 'here'), at('::1', 'here'), at('127.0.0.3', 'there'));
  assert.equal(dns.name, 'dns.test:53');
  assert.deepEqual(drawn(dns), ['127.0.0.1:53', '[::1]:53']);
});

test('an address that refused a datagram is left alone for five seconds, where there are others', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  const dns = destination(t, at('127.0.0.1'), at('127.0.0.2'));
  const [one, two] = ['127.0.0.1:53', '127.0.0.2:53'].map((name) => ({ host: '', port: 53, name }));
  dns.refused(one as DatagramAddress);
  assert.deepEqual(drawn(dns), ['127.0.0.2:53']);
  dns.refused(two as DatagramAddress);
  assert.deepEqual(drawn(dns), ['127.0.0.1:53', '127.0.0.2:53'], 'trying a closed port beats giving up');
  t.mock.timers.tick(5_000);
  assert.deepEqual(drawn(dns), ['127.0.0.1:53', '127.0.0.2:53']);
});

test('addresses that refused give way to a worse tier', (t) => {
  const dns = destination(t, at('127.0.0.1', 'here'), at('127.0.0.2', 'there'));
  dns.refused(dns.pick()!);
  assert.deepEqual(drawn(dns), ['127.0.0.2:53']);
});

test('an address that goes is forgotten with its refusals, and a destination without any picks none', (t) => {
  const dns = destination(t, at('127.0.0.1'));
  const address = dns.pick()!;
  dns.refused(address);
  dns.useAddresses([at('127.0.0.2')], settings);
  assert.equal(dns.has(address), false);
  dns.refused(address);
  dns.useAddresses([at('127.0.0.1'), at('127.0.0.2')], settings);
  assert.equal(dns.has(address), true);
  assert.deepEqual(drawn(dns), ['127.0.0.1:53', '127.0.0.2:53']);
  dns.useAddresses([], settings);
  assert.equal(dns.pick(), undefined);
});
