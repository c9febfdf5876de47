import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isExternal } from './outsideHost.ts';

test('names with a dot and addresses of others are outside', () => {
  for (const host of [
    'mcp.example.com',
    'a.b',
    '192.0.2.7',
    '10.1.2.3',
    '2001:db8::1',
    'svc.example.com',
    'xn--a.io',
  ])
    assert.equal(isExternal(host), true, host);
});

test('this machine, its link, and Services are not outside, however they are written', () => {
  for (const host of [
    ...['localhost', 'a.localhost', '127.0.0.1', '127.8.9.10', '0.0.0.0', '127.1', '2130706433', '0x7f.0x1'],
    ...['::1', '0:0:0:0:0:0:0:1', '::', '::ffff:127.0.0.1', '::ffff:7f00:1', '64:ff9b::7f00:1'],
    ...['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'ff02::1', '224.0.0.1', '255.255.255.255'],
    ...['shop', 'shop.default.svc', 'shop.default.svc.cluster.local', 'shop.default.svc.example.org'],
    ...[
      '',
      'a..b',
      'A.example.com',
      'a.example.com.',
      '-a.example.com',
      'a_b.example.com',
      'a.example.com:80',
    ],
  ])
    assert.equal(isExternal(host), false, host);
});
