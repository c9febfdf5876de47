import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networks } from './networks.ts';

test('addresses are looked for in the networks of their family', () => {
  const known = networks(['10.0.0.0/8', '192.0.2.7', '2001:db8::/32']);
  for (const address of ['10.1.2.3', '192.0.2.7', '2001:db8:1::9']) assert.equal(known.has(address), true);
  for (const address of ['11.0.0.1', '192.0.2.8', '2001:db9::1', '', 'unknown', '_hidden'])
    assert.equal(known.has(address), false, address);
  assert.equal(networks(['fe80::/10']).has('fe80::1%eth0'), true);
  assert.equal(networks([]).has('10.1.2.3'), false);
  assert.equal(networks(['0.0.0.0/0']).has('10.1.2.3'), true);
});
