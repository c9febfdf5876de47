import { test } from 'node:test';
import { allFail, allRefused, allTrue } from '../expressions.testing.ts';

test('addresses are told from other texts and compared in one form', () => {
  allTrue(
    'isIP("10.0.0.1") && isIP("::1") && !isIP("10.0.0") && !isIP("fe80::1%eth0") && !isIP("")',
    'ip("2001:DB8:0::1") == ip("2001:db8::1")',
    'ip("10.0.0.1").family() == 4 && ip("::1").family() == 6',
    'ip(source.address) in [ip("10.1.2.3")]',
    'string(ip("2001:DB8::1")) == "2001:db8::1"',
  );
  allRefused(/not an IP address/, 'ip("10.0.0.256") == ip("10.0.0.1")', 'ip("fe80::1%eth0").family() == 6');
  allFail('ip(jwt.role) == ip("10.0.0.1")', 'ip(jwt.level).family() == 4');
});

test('an IPv4 address written as IPv6 does not walk around a rule about IPv4', () => {
  allTrue(
    'ip("::ffff:10.0.0.1") == ip("10.0.0.1")',
    'cidr("10.0.0.0/8").containsIP("::ffff:10.0.0.1")',
    'ip("::ffff:7f00:1").isLoopback()',
  );
});

test('kinds of addresses', () => {
  allTrue(
    'ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified() && !ip("0.0.0.1").isUnspecified()',
    'ip("127.1.2.3").isLoopback() && ip("::1").isLoopback() && !ip("::2").isLoopback()',
    'ip("224.0.0.1").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast()',
    '!ip("224.0.1.1").isLinkLocalMulticast()',
    'ip("169.254.1.1").isLinkLocalUnicast() && ip("fe80::1").isLinkLocalUnicast()',
    'ip("8.8.8.8").isGlobalUnicast() && ip("10.0.0.1").isGlobalUnicast() && ip("fd00::1").isGlobalUnicast()',
    '!ip("255.255.255.255").isGlobalUnicast() && !ip("ff02::1").isGlobalUnicast()',
  );
});

test('ranges contain addresses and ranges of their family only', () => {
  allTrue(
    'cidr("10.0.0.0/8").containsIP(source.address)',
    'cidr("10.0.0.0/8").containsIP(ip(source.address))',
    '!cidr("::/0").containsIP(source.address) && !cidr("0.0.0.0/0").containsIP("::1")',
    'cidr("0.0.0.0/0").containsIP("1.2.3.4") && cidr("10.1.2.3/32").containsIP("10.1.2.3")',
    'cidr("10.0.0.0/8").containsCIDR(cidr("10.1.0.0/16")) && cidr("10.0.0.0/8").containsCIDR("10.0.0.0/8")',
    '!cidr("10.1.0.0/16").containsCIDR("10.0.0.0/8")',
    'cidr("10.1.2.3/8").ip() == ip("10.1.2.3") && cidr("10.1.2.3/8").prefixLength() == 8',
    'cidr("10.255.2.3/12").masked() == cidr("10.240.0.0/12")',
    'cidr("2001:db8:ffff::1/33").masked() == cidr("2001:db8:8000::/33")',
    'cidr("::1/0").masked() == cidr("::/0") && cidr("1.2.3.4/32").masked() == cidr("1.2.3.4/32")',
  );
});

test('a range that is none is refused at load where it is written out', () => {
  allRefused(
    /not an address range/,
    ...[
      '10.0.0.0/33',
      '10.0.0.0',
      '10.0.0.0/8/8',
      '::/129',
      '10.0.0.0/-1',
      '10.0.0.0/08',
      '/8',
      '::ffff:1.2.3.4/100',
    ].map((range) => `cidr("${range}").containsIP(source.address)`),
  );
  allRefused(/not an IP address/, 'cidr(jwt.range).containsIP("10.0.0.x")');
});

test('texts, addresses and ranges are types of their own at load', () => {
  allRefused(/no function/, 'source.address.family() == 4', 'ip("::1").masked() == cidr("::/0")');
  allRefused(/no function/, 'cidr("::/0").isLoopback()', 'source.address.containsIP("::1")');
  allRefused(/never equals/, 'ip("::1") == "::1"', 'cidr("::/0") == ip("::1")');
});
