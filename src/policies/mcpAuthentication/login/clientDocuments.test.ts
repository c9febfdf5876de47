import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { jsonAnswer, startLoopback, type Loopback } from '../../../auth/loopback.testing.ts';
import { authority } from '../../../proxy/certificates.testing.ts';
import { ClientDocuments } from './clientDocuments.ts';

let server: Loopback;
let id = '';
const redirectUris = ['https://app.test/back'];
const described = (more: object = {}): object => ({ client_id: id, redirect_uris: redirectUris, ...more });
let now = 0;

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
  assert.deepEqual(await documents().get(id), { name: host, redirectUris, host });
  server.answer = jsonAnswer(
    described({
      client_name: 'Editor',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      logo_uri: 'https://app.test/logo.png',
    }),
  );
  assert.equal((await documents().get(id)).name, 'Editor');
});

test('a document that describes another client, or one that the gateway cannot serve, is refused', async () => {
  for (const [document, problem] of [
    [described({ client_id: `${id}?` }), /client_id: the document describes another client/],
    [described({ client_id: undefined }), /client_id/],
    [described({ client_secret: 's' }), /client_secret: a document cannot hold a secret/],
    [described({ token_endpoint_auth_method: 'private_key_jwt' }), /token_endpoint_auth_method/],
    [described({ token_endpoint_auth_method: 'client_secret_basic' }), /token_endpoint_auth_method/],
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
    await assert.rejects(documents().get(id), problem);
  }
  server.answer = (_, response) => response.writeHead(404).end();
  await assert.rejects(documents().get(id), /answered 404/);
  server.answer = (_, response) => response.writeHead(302, { location: '/other.json' }).end();
  await assert.rejects(documents().get(id), /too many redirects/);
  assert.equal(server.asked.includes('/other.json'), false, 'the gateway follows no redirect');
});

test('a document at an address that is not public is read only in a network that the operator has named', async () => {
  for (const networks of [[], ['10.0.0.0/8']])
    await assert.rejects(documents(['*'], networks).get(id), /does not fetch documents from/);
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '10.0.0.1', '[fd12:3456::1]'])
    await assert.rejects(
      documents(['*'], []).get(`https://${host}:${server.port}/client.json`),
      /does not fetch documents from/,
    );
  assert.deepEqual(server.asked, []);
});

test('a tenant of a cluster opens no address of the machine', async () => {
  const some = new ClientDocuments(
    { hosts: ['*'], networks: ['0.0.0.0/0', '::/0'] },
    { now: () => now, guarded: true, owner: {} },
  );
  await assert.rejects(some.get(id), /does not fetch documents from/);
  await assert.rejects(
    some.get('https://169.254.169.254/client.json'),
    /does not fetch documents from 169.254.169.254/,
  );
  assert.deepEqual(server.asked, []);
});

test('a document stays for as long as its server says, and at least for a minute', async () => {
  const some = documents();
  const readsAt = async (time: number): Promise<number> => {
    now = time;
    await some.get(id);
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

test('requests for one document at the same time read it once, and a failure is not remembered', async () => {
  const some = documents();
  server.answer = (_, response) => response.writeHead(503).end();
  const failed = await Promise.allSettled([some.get(id), some.get(id)]);
  assert.deepEqual(
    failed.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(server.asked.length, 1);
  server.answer = jsonAnswer(described());
  await Promise.all([some.get(id), some.get(id)]);
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
  const reading = Array.from({ length: 4 }, (_, number) =>
    (number < 2 ? some : others).get(`${id}?${number}`),
  );
  await assert.rejects(some.get(`${id}?4`), /too many documents/);
  release();
  assert.equal((await Promise.all(reading)).length, 4);
  await some.get(`${id}?4`);
});

test('policies share what they have read, if it may come from the same addresses', async () => {
  const owner = {};
  await documents(undefined, undefined, owner).get(id);
  await documents(['*'], undefined, owner).get(id);
  assert.equal(server.asked.length, 1);
  await assert.rejects(documents(undefined, [], owner).get(id), /does not fetch documents from/);
});

test('a document that was read stays for a day where its server does not answer, and not where it says no', async () => {
  const some = documents();
  await some.get(id);
  server.answer = (_, response) => response.destroy();
  now = 24 * 60 * 60_000 - 1;
  assert.deepEqual((await some.get(id)).redirectUris, redirectUris);
  server.answer = (_, response) => response.writeHead(404).end();
  await assert.rejects(some.get(id), /answered 404/);
  server.answer = (_, response) => response.destroy();
  now = 24 * 60 * 60_000;
  await assert.rejects(some.get(id), /not reachable/);
});

test('documents that are used stay longer than those that strangers have read', async () => {
  const some = documents();
  await some.get(id);
  server.answer = (request, response) =>
    jsonAnswer(
      described({
        client_id: `https://localhost:${server.port}${request.url}`,
        redirect_uris: Array.from({ length: 32 }, (_, at) => `https://app.test/${at}/${'x'.repeat(400)}`),
      }),
    )(request, response);
  // Each takes some 13 000 characters of 4 million.
  for (let number = 0; number < 400; number++) {
    await some.get(`${id}?${number}`);
    if (number % 100 === 0) await some.get(id);
  }
  const asked = server.asked.length;
  await some.get(id);
  assert.equal(server.asked.length, asked);
  await some.get(`${id}?0`);
  assert.equal(server.asked.length, asked + 1);
});
