import assert from 'node:assert/strict';
import { BlockList, isIP } from 'node:net';
import { test, type TestContext } from 'node:test';
import { closedAddresses, specialAddresses, type LookupAll } from '../http/index.ts';
import { guardedFetch } from './guardedFetch.ts';
import { createKeySets } from './keySets.ts';
import { memoryLog } from './log.testing.ts';
import { jsonAnswer, startLoopback, type Loopback } from './loopback.testing.ts';
import { until } from '../until.testing.ts';
import { makeKey } from './token.testing.ts';

const one = makeKey('P-256', 'one');
const keys = { keys: [one.jwk] };

async function server(t: TestContext, answer = jsonAnswer(keys)): Promise<Loopback> {
  const loopback = await startLoopback(answer);
  t.after(() => loopback.close());
  return loopback;
}

/** Every name leads to these. */
const leadsTo =
  (...addresses: string[]): LookupAll =>
  (_hostname, _options, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    );

test('an address of the machine, of its links or of a metadata service is closed, and one of a Service is not', () => {
  const closed = closedAddresses();
  const isClosed = (address: string): boolean => closed.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  for (const address of [
    ...[
      '127.0.0.1',
      '127.8.8.8',
      '0.0.0.0',
      '169.254.169.254',
      '169.254.1.1',
      '224.0.0.1',
      '255.255.255.255',
    ],
    ...['100.100.100.200', '168.63.129.16', '192.0.0.192'],
    ...['::', '::1', 'fe80::1', 'ff02::1', 'fd00:ec2::254', 'fd20:ce::254'],
    ...[
      '::127.0.0.1',
      '::a9fe:a9fe',
      '::ffff:127.0.0.1',
      '::ffff:a9fe:a9fe',
      '64:ff9b::a9fe:a9fe',
      '2002:7f00:1::',
    ],
  ])
    assert.ok(isClosed(address), address);
  for (const address of [
    '10.96.0.10',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '8.8.8.8',
    'fd12:3456::1',
    '2001:4860::1',
  ])
    assert.ok(!isClosed(address), address);
});

test('only public addresses are not special', () => {
  const special = specialAddresses();
  const isSpecial = (address: string): boolean =>
    special.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  for (const address of [
    ...[
      '127.0.0.1',
      '10.96.0.10',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '100.64.0.1',
      '169.254.1.1',
    ],
    ...['192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::ffff:10.0.0.1', 'fc00::1', 'fd12:3456::1', 'fe80::1', 'fec0::1', 'ff02::1'],
    ...['64:ff9b::a00:1', '100::1', '2001::1', '2001:db8::1', '2002:a00:1::', '3fff::1'],
  ])
    assert.ok(isSpecial(address), address);
  for (const address of ['8.8.8.8', '172.32.0.1', '192.169.0.1', '100.128.0.1', '2001:4860::1', '2600::1'])
    assert.ok(!isSpecial(address), address);
});

test('a closed address is asked where the operator has opened it', async (t) => {
  const { port, asked } = await server(t);
  const open = guardedFetch({ lookup: leadsTo('127.0.0.1'), isOpen: (address) => address === '127.0.0.1' });
  assert.equal((await open(`http://keys.ns.svc:${port}/`)).status, 200);
  await assert.rejects(
    guardedFetch({ lookup: leadsTo('127.0.0.2'), isOpen: (address) => address === '127.0.0.1' })(
      `http://keys.ns.svc:${port}/`,
    ),
    /does not fetch documents from 127.0.0.2/,
  );
  assert.equal(asked.length, 1);
});

test('a form is sent as a form, and its answer is as that of any fetch', async (t) => {
  const { port } = await server(t, (request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const { method, headers } = request;
      jsonAnswer({ method, body, type: headers['content-type'], length: headers['content-length'] })(
        request,
        response,
      );
    });
  });
  const fetch = guardedFetch({ lookup: leadsTo('127.0.0.1'), closed: new BlockList() });
  const url = `http://idp.ns.svc:${port}/token`;
  const body = new URLSearchParams({ a: '1', b: 'ä ' });
  const answer = await fetch(url, { method: 'POST', body });
  assert.deepEqual(await answer.json(), {
    method: 'POST',
    body: 'a=1&b=%C3%A4+',
    type: 'application/x-www-form-urlencoded;charset=UTF-8',
    length: '13',
  });
  await assert.rejects(fetch(url, { method: 'POST', body: Buffer.from('a') }), /only a text or a form/);
});

test('a name that leads to a closed address is not connected to, and neither is the address itself', async (t) => {
  const { port, asked } = await server(t);
  const refused = /does not fetch documents from/;
  for (const addresses of [['127.0.0.1'], ['10.0.0.1', '127.0.0.1'], ['::1'], ['::ffff:127.0.0.1']])
    await assert.rejects(
      guardedFetch({ lookup: leadsTo(...addresses) })(`http://keys.ns.svc:${port}/`),
      refused,
    );
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1'])
    await assert.rejects(guardedFetch()(`https://${host}:${port}/`), refused);
  for (const url of [
    `http://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://keys.svc.example.com:${port}/`,
  ])
    await assert.rejects(guardedFetch()(url), /only https/);
  assert.deepEqual(asked, []);
});

test('a Service is asked in plain text, and its answer is as that of any fetch', async (t) => {
  const { port, asked } = await server(t, jsonAnswer(keys, { 'cache-control': 'max-age=5' }));
  const fetch = guardedFetch({ lookup: leadsTo('127.0.0.1'), closed: new BlockList() });
  const response = await fetch(`http://keys.ns.svc:${port}/a`, { headers: { accept: 'application/json' } });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('cache-control'), 'max-age=5');
  assert.deepEqual(await response.json(), keys);
  assert.deepEqual(asked, ['/a']);
});

/** A key set of a policy that a tenant wrote; the names of Services lead here, and nothing is closed. */
function guarded(t: TestContext, source: Parameters<ReturnType<typeof createKeySets>['use']>[0]) {
  const keySets = createKeySets({
    log: memoryLog().log,
    pace: { firstRetryMs: 5, maxRetryMs: 20 },
    guardedFetch: guardedFetch({ lookup: leadsTo('127.0.0.1'), closed: new BlockList() }),
  });
  t.after(() => keySets.close());
  const { set } = keySets.use(source);
  return { set, problem: () => keySets.view()[0]?.problem ?? '' };
}

test('a guarded key set follows a redirect to the same server, and to no other one', async (t) => {
  const other = await server(t);
  const { port, asked } = await server(t, (request, response) => {
    if (request.url === '/keys') return jsonAnswer(keys)(request, response);
    const location = request.url === '/near' ? '/keys' : `http://keys.ns.svc:${other.port}/keys`;
    response.writeHead(302, { location }).end();
  });
  const at = (path: string) =>
    guarded(t, { kind: 'url', url: `http://keys.ns.svc:${port}${path}`, guarded: true });
  const near = at('/near');
  await until('the key set is ready', () => near.set.ready);
  const far = at('/far');
  await until('the redirect is refused', () => /redirected to another server/.test(far.problem()));
  assert.ok(asked.includes('/far'));
  assert.deepEqual(other.asked, []);
});

test('a guarded key set that the metadata of its issuer names is no way around', async (t) => {
  const inside = await server(t);
  const { port, asked } = await server(t, (request, response) =>
    jsonAnswer({ issuer: `http://idp.ns.svc:${port}`, jwks_uri: `https://127.0.0.1:${inside.port}/keys` })(
      request,
      response,
    ),
  );
  const keySets = createKeySets({
    log: memoryLog().log,
    pace: { firstRetryMs: 5, maxRetryMs: 20 },
    // Names lead here, as if it were not this machine.
    guardedFetch: async (input, init) => {
      const { hostname } = new URL(input as URL);
      const open = guardedFetch({ lookup: leadsTo('127.0.0.1'), closed: new BlockList() });
      return await (hostname === 'idp.ns.svc' ? open : guardedFetch())(input, init);
    },
  });
  t.after(() => keySets.close());
  const issuer = `http://idp.ns.svc:${port}`;
  keySets.use({ kind: 'discovered', issuer, openid: false, derived: `${issuer}/keys`, guarded: true });
  await until('the address is refused', () => /fetch documents from/.test(keySets.view()[0]?.problem ?? ''));
  assert.ok(asked.length > 0);
  assert.deepEqual(inside.asked, []);
});

test('an unguarded key set of the same address is another one, and is fetched as before', async (t) => {
  const { url, asked } = await server(t);
  const keySets = createKeySets({ log: memoryLog().log, pace: { firstRetryMs: 5, maxRetryMs: 20 } });
  t.after(() => keySets.close());
  const { set } = keySets.use({ kind: 'url', url: `${url}/keys` });
  keySets.use({ kind: 'url', url: `${url}/keys`, guarded: true });
  await until('the key set is ready', () => set.ready);
  await until('plain HTTP is refused', () =>
    keySets.view().some(({ problem }) => /only https/.test(problem ?? '')),
  );
  assert.deepEqual(asked, ['/keys']);
});
