import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { HeaderLine } from '../../http/index.ts';
import { authorization, signHead, type AwsKeys } from './sigV4.ts';

const keys: AwsKeys = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const unreserved = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const token = '6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267';

/** Requests and signatures of the test suite that AWS publishes (aws-c-auth, tests/aws-signing-test-suite/v4). */
const published: readonly {
  readonly name: string;
  readonly target: string;
  readonly headers?: readonly HeaderLine[];
  readonly signature: string;
}[] = [
  {
    name: 'get-vanilla-query-order-key-case',
    target: '/?Param2=value2&Param1=value1',
    signature: 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  },
  {
    name: 'get-vanilla-query-order-encoded',
    target: '/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1',
    signature: '371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac',
  },
  {
    name: 'get-vanilla-empty-query-key',
    target: '/?Param1=value1',
    signature: 'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
  },
  {
    name: 'get-vanilla-query-unreserved',
    target: `/?${unreserved}=${unreserved}`,
    signature: '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
  },
  {
    name: 'get-vanilla-utf8-query, whose bytes are not encoded',
    target: `/?${Buffer.from('ሴ').toString('latin1')}=bar`,
    signature: '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
  },
  {
    name: 'get-slashes-normalized',
    target: '//example//',
    signature: '9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84',
  },
  {
    name: 'get-header-value-trim',
    target: '/',
    headers: [
      ['my-header1', ' value1'],
      ['my-header2', ' "a   b   c"'],
    ],
    signature: 'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
  },
  {
    name: 'get-header-value-order',
    target: '/',
    headers: ['value4', 'value1', 'value3', 'value2'].map((value) => ['my-header1', value]),
    signature: '08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01',
  },
  {
    name: 'get-vanilla-with-session-token',
    target: '/',
    headers: [['x-amz-security-token', token]],
    signature: '07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8',
  },
];

for (const { name, target, headers = [], signature } of published)
  test(`signs as AWS does: ${name}`, () => {
    const time = '20150830T123600Z';
    const all = [['host', 'example.amazonaws.com'], ...headers, ['x-amz-date', time]] as const;
    const parts = { method: 'GET', target, headers: all, payloadHash: emptyHash, time };
    const value = authorization(parts, keys, { region: 'us-east-1', service: 'service' });
    assert.equal(value.split('Signature=')[1], signature);
  });

test('a signature leaves out blanks around a value, and no byte of UTF-8 that other readers take for one', () => {
  const time = '20150830T123600Z';
  const signed = (value: string): string => {
    const headers = [['x-amz-meta-name', value]] as const;
    const parts = { method: 'PUT', target: '/', headers, payloadHash: emptyHash, time };
    return authorization(parts, keys, { region: 'us-east-1', service: 's3' });
  };
  const name = Buffer.from('voilà').toString('latin1');
  assert.equal(signed(` \t${name}\t `), signed(name));
  assert.notEqual(signed(name), signed(name.slice(0, -1)));
  assert.equal(signed(' '), signed(''));
});

interface Vector {
  readonly service: string;
  readonly region: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Hexadecimal. */
  readonly body: string;
  readonly sessionToken?: string;
  readonly authorization: string;
}

const headOf = (line: string, fields: Readonly<Record<string, string>>): string =>
  `${line} HTTP/1.1\r\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

const signedFields = (head: string): ReadonlyMap<string, string> =>
  new Map(
    head
      .split('\r\n')
      .slice(1)
      .filter((line) => line !== '')
      .map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
  );

test('signs random requests as botocore does', () => {
  // Written by testdata/sigV4.py.
  const file = new URL('./testdata/sigV4.json', import.meta.url);
  const vectors = JSON.parse(readFileSync(file, 'utf8')) as readonly Vector[];
  assert.ok(vectors.length >= 40);
  for (const { method, target, headers, body, sessionToken, authorization: expected, ...scope } of vectors) {
    const head = headOf(`${method} ${target}`, {
      host: 'host.example.test',
      'x-forwarded-for': '192.0.2.1',
      ...headers,
    });
    const used = sessionToken === undefined ? keys : { ...keys, sessionToken };
    const at = Date.UTC(2026, 2, 4, 5, 6, 7);
    const signed = signHead(head, Buffer.from(body, 'hex'), used, scope, at);
    assert.equal(signedFields(signed).get('authorization'), expected, `${method} ${target}`);
  }
});

test('the fields of a signature are those of the gateway, and all others stay as they are', () => {
  const head = headOf('GET /a?b', {
    Host: 'a.test',
    Authorization: 'Bearer mine',
    'X-Amz-Date': 'mine',
    'X-Amz-Security-Token': 'mine',
    'X-Amz-Content-Sha256': 'mine',
    'X-Other': 'b ',
  });
  const signed = signHead(head, Buffer.alloc(0), keys, { region: 'eu-west-1', service: 'lambda' }, 0);
  assert.ok(signed.startsWith('GET /a?b HTTP/1.1\r\nHost: a.test\r\nX-Other: b \r\nx-amz-'));
  assert.ok(signed.endsWith('\r\n\r\n'));
  assert.doesNotMatch(signed, /mine/);
  const fields = signedFields(signed);
  assert.equal(fields.get('x-amz-date'), '19700101T000000Z');
  assert.equal(fields.get('x-amz-content-sha256'), emptyHash);
  assert.equal(fields.has('x-amz-security-token'), false);
});
