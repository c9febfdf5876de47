import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { jsonAnswer, startLoopback, type Loopback } from '../../../auth/loopback.testing.ts';
import { makeKey, makeToken } from '../../../auth/token.testing.ts';
import { until } from '../../../until.testing.ts';
import { authority } from '../../../proxy/certificates.testing.ts';
import { ClientDocuments } from './clientDocuments.ts';

let server: Loopback;
let id = '';
const redirectUris = ['https://app.test/back'];
const described = (more: object = {}): object => ({ client_id: id, redirect_uris: redirectUris, ...more });
let now = 0;
/** The network of the client that asks. */
const here = '198.51.100.1';

before(async () => {
  const ca = authority();
  setDefaultCACertificates([ca.cert]);
  server = await startLoopback(jsonAnswer({}), 0, ca.issue({ names: ['localhost'] }));
  id = `https://localhost:${server.port}/client.json`;
});
after(() => server.close());
beforeEach(() => {
  now = 0;
  server.asked.length = 0;
  server.answer = jsonAnswer(described());
});

const documents = (
  hosts = ['localhost'],
  networks = ['127.0.0.0/8', '::1'],
  owner: object = {},
): ClientDocuments => new ClientDocuments({ hosts, networks }, { now: () => now, guarded: false, owner });

const key = makeKey('P-256', 'one');
const keyed = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } };
const audiences = ['https://gateway.test/mcp', 'https://gateway.test/token'];

/** An assertion of the client. @param claims that differ */
const asserted = (claims: object = {}, header: object = {}, by = key): string =>
  makeToken('ES256', by, {
    header: { ...header },
    claims: {
      iss: id,
      sub: id,
      aud: audiences[0],
      iat: Math.floor(now / 1_000),
      exp: Math.floor(now / 1_000) + 300,
      jti: String(++assertions),
      ...claims,
    },
  });
let assertions = 0;

/** The way in which the gateway judges an assertion: `good`, or the text for the log. */
async function judged(some: ClientDocuments, assertion: string): Promise<string> {
  const proof = await some.prove(id, { assertion, audiences, network: here });
  return 'reason' in proof ? `${proof.reason} ${proof.detail ?? ''}` : 'good';
}

/** An RSA key without a private part, such as strangers can write. @param e 65537 unless given */
function rsa(bits: number, e = 'AQAB'): object {
  const n = randomBytes(bits / 8);
  n.writeUInt8(n.readUInt8(0) | 0x80, 0);
  n.writeUInt8(n.readUInt8(n.length - 1) | 1, n.length - 1);
  return { kty: 'RSA', n: n.toString('base64url'), e };
}

test('a client whose document has no name that anybody sees is shown by its host', async () => {
  for (const more of [{}, { client_name: ' ' }, { client_name: '\u200b' }]) {
    server.answer = jsonAnswer(described(more));
    assert.equal((await documents().get(id, here)).name, `localhost:${server.port}`);
  }
});

test('only the usual form of an https address of a named host is the id of a client with a document', () => {
  const some = documents(['app.test', '*.apps.test']);
  for (const admitted of [
    'https://app.test/client',
    'https://app.test:8443/client?version=2',
    'https://a.b.apps.test/client',
  ])
    assert.equal(some.admits(admitted), true, admitted);
  for (const refused of [
    'http://app.test/client',
    'https://app.test',
    'https://app.test/',
    'https://APP.test/client',
    'https://app.test:443/client',
    'https://app.test/a/../client',
    'https://app.test/%2e%2e/client',
    'https://app.test/client#part',
    'https://app.test/client#',
    'https://user@app.test/client',
    'https://apps.test/client',
    'https://evil.test/app.test/client',
    `https://app.test/${'x'.repeat(1_024)}`,
    'client',
    '',
  ])
    assert.equal(some.admits(refused), false, refused);
  assert.equal(documents(['*']).admits('https://anything.test/client'), true);
});

test('a client has the name and the addresses of its document, and the name of its host otherwise', async () => {
  const host = `localhost:${server.port}`;
  const client = { name: host, redirectUris, host, isPublic: true, keys: undefined };
  assert.deepEqual(await documents().get(id, here), client);
  server.answer = jsonAnswer(
    described({
      client_name: 'Editor',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      logo_uri: 'https://app.test/logo.png',
    }),
  );
  assert.equal((await documents().get(id, here)).name, 'Editor');
});

test('a document that describes another client, or one that the gateway cannot serve, is refused', async () => {
  for (const [document, problem] of [
    [described({ client_id: `${id}?` }), /client_id: the document describes another client/],
    [described({ client_id: undefined }), /client_id/],
    [described({ client_secret: 's' }), /client_secret: a document cannot hold a secret/],
    [
      described({
        token_endpoint_auth_method: 'client_secret_basic',
        token_endpoint_auth_methods_supported: ['none'],
      }),
      /token_endpoint_auth_method: a document cannot hold a secret/,
    ],
    [described({ token_endpoint_auth_method: 'tls_client_auth' }), /expected none or private_key_jwt/],
    [
      described({ token_endpoint_auth_method: 'none', token_endpoint_auth_methods_supported: [] }),
      /token_endpoint_auth_method/,
    ],
    [described({ ...keyed, jwks: undefined }), /private_key_jwt needs jwks or jwks_uri/],
    [described({ ...keyed, jwks_uri: id }), /either jwks or jwks_uri/],
    [described({ ...keyed, jwks: { keys: [] } }), /no usable key/],
    [
      described({ ...keyed, jwks: { keys: [{ kty: { toString: 1 } }] } }),
      /first key cannot be used: key type/,
    ],
    [described({ ...keyed, jwks: { keys: Array(33).fill(key.jwk) } }), /more than 32 keys/],
    [described({ ...keyed, jwks: { keys: [rsa(4_104)] } }), /an RSA modulus of 4104 bits \(2048 to 4096/],
    [described({ ...keyed, jwks: { keys: [rsa(2_048, 'Aw')] } }), /an RSA exponent of 3 \(only 65537/],
    [described({ ...keyed, jwks: { keys: [rsa(2_048, '_____w')] } }), /an RSA exponent of 4294967295/],
    [described({ ...keyed, token_endpoint_auth_signing_alg: 'HS256' }), /token_endpoint_auth_signing_alg/],
    [described({ ...keyed, jwks: undefined, jwks_uri: 'https://evil.test/keys' }), /jwks_uri: expected/],
    [described({ ...keyed, jwks: undefined, jwks_uri: id.replace('https', 'http') }), /jwks_uri: expected/],
    [described({ redirect_uris: [] }), /redirect_uris/],
    [described({ redirect_uris: ['javascript:alert(1)'] }), /redirect_uris.0: expected https/],
    [described({ redirect_uris: ['http://app.test/back'] }), /redirect_uris.0: expected https/],
    [described({ grant_types: ['client_credentials'] }), /grant_types: authorization_code is missing/],
    [described({ response_types: ['token'] }), /response_types: code is missing/],
    [described({ client_name: 'x'.repeat(17_000) }), /over 16384 bytes/],
    ['[]', /expected object/],
    ['{', /not JSON/],
  ] as const) {
    server.answer = jsonAnswer(document);
    await assert.rejects(documents().get(id, here), problem);
  }
  server.answer = (_, response) => response.writeHead(404).end();
  await assert.rejects(documents().get(id, here), /answered 404/);
  server.answer = (_, response) => response.writeHead(302, { location: '/other.json' }).end();
  await assert.rejects(documents().get(id, here), /too many redirects/);
  assert.equal(server.asked.includes('/other.json'), false, 'the gateway follows no redirect');
});

test('a document at an address that is not public is read only in a network that the operator has named', async () => {
  for (const networks of [[], ['10.0.0.0/8']])
    await assert.rejects(documents(['*'], networks).get(id, here), /does not fetch documents from/);
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '10.0.0.1', '[fd12:3456::1]'])
    await assert.rejects(
      documents(['*'], []).get(`https://${host}:${server.port}/client.json`, here),
      /does not fetch documents from/,
    );
  assert.deepEqual(server.asked, []);
});

test('a tenant of a cluster opens no address of the machine', async () => {
  const some = new ClientDocuments(
    { hosts: ['*'], networks: ['0.0.0.0/0', '::/0'] },
    { now: () => now, guarded: true, owner: {} },
  );
  await assert.rejects(some.get(id, here), /does not fetch documents from/);
  await assert.rejects(
    some.get('https://169.254.169.254/client.json', here),
    /does not fetch documents from 169.254.169.254/,
  );
  assert.deepEqual(server.asked, []);
});

test('a document stays for as long as its server says, and at least for a minute', async () => {
  const some = documents();
  const readsAt = async (time: number): Promise<number> => {
    now = time;
    await some.get(id, here);
    return server.asked.length;
  };
  server.answer = jsonAnswer(described(), { 'cache-control': 'max-age=120' });
  assert.equal(await readsAt(0), 1);
  assert.equal(await readsAt(119_999), 1);
  server.answer = jsonAnswer(described(), { 'cache-control': 'no-store' });
  assert.equal(await readsAt(120_000), 2);
  assert.equal(await readsAt(179_999), 2);
  server.answer = jsonAnswer(described());
  assert.equal(await readsAt(180_000), 3);
  assert.equal(await readsAt(180_000 + 15 * 60_000 - 1), 3);
  assert.equal(await readsAt(180_000 + 15 * 60_000), 4);
});

test('requests for one document at the same time read it once', async () => {
  const some = documents();
  const release = held();
  const reading = Array.from({ length: 3 }, (_, number) => some.get(id, `198.51.100.${number}`));
  release();
  await Promise.all(reading);
  assert.equal(server.asked.length, 1);
});

test('a document that could not be read is not read again for 5 seconds', async () => {
  const some = documents();
  server.answer = (_, response) => response.writeHead(404).end();
  const failed = await Promise.allSettled([some.get(id, here), some.get(id, here)]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  server.answer = jsonAnswer(described());
  now = 4_999;
  await assert.rejects(some.get(id, here), /answered 404/);
  assert.equal(server.asked.length, 1);
  now = 5_000;
  await some.get(id, here);
  assert.equal(server.asked.length, 2);
});

/** A server that answers when the test says so. */
function held(): () => void {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  server.answer = (request, response) => {
    const document = described({ client_id: `https://localhost:${server.port}${request.url}` });
    void released.then(() => jsonAnswer(document)(request, response));
  };
  return release;
}

test('no more than 4 documents of a host are read at the same time, by all policies together', async () => {
  const owner = {};
  const [some, others] = [documents(undefined, undefined, owner), documents(undefined, undefined, owner)];
  const release = held();
  let most = 0;
  let open = 0;
  const { answer } = server;
  server.answer = (request, response) => {
    most = Math.max(most, ++open);
    response.once('finish', () => open--);
    answer(request, response);
  };
  const reading = Array.from({ length: 12 }, (_, number) =>
    (number % 2 === 0 ? some : others).get(`${id}?${number}`, here),
  );
  await until('four reads to wait for the server', () => open === 4);
  release();
  assert.equal((await Promise.all(reading)).length, 12);
  assert.equal(most, 4);
});

test('a new client of a host has its turn although strangers ask for many other documents of the host', async () => {
  const some = documents();
  const release = held();
  const strangers = Array.from({ length: 25 }, (_, number) => some.get(`${id}?${number}`, '203.0.113.7'));
  const settled = Promise.allSettled(strangers);
  await until('four reads to wait for the server', () => server.asked.length === 4);
  const client = some.get(id, here);
  release();
  assert.deepEqual((await client).redirectUris, redirectUris);
  const results = await settled;
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 5, '4 are read, 16 wait');
  assert.ok(server.asked.indexOf('/client.json') <= 4 + 4, server.asked.join());
});

test('a document that others wait for is read in the turn of each client', async () => {
  const some = documents();
  const release = held();
  const wait = (number: number): Promise<unknown> => some.get(`${id}?${number}`, '203.0.113.7');
  const others = Array.from({ length: 20 }, (_, number) => wait(number));
  const settled = Promise.allSettled(others);
  // The line of the stranger is full, and the document stands at its end.
  const client = some.get(`${id}?19`, here);
  await until('four reads to wait for the server', () => server.asked.length === 4);
  release();
  await client;
  await settled;
  const asked = server.asked.filter((path) => path.endsWith('?19'));
  assert.equal(asked.length, 1);
  assert.ok(server.asked.indexOf('/client.json?19') <= 4 + 4, server.asked.join());
});

test('policies share what they have read, if it may come from the same addresses', async () => {
  const owner = {};
  await documents(undefined, undefined, owner).get(id, here);
  await documents(['*'], undefined, owner).get(id, here);
  assert.equal(server.asked.length, 1);
  await assert.rejects(documents(undefined, [], owner).get(id, here), /does not fetch documents from/);
});

test('a document that was read stays for a day where its server does not answer, and not where it says no', async () => {
  const some = documents();
  await some.get(id, here);
  server.answer = (_, response) => response.destroy();
  now = 24 * 60 * 60_000 - 5_001;
  assert.deepEqual((await some.get(id, here)).redirectUris, redirectUris);
  server.answer = (_, response) => response.writeHead(404).end();
  now = 24 * 60 * 60_000 - 1;
  await assert.rejects(some.get(id, here), /answered 404/);
  server.answer = (_, response) => response.destroy();
  now = 24 * 60 * 60_000 + 5_000;
  await assert.rejects(some.get(id, here), /not reachable/);
});

test('documents that are used stay longer than those that strangers have read', async () => {
  const some = documents();
  await some.get(id, here);
  server.answer = (request, response) =>
    jsonAnswer(
      described({
        client_id: `https://localhost:${server.port}${request.url}`,
        redirect_uris: Array.from({ length: 32 }, (_, at) => `https://app.test/${at}/${'x'.repeat(400)}`),
      }),
    )(request, response);
  // Each takes some 13 000 characters of 4 million.
  for (let number = 0; number < 400; number++) {
    await some.get(`${id}?${number}`, here);
    if (number % 100 === 0) await some.get(id, here);
  }
  const asked = server.asked.length;
  await some.get(id, here);
  assert.equal(server.asked.length, asked);
  await some.get(`${id}?0`, here);
  assert.equal(server.asked.length, asked + 1);
});

test('a client proves itself with an assertion that its key has signed, once', async () => {
  server.answer = jsonAnswer(described(keyed));
  const some = documents();
  const client = await some.get(id, here);
  assert.equal(client.isPublic, false);
  const first = asserted();
  assert.equal(await judged(some, first), 'good');
  assert.match(await judged(some, first), /used before/);
  for (const [good, header] of [
    [{ aud: audiences[1] }, {}],
    [{ aud: [audiences[1]] }, { typ: 'JWT' }],
    [{ exp: 3_600 }, { typ: 'client-authentication+jwt' }],
    [{ iat: undefined }, { kid: undefined }],
  ] as const)
    assert.equal(await judged(some, asserted(good, header)), 'good', JSON.stringify([good, header]));
  now = 400_000;
  assert.match(await judged(some, first), /expired/);
  const other = makeKey('P-256', 'one');
  for (const [assertion, problem] of [
    [asserted({}, {}, other), /^signature/],
    [asserted({}, { kid: 'two' }), /^unknown_key kid: expected one, received two/],
    [asserted({}, { typ: 'at+jwt' }), /^type/],
    [asserted({}, { alg: 'none' }), /^algorithm/],
    [asserted({ iss: 'https://localhost/other' }), /^issuer/],
    [asserted({ sub: 'https://localhost/other' }), /sub: expected https/],
    [asserted({ sub: undefined }), /^missing_claim/],
    [asserted({ aud: 'https://other.test/token' }), /^audience/],
    [asserted({ aud: undefined }), /^missing_claim/],
    [asserted({ exp: undefined }), /^missing_claim/],
    [asserted({ exp: 339 }), /^expired/],
    [asserted({ exp: 400 + 3_661 }), /exp: expected at most 3600 s ahead/],
    [asserted({ jti: undefined }), /^missing_claim/],
    [asserted({ jti: '' }), /jti: expected a text/],
    [asserted({ jti: 'x'.repeat(257) }), /jti: expected a text/],
    [`${asserted()}x`, /^(?:malformed|signature)/],
    ['', /^malformed/],
  ] as const)
    assert.match(await judged(some, assertion), problem);
});

test('an RSA key of a client may have up to 4096 bits', async () => {
  server.answer = jsonAnswer(described({ ...keyed, jwks: { keys: [rsa(4_096), rsa(8_192)] } }));
  const source = (await documents().get(id, here)).keys?.source;
  assert.equal(typeof source === 'object' && source.size, 1);
});

test('a client with a key may be public, too, where its document says so', async () => {
  const both = { token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] };
  server.answer = jsonAnswer(described({ ...keyed, ...both }));
  const some = documents();
  assert.equal((await some.get(id, here)).isPublic, true);
  assert.equal(await judged(some, asserted()), 'good');
  server.answer = jsonAnswer(described());
  assert.match(await judged(documents(), asserted()), /has no keys/);
  for (const unusable of [{ jwks: {} }, { jwks: undefined, jwks_uri: 'https://evil.test/keys' }]) {
    server.answer = jsonAnswer(described({ ...keyed, ...both, ...unusable }));
    const client_ = documents();
    assert.deepEqual((await client_.get(id, here)).isPublic, true);
    assert.match(await judged(client_, asserted()), /has no keys/);
  }
});

test('the algorithm of a document is the only one of its assertions', async () => {
  server.answer = jsonAnswer(described({ ...keyed, token_endpoint_auth_signing_alg: 'ES384' }));
  assert.match(await judged(documents(), asserted()), /alg: expected ES384, received ES256/);
});

test('an assertion without kid is tried with few keys, and keys need no kid', async () => {
  const nameless = { ...key.jwk, kid: undefined };
  server.answer = jsonAnswer(described({ ...keyed, jwks: { keys: [nameless] } }));
  assert.equal(await judged(documents(), asserted({}, { kid: undefined })), 'good');
  assert.match(await judged(documents(), asserted()), /^unknown_key/);
  const two = [makeKey('P-256', 'old').jwk, key.jwk];
  server.answer = jsonAnswer(described({ ...keyed, jwks: { keys: two } }));
  assert.equal(await judged(documents(), asserted({}, { kid: undefined })), 'good');
  const many = Array.from({ length: 3 }, (_, at) => ({ ...key.jwk, kid: `key ${at}` }));
  server.answer = jsonAnswer(described({ ...keyed, jwks: { keys: many } }));
  assert.match(await judged(documents(), asserted({}, { kid: undefined })), /^no_key_id/);
  assert.equal(await judged(documents(), asserted({}, { kid: 'key 2' })), 'good');
  const same = Array.from({ length: 3 }, () => key.jwk);
  server.answer = jsonAnswer(described({ ...keyed, jwks: { keys: same } }));
  assert.match(await judged(documents(), asserted()), /^no_key_id/);
});

test('keys in a document that were replaced are read again, with kid and without', async () => {
  const some = documents();
  const next = makeKey('P-256', 'one');
  for (const [at, by] of [
    [0, key],
    [60_000, next],
    [120_000, key],
  ] as const) {
    now = at;
    server.answer = jsonAnswer(described({ ...keyed, jwks: { keys: [by.jwk] } }));
    assert.equal(await judged(some, asserted({}, at === 120_000 ? { kid: undefined } : {}, by)), 'good');
  }
  assert.equal(server.asked.length, 3);
  server.answer = (_, response) => response.writeHead(404).end();
  now = 180_000;
  for (let i = 0; i < 3; i++) assert.match(await judged(some, asserted({}, {}, next)), /^signature/);
  assert.equal(server.asked.length, 4, 'a failed read is not tried again at once');
  assert.equal(await judged(some, asserted()), 'good');
});

test('an assertion that expires while its keys are read is refused', async () => {
  const address = new URL('/keys', id).href;
  server.answer = (request, response) => {
    if (request.url === '/keys') now = 400_000;
    const document =
      request.url === '/keys'
        ? { keys: [key.jwk] }
        : described({ ...keyed, jwks: undefined, jwks_uri: address });
    jsonAnswer(document)(request, response);
  };
  assert.match(await judged(documents(), asserted()), /^expired/);
});

test('keys at an address stay fresh like documents, and an assertion of a new key has them read again', async () => {
  const address = new URL('/keys', id).href;
  let keys = [key.jwk];
  server.answer = (request, response) =>
    request.url === '/keys'
      ? jsonAnswer({ keys })(request, response)
      : jsonAnswer(described({ ...keyed, jwks: undefined, jwks_uri: address }))(request, response);
  const reads = (): number => server.asked.filter((path) => path === '/keys').length;
  const some = documents();
  for (let i = 0; i < 2; i++) assert.equal(await judged(some, asserted()), 'good');
  assert.equal(reads(), 1);
  const next = makeKey('P-256', 'next');
  keys = [next.jwk];
  assert.match(await judged(some, asserted({}, {}, next)), /^unknown_key/);
  assert.equal(reads(), 1, 'at most once a minute');
  now = 60_000;
  assert.equal(await judged(some, asserted({}, {}, next)), 'good');
  assert.match(await judged(some, asserted()), /^unknown_key/);
  assert.equal(reads(), 2);
  server.answer = (_, response) => response.destroy();
  now = 120_000;
  assert.equal(await judged(some, asserted({}, {}, next)), 'good');
});
