import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { TestPlane } from '../dataPlane.testing.ts';
import { field, fields, get, ok, post, RawBackend, status, type BackendScript } from '../wire.testing.ts';

/** The answer to the next requests; by default, `ok`. */
let script: BackendScript['onRequest'];
let backend: RawBackend;
let plane: TestPlane;

before(async () => {
  backend = await RawBackend.start({
    onRequest: (request, connection, index) => {
      if (script === undefined) connection.send(ok('hello'));
      else script(request, connection, index);
    },
  });
  plane = await TestPlane.start({ routes: [{ to: backend.port }] });
});

after(async () => {
  plane.close();
  await backend.close();
});

/**
 * Sends a request through the gateway. Returns the request that the backend saw, and the answer that the client
 * got.
 */
async function exchange(text: string, answer: string = ok('hello'), bodyless = false) {
  script = (_request, connection) => connection.send(answer);
  const reply = await plane.ask(text, bodyless);
  const seen = backend.requests.at(-1);
  assert.ok(seen !== undefined);
  return { seen, reply };
}

test('a request and its answer cross with their fields in order and in their spelling', async () => {
  const { seen, reply } = await exchange(
    get('/a/b?c=%41', 'X-One:  1', 'x-TWO: 2', 'X-One: 3', 'X-Latin: caf\xe9'),
    ok('hello', 'X-Answer: \xfc', 'Set-Cookie: a', 'Set-Cookie: b', 'Server: theirs'),
  );
  assert.equal(seen.start, 'GET /a/b?c=%41 HTTP/1.1');
  assert.deepEqual(seen.lines.slice(0, 5), [
    ['host', 'app.test'],
    ['X-One', '1'],
    ['x-TWO', '2'],
    ['X-One', '3'],
    ['X-Latin', 'caf\xe9'],
  ]);
  assert.equal(reply.start, 'HTTP/1.1 200 OK');
  assert.equal(reply.body.toString(), 'hello');
  assert.equal(field(reply, 'x-answer'), '\xfc');
  assert.deepEqual(fields(reply, 'set-cookie'), ['a', 'b']);
  assert.equal(field(reply, 'server'), 'theirs');
  assert.equal(field(reply, 'connection'), undefined);
});

test('both sides keep their connections, one after the other', async () => {
  script = undefined;
  const client = await plane.client();
  const before = backend.accepted;
  for (let i = 0; i < 10; i++) assert.equal((await client.ask(get(`/${i}`))).body.toString(), 'hello');
  assert.ok(backend.accepted - before <= 1);
  const posted = await client.ask(post('abc'));
  assert.equal(status(posted), 200);
  assert.equal(backend.requests.at(-1)?.body.toString(), 'abc');
  client.close();
});

test('20 pipelined requests are answered in their order, slow ones included', async () => {
  const waiting: (() => void)[] = [];
  script = (request, connection) => {
    const answer = (): void => connection.send(ok(request.start.split(' ')[1] ?? ''));
    // Every third answer comes late, so that order is no accident.
    if (backend.requests.length % 3 === 0) waiting.push(answer);
    else answer();
    setImmediate(() => waiting.shift()?.());
  };
  const client = await plane.client();
  client.send(Array.from({ length: 20 }, (_, i) => (i % 4 === 3 ? post(`body${i}`) : get(`/${i}`))).join(''));
  for (let i = 0; i < 20; i++) {
    const answer = await client.answer();
    assert.equal(answer.body.toString(), i % 4 === 3 ? '/post' : `/${i}`);
  }
  assert.equal(client.text, '');
  client.close();
});

test('pipelined requests cut at every byte are still the same requests', async () => {
  script = (request, connection) => connection.send(ok(`${request.start} ${request.body.toString()}`));
  const text = `\r\n${get('/1')}${post('ab')}\r\n\r\nPOST /2 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2;x\r\ncd\r\n0\r\n\r\n`;
  const client = await plane.client();
  for (const byte of text) {
    client.send(byte);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await client.answer()).body.toString(), 'GET /1 HTTP/1.1 ');
  assert.equal((await client.answer()).body.toString(), 'POST /post HTTP/1.1 ab');
  assert.equal((await client.answer()).body.toString(), 'POST /2 HTTP/1.1 cd');
  client.close();
});

test('chunked bodies cross in both directions with their trailers', async () => {
  const { seen, reply } = await exchange(
    'POST /c HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n' +
      '3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX-Sum: 1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-end\r\n\r\n5\r\nhello\r\n0\r\nX-End: 2\r\n\r\n',
  );
  assert.equal(seen.body.toString(), 'abcdefg');
  assert.equal(seen.trailers, 'X-Sum: 1');
  assert.equal(field(seen, 'trailer'), 'x-sum');
  assert.equal(field(seen, 'content-length'), undefined);
  assert.equal(reply.body.toString(), 'hello');
  assert.equal(reply.trailers, 'X-End: 2');
  assert.equal(field(reply, 'trailer'), 'x-end');
});

test('a trailer does not cross under a name that a policy sets or removes', async (t) => {
  const requestHeaderModifier = {
    set: { 'x-user': 'policy' },
    remove: ['x-role'],
    add: { 'x-tag': 'policy' },
  };
  const buffer = { request: { maxBytes: 1_000, failOpen: false } };
  const edited = await TestPlane.start({
    routes: [
      { to: backend.port, prefix: '/stream', policies: { requestHeaderModifier } },
      { to: backend.port, prefix: '/held', policies: { requestHeaderModifier, buffer } },
    ],
  });
  t.after(() => edited.close());
  script = undefined;
  for (const path of ['/stream', '/held']) {
    const send = (trailer: string) =>
      edited.ask(
        `POST ${path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n${trailer}: client\r\n\r\n`,
      );
    const before = backend.requests.length;
    for (const name of ['X-User', 'x-role']) assert.equal(status(await send(name)), 400, `${path} ${name}`);
    assert.equal(backend.requests.length, before);
    assert.equal(status(await send('x-tag')), 200);
    assert.equal(backend.requests.at(-1)?.trailers, 'x-tag: client');
  }
});

test('chunk extensions stop at the gateway in both directions, the rest of the framing crosses as it came', async () => {
  // The reader of this test takes no extension for one: it would keep what stands behind the size.
  const raw: string[] = [];
  script = (_request, connection) =>
    connection.send(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n005;ext="\xe9"\r\nhello\r\n0;last\r\nX-End: 2\r\n\r\n',
    );
  const watched = await RawBackend.start({
    onConnection: ({ socket }) => {
      socket.prependListener('data', (bytes: Buffer) => void raw.push(bytes.toString('latin1')));
    },
    onRequest: (request, connection, index) => script?.(request, connection, index),
  });
  const other = await TestPlane.start({ routes: [{ to: watched.port }] });
  try {
    const client = await other.client();
    client.socket.prependListener('data', (bytes: Buffer) => void raw.push(bytes.toString('latin1')));
    await client.ask(
      'POST /c HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3;a\r\nabc\r\n04;x="y"\r\ndefg\r\n0;e\r\nX-Sum: 1\r\n\r\n',
    );
    const text = raw.join('');
    assert.ok(text.includes('\r\n\r\n3\r\nabc\r\n04\r\ndefg\r\n0\r\nX-Sum: 1\r\n\r\n'), text);
    assert.ok(text.endsWith('\r\n\r\n005\r\nhello\r\n0\r\nX-End: 2\r\n\r\n'), text);
  } finally {
    other.close();
    await watched.close();
  }
});

test('an answer to HEAD has the fields of a body and none', async () => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n';
  const { reply } = await exchange('HEAD / HTTP/1.1\r\nhost: a\r\n\r\n', answer, true);
  assert.equal(field(reply, 'content-length'), '1234');
  script = (_request, connection) => connection.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
  const client = await plane.client();
  const head = await client.ask('HEAD / HTTP/1.1\r\nhost: a\r\n\r\n', true);
  assert.equal(field(head, 'transfer-encoding'), 'chunked');
  script = undefined;
  assert.equal((await client.ask(get())).body.toString(), 'hello');
  client.close();
});

test('204 and 304 have no body, and 204 no framing either', async () => {
  const client = await plane.client();
  script = (_request, connection) =>
    connection.send('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nX: y\r\n\r\n');
  const none = await client.ask(get());
  assert.equal(status(none), 204);
  assert.equal(field(none, 'content-length'), undefined);
  assert.equal(field(none, 'x'), 'y');
  script = (_request, connection) =>
    connection.send('HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\nETag: "a"\r\n\r\n');
  const same = await client.ask(get());
  assert.equal(status(same), 304);
  assert.equal(field(same, 'content-length'), '77');
  script = undefined;
  assert.equal((await client.ask(get())).body.toString(), 'hello');
  client.close();
});

test('interim answers reach an HTTP/1.1 client, and only that', async () => {
  const early =
    'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\n';
  script = (_request, connection) =>
    connection.send(`HTTP/1.1 100 Continue\r\n\r\n${early}HTTP/1.1 102 Processing\r\n\r\n${ok('done')}`);
  const client = await plane.client();
  const hints = await client.ask(get());
  assert.equal(hints.start, 'HTTP/1.1 103 Early Hints');
  assert.deepEqual(hints.lines, [['Link', '</a.css>']]);
  assert.equal(status(await client.answer()), 102);
  assert.equal((await client.answer()).body.toString(), 'done');
  client.close();
  const old = await plane.ask('GET / HTTP/1.0\r\nhost: a\r\n\r\n');
  assert.equal(status(old), 200);
});

test('a backend that only ever sends interim answers is given up', async () => {
  script = (_request, connection) => connection.send('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000));
  const client = await plane.client();
  client.send(get());
  let answer = await client.answer();
  let interim = 0;
  while (status(answer) === 103) {
    interim++;
    answer = await client.answer();
  }
  assert.equal(status(answer), 502);
  assert.ok(interim > 0 && interim <= 32);
  client.close();
});

test('fields of one connection stop at the gateway, in both directions', async () => {
  const hop = [
    'Connection: keep-alive, X-Private',
    'X-Private: secret',
    'Keep-Alive: timeout=9',
    'Proxy-Connection: keep-alive',
    'TE: trailers',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABk',
  ];
  const { seen, reply } = await exchange(
    get('/', ...hop, 'Proxy-Authorization: Basic x', 'X-Stays: 1'),
    ok('hello', ...hop, 'X-Stays: 2', 'Proxy-Authenticate: Basic'),
  );
  for (const name of [
    'connection',
    'x-private',
    'keep-alive',
    'proxy-connection',
    'te',
    'upgrade',
    'http2-settings',
  ]) {
    assert.equal(field(seen, name), undefined, `request ${name}`);
    assert.equal(field(reply, name), undefined, `answer ${name}`);
  }
  assert.equal(field(seen, 'proxy-authorization'), undefined);
  assert.equal(field(seen, 'x-stays'), '1');
  assert.equal(field(reply, 'x-stays'), '2');
  assert.equal(field(reply, 'proxy-authenticate'), 'Basic');
});

test('the backend gets the client address, the host and the scheme', async () => {
  const { seen } = await exchange(get('/'));
  assert.equal(field(seen, 'x-forwarded-for'), '127.0.0.1');
  assert.equal(field(seen, 'x-forwarded-proto'), 'http');
  assert.equal(field(seen, 'x-forwarded-host'), 'app.test');
  assert.match(field(seen, 'x-request-id') ?? '', /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
});

test('earlier proxies stay in X-Forwarded-For, the rest cannot be forged', async () => {
  const { seen } = await exchange(
    get(
      '/',
      'X-Forwarded-For: 10.0.0.1',
      'X-Forwarded-For: 10.0.0.2, 10.0.0.3',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: evil',
    ),
  );
  assert.equal(field(seen, 'x-forwarded-for'), '10.0.0.1, 10.0.0.2, 10.0.0.3, 127.0.0.1');
  assert.equal(field(seen, 'x-forwarded-proto'), 'http');
  assert.equal(field(seen, 'x-forwarded-host'), 'app.test');
});

test('a sane request id is kept, any other is replaced', async () => {
  for (const id of ['a', 'abc-123_x.y~z:/+=@', 'x'.repeat(128)]) {
    const { seen } = await exchange(get('/', `X-Request-Id: ${id}`));
    assert.equal(field(seen, 'x-request-id'), id);
    assert.equal(plane.access.at(-1)?.requestId, id);
  }
  for (const id of ['', 'a b', 'x'.repeat(129), 'a"b', 'caf\xe9', '<script>', 'a,b']) {
    const { seen } = await exchange(get('/', `X-Request-Id: ${id}`));
    assert.match(field(seen, 'x-request-id') ?? '', /^[0-9a-f-]{36}$/, id);
  }
  const { seen } = await exchange(get('/', 'X-Request-Id: a', 'X-Request-Id: b'));
  assert.match(field(seen, 'x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('answers say how long the backend took, who answered, and when', async () => {
  const { reply } = await exchange(get('/'), ok('hello', 'X-Envoy-Upstream-Service-Time: 99999'));
  assert.match(field(reply, 'x-envoy-upstream-service-time') ?? '', /^\d{1,4}$/);
  assert.equal(field(reply, 'server'), 'portcullis');
  assert.ok(Math.abs(Date.parse(field(reply, 'date') ?? '') - Date.now()) < 60_000);
  const dated = await exchange(get('/'), ok('x', 'Date: Sun, 06 Nov 1994 08:49:37 GMT', 'Server: theirs'));
  assert.equal(field(dated.reply, 'date'), 'Sun, 06 Nov 1994 08:49:37 GMT');
  assert.equal(field(dated.reply, 'server'), 'theirs');
});

test('every field the gateway adds can be switched off, and then the peer’s own passes', async () => {
  const off = await TestPlane.start({
    routes: [{ to: backend.port }],
    headers: {
      forwardedFor: false,
      forwardedProto: false,
      forwardedHost: false,
      requestId: false,
      upstreamServiceTime: false,
      server: false,
    },
  });
  const names = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-request-id'];
  script = undefined;
  const bare = await off.ask(get('/'));
  for (const name of names) assert.equal(field(backend.requests.at(-1) ?? bare, name), undefined, name);
  assert.equal(field(bare, 'x-envoy-upstream-service-time'), undefined);
  assert.equal(field(bare, 'server'), undefined);
  script = (_request, connection) => connection.send(ok('x', 'X-Envoy-Upstream-Service-Time: 7'));
  const own = await off.ask(get('/', ...names.map((name) => `${name}: mine`)));
  for (const name of names) assert.equal(field(backend.requests.at(-1) ?? own, name), 'mine', name);
  assert.equal(field(own, 'x-envoy-upstream-service-time'), '7');
  off.close();
});

test('policies have the last word over the fields the gateway adds', async () => {
  const edited = await TestPlane.start({
    routes: [
      {
        to: backend.port,
        policies: {
          requestHeaderModifier: {
            set: { 'X-Forwarded-Proto': 'https', 'x-request-id': 'fixed' },
            remove: ['x-forwarded-for'],
            add: { 'x-added': '1' },
          },
          responseHeaderModifier: {
            set: { server: 'hidden' },
            remove: ['x-envoy-upstream-service-time', 'x-secret'],
            add: {},
          },
        },
      },
    ],
  });
  script = (_request, connection) => connection.send(ok('x', 'X-Secret: 1', 'Server: theirs'));
  const reply = await edited.ask(get('/', 'X-Forwarded-For: 10.0.0.1', 'x-added: 0'));
  const seen = backend.requests.at(-1) ?? reply;
  assert.equal(field(seen, 'x-forwarded-proto'), 'https');
  assert.equal(field(seen, 'x-request-id'), 'fixed');
  assert.equal(field(seen, 'x-forwarded-for'), undefined);
  assert.deepEqual(fields(seen, 'x-added'), ['0', '1']);
  assert.equal(field(reply, 'server'), 'hidden');
  assert.equal(field(reply, 'x-secret'), undefined);
  assert.equal(field(reply, 'x-envoy-upstream-service-time'), undefined);
  edited.close();
});

test('the absolute form selects the route by its authority, and is forwarded in origin form', async () => {
  const { seen } = await exchange('GET http://Other.test:81/a?b HTTP/1.1\r\nhost: app.test\r\n\r\n');
  assert.equal(seen.start, 'GET /a?b HTTP/1.1');
  assert.equal(field(seen, 'host'), 'other.test:81');
  assert.equal(field(seen, 'x-forwarded-host'), 'other.test:81');
  assert.equal(status(await plane.ask('GET http://a/ HTTP/1.1\r\nhost: b, c\r\n\r\n')), 400);
});

test('paths are sent on as they were matched', async () => {
  const { seen } = await exchange(get('/a/%2e%2e/%62?x=%2e%2e'));
  assert.equal(seen.start, 'GET /b?x=%2e%2e HTTP/1.1');
});

test('OPTIONS * crosses as it is', async () => {
  const { seen } = await exchange('OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n');
  assert.equal(seen.start, 'OPTIONS * HTTP/1.1');
});

test('an HTTP/1.0 client gets one answer and the end, unless it asks to stay', async () => {
  script = undefined;
  const once = await plane.client();
  const answer = await once.ask('GET /a HTTP/1.0\r\nhost: a\r\n\r\n');
  assert.equal(answer.start, 'HTTP/1.1 200 OK');
  assert.equal(field(answer, 'connection'), 'close');
  assert.equal(await once.closed(), 'fin');
  assert.equal(backend.requests.at(-1)?.start, 'GET /a HTTP/1.1');
  const stays = await plane.client();
  for (let i = 0; i < 3; i++) {
    const kept = await stays.ask('GET / HTTP/1.0\r\nhost: a\r\nConnection: keep-alive\r\n\r\n');
    assert.equal(field(kept, 'connection'), 'keep-alive');
  }
  stays.close();
});

test('an HTTP/1.0 client gets chunked answers without their chunks', async () => {
  script = (_request, connection) => {
    connection.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-t\r\n\r\n3\r\nabc\r\n');
    setImmediate(() => connection.send('4;x\r\ndefg\r\n0\r\nX-T: 1\r\n\r\n'));
  };
  const client = await plane.client();
  const answer = await client.ask('GET / HTTP/1.0\r\nhost: a\r\nConnection: keep-alive\r\n\r\n');
  assert.equal(field(answer, 'transfer-encoding'), undefined);
  assert.equal(field(answer, 'connection'), 'close');
  assert.equal(answer.body.toString(), 'abcdefg');
  const head = await plane.ask('HEAD / HTTP/1.0\r\nhost: a\r\n\r\n', true);
  assert.equal(field(head, 'transfer-encoding'), undefined);
});

test('a request without Host goes to the backend under the backend’s name', async () => {
  const { seen } = await exchange('GET / HTTP/1.0\r\n\r\n');
  assert.equal(field(seen, 'host'), `127.0.0.1:${backend.port}`);
  assert.equal(field(seen, 'x-forwarded-host'), undefined);
});

test('an answer that ends with its connection becomes chunked, and the client stays', async () => {
  script = (_request, connection) => {
    connection.send('HTTP/1.1 200 OK\r\nX: y\r\n\r\nabc');
    setImmediate(() => connection.socket.end('def'));
  };
  const client = await plane.client();
  const answer = await client.ask(get());
  assert.equal(field(answer, 'transfer-encoding'), 'chunked');
  assert.equal(answer.body.toString(), 'abcdef');
  script = (_request, connection) => connection.socket.end('HTTP/1.0 200 OK\r\n\r\nold');
  const old = await client.ask(get());
  assert.equal(old.start, 'HTTP/1.1 200 OK');
  assert.equal(old.body.toString(), 'old');
  script = (_request, connection) => connection.socket.end('HTTP/1.1 200\r\n\r\n');
  const empty = await client.ask(get());
  assert.equal(empty.start, 'HTTP/1.1 200 OK');
  assert.equal(empty.body.length, 0);
  client.close();
});

test('an HTTP/1.0 client gets such an answer until the close', async () => {
  script = (_request, connection) => connection.socket.end('HTTP/1.0 200 OK\r\n\r\nold');
  const client = await plane.client();
  const answer = await client.ask('GET / HTTP/1.0\r\nhost: a\r\nConnection: keep-alive\r\n\r\n');
  assert.equal(answer.body.toString(), 'old');
  assert.equal(await client.closed(), 'fin');
});

test('a client that says close gets its answer and the end', async () => {
  script = undefined;
  const client = await plane.client();
  const answer = await client.ask(get('/', 'Connection: close'));
  assert.equal(field(answer, 'connection'), 'close');
  assert.equal(await client.closed(), 'fin');
});

test('requests without a matching route get an error', async () => {
  const hosts = await TestPlane.start({
    hostname: '*.example.com',
    routes: [
      { to: backend.port, prefix: '/a', hostnames: ['x.example.com'] },
      { name: 'none', prefix: '/none' },
    ],
  });
  const at = (host: string, path: string) => hosts.ask(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  script = undefined;
  assert.equal(status(await at('X.Example.com:1234', '/a/b')), 200);
  const noListener = await at('other.test', '/a');
  assert.equal(status(noListener), 404);
  assert.equal(noListener.body.toString(), 'listener not found\n');
  const noRoute = await at('x.example.com', '/b');
  assert.equal(status(noRoute), 404);
  assert.equal(noRoute.body.toString(), 'route not found\n');
  assert.equal(field(noRoute, 'content-type'), 'text/plain; charset=utf-8');
  assert.equal(field(noRoute, 'server'), 'portcullis');
  assert.equal(status(await at('y.example.com', '/a')), 404);
  const noBackend = await at('y.example.com', '/none');
  assert.equal(status(noBackend), 500);
  assert.equal(noBackend.body.toString(), 'no valid backends\n');
  assert.equal(hosts.access.at(-1)?.error, 'no_backend');
  hosts.close();
});

test('weighted backends share the requests, weight 0 gets none', async () => {
  const other = await RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('other')) });
  const unused = await RawBackend.start({
    onRequest: (_request, connection) => connection.send(ok('unused')),
  });
  const weighted = await TestPlane.start({
    routes: [
      {
        to: [
          { port: backend.port, weight: 1 },
          { port: other.port, weight: 3 },
          { port: unused.port, weight: 0 },
        ],
      },
    ],
  });
  script = undefined;
  const counts: Record<string, number> = {};
  const client = await weighted.client();
  for (let i = 0; i < 300; i++) {
    const body = (await client.ask(get())).body.toString();
    counts[body] = (counts[body] ?? 0) + 1;
  }
  // 75 expected; ten standard deviations are 75.
  assert.ok((counts['hello'] ?? 0) > 10 && (counts['hello'] ?? 0) < 150, JSON.stringify(counts));
  assert.equal(counts['unused'], undefined);
  weighted.close();
  await other.close();
  await unused.close();
});

test('the access log and the metrics record each request', async () => {
  script = undefined;
  const before = plane.access.length;
  await plane.ask(
    post(
      '12345',
      'X-Request-Id: log-me',
      'Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    ),
  );
  const line = plane.access[before];
  assert.equal(line?.method, 'POST');
  assert.equal(line.path, '/post');
  assert.equal(line.host, 'app.test');
  assert.equal(line.status, 200);
  assert.equal(line.requestBytes, 5);
  assert.ok(line.responseBytes > 5);
  assert.equal(line.requestId, 'log-me');
  assert.equal(line.route, 'route0');
  assert.equal(line.backend, `127.0.0.1:${backend.port}`);
  assert.ok((line.upstreamMs ?? -1) >= 0);
  assert.equal(line.error, undefined);
  const text = await plane.metricsText();
  assert.match(text, /portcullis_requests_total\{[^}]*route="route0",status="200"[^}]*\} [1-9]/);
  assert.match(text, /portcullis_upstream_connections\{/);
});
