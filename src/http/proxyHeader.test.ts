/** "The PROXY protocol", versions 1 and 2, as haproxy's doc/proxy-protocol.txt has them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { crc32c } from './crc32c.ts';
import { readProxyHeader } from './proxyHeader.ts';
import { block, extension, ipv4Addresses, ipv6Addresses, withChecksum } from './proxyHeader.testing.ts';

const read = (bytes: Buffer | string) =>
  readProxyHeader(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, 'all');

const problem = (bytes: Buffer | string): string | undefined => {
  const result = read(bytes);
  return typeof result === 'object' && 'problem' in result ? result.problem : undefined;
};

test('the checksum is CRC32c', () => {
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
  assert.equal(crc32c(Buffer.alloc(0)), 0);
});

test('a line names both ends', () => {
  const line = 'PROXY TCP4 192.0.2.7 198.51.100.1 40000 443\r\n';
  assert.deepEqual(read(`${line}GET / HTTP/1.1\r\n`), {
    length: line.length,
    ends: { address: '192.0.2.7', port: 40_000, localAddress: '198.51.100.1', localPort: 443 },
  });
  const six = 'PROXY TCP6 2001:DB8:0:0::7 ::1 0 65535\r\n';
  assert.deepEqual(read(six), {
    length: six.length,
    ends: { address: '2001:db8::7', port: 0, localAddress: '::1', localPort: 65_535 },
  });
  const longest = `PROXY TCP6 ${'ffff:'.repeat(7)}ffff ${'ffff:'.repeat(7)}ffff 65535 65535\r\n`;
  assert.equal(longest.length, 104);
  assert.notEqual(typeof read(longest), 'string');
});

test('an IPv4 address in the clothes of IPv6 is one of IPv4', () => {
  const result = read('PROXY TCP6 ::ffff:192.0.2.7 ::ffff:c633:6401 1 2\r\n');
  assert.ok(typeof result === 'object' && 'ends' in result);
  assert.equal(result.ends?.address, '192.0.2.7');
  assert.equal(result.ends.localAddress, '198.51.100.1');
});

test('a line of an unknown family says nothing, whatever it says', () => {
  for (const line of ['PROXY UNKNOWN\r\n', 'PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n', 'PROXY UNKNOWN \0x\r\n'])
    assert.deepEqual(read(line), { length: line.length });
});

for (const line of [
  'PROXY \r\n',
  'PROXY TCP4\r\n',
  'PROXY  TCP4 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY tcp4 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY TCP5 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY UDP4 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1 2 3\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1 2 \r\n',
  'PROXY TCP4 192.0.2.7  198.51.100.1 1 2\r\n',
  'PROXY TCP4 192.0.2.256 198.51.100.1 1 2\r\n',
  'PROXY TCP4 192.0.2.07 198.51.100.1 1 2\r\n',
  'PROXY TCP4 192.0.2 198.51.100.1 1 2\r\n',
  'PROXY TCP4 2001:db8::7 ::1 1 2\r\n',
  'PROXY TCP6 192.0.2.7 198.51.100.1 1 2\r\n',
  'PROXY TCP6 fe80::1%eth0 ::1 1 2\r\n',
  'PROXY TCP6 [::1] ::1 1 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 65536 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 01 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 -1 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1e3 2\r\n',
  'PROXY TCP4 192.0.2.7 198.51.100.1 1 2\n\r\n',
  'PROXY TCP4 192.0.2.7\t198.51.100.1 1 2\r\n',
  `PROXY TCP4 192.0.2.7 198.51.100.1 1 2${' '.repeat(80)}\r\n`,
  `PROXY UNKNOWN ${'x'.repeat(200)}`,
])
  test(`the line ${JSON.stringify(line.length > 60 ? `${line.slice(0, 57)}...` : line)} is refused`, () => {
    assert.notEqual(problem(line), undefined);
  });

test('a block names both ends', () => {
  assert.deepEqual(read(Buffer.concat([block(), Buffer.from('GET')])), {
    length: 28,
    ends: { address: '192.0.2.7', port: 40_000, localAddress: '198.51.100.1', localPort: 443 },
  });
  const from = '20010db8000000000000000000000007';
  const mapped = '00000000000000000000ffffc6336401';
  assert.deepEqual(read(block({ family: 0x21, addresses: ipv6Addresses(from, mapped, 1, 2) })), {
    length: 52,
    ends: { address: '2001:db8::7', port: 1, localAddress: '198.51.100.1', localPort: 2 },
  });
});

test('a LOCAL header, or one without IP and TCP addresses, reports no client', () => {
  const unix = Buffer.alloc(216, '/run/app.sock');
  for (const parts of [
    { command: 0x20 },
    { command: 0x20, family: 0, addresses: Buffer.alloc(0) },
    { command: 0x20, family: 0x77, addresses: randomBytes(9) },
    { command: 0x20, addresses: randomBytes(3) },
    { family: 0, addresses: Buffer.alloc(0) },
    { family: 0, addresses: Buffer.alloc(0), extensions: extension(1, Buffer.from('h2')) },
    { family: 0x31, addresses: unix },
    { family: 0x32, addresses: unix },
    { family: 0x12 },
    { family: 0x22, addresses: Buffer.alloc(36) },
  ]) {
    const bytes = block(parts);
    assert.deepEqual(read(bytes), { length: bytes.length });
  }
});

test('extensions are passed over, and a checksum among them must be right', () => {
  const extensions = Buffer.concat([
    extension(1, Buffer.from('h2')),
    extension(2, Buffer.from('app.example.com')),
    extension(4, Buffer.alloc(7)),
    extension(5, randomBytes(128)),
    extension(0x20, randomBytes(40)),
    extension(0x30, Buffer.from('ns1')),
    extension(0xee, Buffer.alloc(0)),
  ]);
  const bytes = withChecksum({ extensions });
  const result = read(bytes);
  assert.ok(typeof result === 'object' && 'ends' in result);
  assert.equal(result.length, bytes.length);
  // Any byte that is not what it was is found, but the one that says that there is a checksum.
  for (let at = 16; at < bytes.length; at++) {
    if (at === bytes.length - 7) continue;
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at) ^ 0x40, at);
    assert.notEqual(problem(changed), undefined, `byte ${at}`);
  }
});

for (const [what, bytes] of [
  ['of version 1', block({ command: 0x11 })],
  ['of version 3', block({ command: 0x31 })],
  ['with an unknown command', block({ command: 0x22 })],
  ['of a reserved family', block({ family: 0x41, addresses: Buffer.alloc(40) })],
  ['of a reserved transport', block({ family: 0x13 })],
  ['too short for its addresses', block({ addresses: Buffer.alloc(11) })],
  ['too short for addresses of IPv6', block({ family: 0x21 })],
  ['too long', block({ length: 4_097 })],
  ['as long as can be written', block({ length: 65_535 })],
  ['with an extension cut short', block({ extensions: Buffer.from([1, 0]) })],
  ['with an extension longer than itself', block({ extensions: Buffer.from([1, 0, 9, 1]) })],
  ['with a short checksum', block({ extensions: extension(3, Buffer.alloc(3)) })],
  ['with two checksums', withChecksum({ extensions: extension(3, Buffer.alloc(4)) })],
  ['with a wrong checksum', block({ extensions: extension(3, Buffer.alloc(4, 1)) })],
] as const)
  test(`a block ${what} is refused`, () => {
    assert.notEqual(problem(bytes), undefined);
  });

test('other bytes are recognized as no header as early as possible', () => {
  for (const text of [
    'GET / HTTP/1.1\r\n',
    'P0',
    'PROXZ',
    '\r\n\r\nGET',
    '\x16\x03\x01',
    '\r\n\r\n\0\r\nQUIT\r',
  ])
    assert.equal(read(text), 'none', JSON.stringify(text));
  for (const text of ['P', 'PROXY', '\r', '\r\n\r\n\0\r\nQUIT']) assert.equal(read(text), 'incomplete');
});

test('a header of a version that is not accepted is refused, and not taken for the words of the client', () => {
  const line = Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 40000 443\r\n');
  const refused = (bytes: Buffer, versions: 'v1' | 'v2'): boolean => {
    const result = readProxyHeader(bytes, versions);
    return typeof result === 'object' && 'problem' in result;
  };
  assert.deepEqual(
    [refused(line, 'v1'), refused(line, 'v2'), refused(block(), 'v1'), refused(block(), 'v2')],
    [false, true, true, false],
  );
});

test('however a header is cut, it is read the same, once it is there, and never before', () => {
  const from = '20010db8000000000000000000000007';
  const headers = [
    Buffer.from('PROXY TCP4 192.0.2.7 198.51.100.1 40000 443\r\n'),
    Buffer.from('PROXY UNKNOWN\r\n'),
    block(),
    block({ command: 0x20, family: 0, addresses: Buffer.alloc(0) }),
    block({ family: 0x21, addresses: ipv6Addresses(from, from, 1, 2) }),
    withChecksum({
      addresses: ipv4Addresses('10.0.0.1', '10.0.0.2', 1, 2),
      extensions: extension(5, randomBytes(30)),
    }),
  ];
  for (const header of headers) {
    const whole = read(header);
    assert.equal(typeof whole, 'object');
    for (let at = 1; at < header.length; at++) assert.equal(read(header.subarray(0, at)), 'incomplete');
    for (let more = 0; more < 20; more++)
      assert.deepEqual(read(Buffer.concat([header, randomBytes(more)])), whole);
  }
});

test('no bytes make the reader throw, or wait for more than a header can hold', () => {
  const starts = [
    Buffer.from('PROXY '),
    Buffer.from('PROXY TCP4 '),
    block().subarray(0, 12),
    block().subarray(0, 14),
  ];
  for (let round = 0; round < 4_000; round++) {
    const start = starts[round % starts.length] as Buffer;
    const bytes = Buffer.concat([start, randomBytes(4_200)]);
    for (const length of [start.length, start.length + (round % 300), bytes.length])
      read(bytes.subarray(0, length));
    assert.notEqual(read(bytes), 'incomplete');
  }
});
