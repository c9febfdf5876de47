import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { defaults } from '../../model/index.ts';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { field, get, ok, post, RawBackend, status, type BackendScript } from '../wire.testing.ts';

const planes: TestPlane[] = [];
const backends: RawBackend[] = [];
afterEach(async () => {
  for (const plane of planes.splice(0)) plane.close();
  await Promise.all(backends.splice(0).map((backend) => backend.close()));
});

async function stage(
  settings: object,
  script: BackendScript = { onRequest: (_r, connection) => connection.send(ok('yes')) },
  more: Record<string, unknown> = {},
) {
  const backend = await RawBackend.start(script);
  backends.push(backend);
  const plane = await TestPlane.start({
    routes: [{ to: backend.port, policies: { buffer: policySchemas.buffer.parse(settings), ...more } }],
  });
  planes.push(plane);
  return { backend, plane };
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const chunkedPost = 'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n';

test('the backend is not asked before the body of the request is whole', async () => {
  const { plane, backend } = await stage({ request: {} });
  const client = await plane.client();
  for (const [head, first, rest, body] of [
    ['POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\n', 'abc', 'def', 'abcdef'],
    [chunkedPost, chunk('abc'), `${chunk('defg')}0\r\n\r\n`, 'abcdefg'],
  ] as const) {
    const before = backend.accepted;
    client.send(head + first);
    // Another request, sent later, is through while the first one is gathered.
    await plane.ask(get('/'));
    assert.ok(backend.accepted - before <= 1);
    assert.equal(backend.requests.at(-1)?.start, 'GET / HTTP/1.1');
    client.send(rest);
    assert.equal((await client.answer()).body.toString(), 'yes');
    assert.equal(backend.requests.at(-1)?.body.toString(), body);
  }
});

test('a request without a body, or with an empty one, is not held', async () => {
  const { plane, backend } = await stage({ request: {}, response: {} });
  assert.equal((await plane.ask(get('/'))).body.toString(), 'yes');
  assert.equal((await plane.ask(post(''))).body.toString(), 'yes');
  assert.equal((await plane.ask(`${chunkedPost}0\r\n\r\n`)).body.toString(), 'yes');
  assert.equal(backend.requests.length, 3);
});

test('a larger request is refused with 413 and never reaches the backend', async () => {
  const { plane, backend } = await stage({ request: { maxBytes: 10 } });
  assert.equal(status(await plane.ask(post('x'.repeat(11)))), 413);
  assert.equal(status(await plane.ask(`${chunkedPost}${chunk('x'.repeat(11))}0\r\n\r\n`)), 413);
  assert.equal((await plane.ask(post('x'.repeat(10)))).body.toString(), 'yes');
  assert.equal(backend.requests.length, 1);
  assert.equal(backend.requests[0]?.body.length, 10);
});

test('chunks of one byte cannot make the gateway hold much more than the limit', async () => {
  const { plane, backend } = await stage({ request: { maxBytes: 100_000 } });
  const text = chunkedPost + '1\r\nx\r\n'.repeat(60_000);
  assert.equal(status(await plane.ask(`${text}0\r\n\r\n`)), 413);
  assert.equal(backend.accepted, 0);
});

test('with failOpen a larger request goes on as it comes', async () => {
  const { plane, backend } = await stage({ request: { maxBytes: 10, failureMode: 'failOpen' } });
  assert.equal((await plane.ask(post('x'.repeat(100_000)))).body.toString(), 'yes');
  assert.equal(backend.requests[0]?.body.length, 100_000);
  const client = await plane.client();
  client.send(chunkedPost + chunk('x'.repeat(11)));
  await backend.until('the backend is asked', () =>
    [...backend.connections].some(({ headSeen }) => headSeen),
  );
  client.send(`${chunk('y'.repeat(5))}0\r\n\r\n`);
  assert.equal((await client.answer()).body.toString(), 'yes');
  assert.equal(backend.requests[1]?.body.toString(), 'x'.repeat(11) + 'y'.repeat(5));
});

test('with failOpen a backend that takes the gathered body slowly has the time limit for each part', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: Date.now() });
  const size = 20_000_001;
  let began = 0;
  const { plane, backend } = await stage(
    { request: { maxBytes: size - 1_000_000, failureMode: 'failOpen' } },
    {
      onConnection: ({ socket }) => {
        began = Date.now();
        // Time passes with the bytes that the backend takes: 100 KB a second.
        socket.on('data', (bytes: Buffer) => t.mock.timers.tick(Math.ceil(bytes.length / 100)));
      },
      onRequest: (_request, connection) => connection.send(ok('yes')),
    },
  );
  const client = await plane.client();
  client.send(`${chunkedPost}${size.toString(16)}\r\n`);
  client.send(Buffer.alloc(size, 'x'));
  client.send('\r\n0\r\n\r\n');
  assert.equal(status(await client.answer()), 200);
  assert.equal(backend.requests[0]?.body.length, size);
  assert.ok(Date.now() - began > 2 * defaults.limits.bodyTimeoutMs, 'the body takes longer than a pause may');
});

const answers: Record<string, string> = {
  '/length': 'HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\nfirst',
  '/chunked': 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n',
  '/close': 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nfirst',
};

/** Sends the first part of an answer, the second when told to. */
function halves() {
  let finish = (): void => undefined;
  const script: BackendScript = {
    onRequest: (request, connection) => {
      const path = request.start.split(' ')[1] ?? '';
      connection.send(answers[path] ?? ok('yes'));
      if (!(path in answers)) return;
      finish = () => {
        connection.send(path === '/chunked' ? '7\r\n second\r\n0\r\n\r\n' : ' second');
        if (path === '/close') connection.socket.end();
      };
    },
  };
  return { script, finish: () => finish() };
}

test('the client gets nothing before the answer is whole, however it is framed', async () => {
  const { script, finish } = halves();
  const { plane, backend } = await stage({ response: {} }, script);
  for (const path of Object.keys(answers)) {
    const client = await plane.client();
    const before = backend.requests.length;
    client.send(get(path));
    await backend.until('the backend has answered in part', () => backend.requests.length > before);
    await plane.ask(get('/other'));
    assert.equal(client.inbox.length, 0);
    finish();
    const reply = await client.answer();
    assert.equal(reply.body.toString(), 'first second', path);
    client.close();
  }
});

test('a larger answer is refused with 502, and with failOpen it goes on', async () => {
  const big: BackendScript = {
    onRequest: (request, connection) => {
      const text = 'x'.repeat(200_000);
      if (request.start.includes('/chunked'))
        connection.send(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunk(text)}0\r\n\r\n`);
      else connection.send(ok(text));
    },
  };
  const closed = await stage({ response: { maxBytes: 100_000 } }, big);
  for (const path of ['/', '/chunked']) {
    const reply = await closed.plane.ask(get(path));
    assert.equal(status(reply), 502);
    assert.equal(closed.plane.access.at(-1)?.error, 'upstream_too_large');
  }
  const open = await stage({ response: { maxBytes: 100_000, failureMode: 'failOpen' } }, big);
  for (const path of ['/', '/chunked']) assert.equal((await open.plane.ask(get(path))).body.length, 200_000);
});

test('the limit of an answer is that of its payload, whether it comes in one read or in many', async () => {
  const sized: BackendScript = {
    onRequest: ({ start }, connection) => {
      const [, framing, length] = /\/(\w+)\/(\d+)/.exec(start) ?? [];
      const text = 'x'.repeat(Number(length));
      connection.send(
        framing === 'chunked'
          ? `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunk(text)}0\r\n\r\n`
          : ok(text),
      );
    },
  };
  for (const maxBytes of [10, 200_000]) {
    const { plane } = await stage({ response: { maxBytes } }, sized);
    for (const framing of ['chunked', 'length']) {
      assert.equal((await plane.ask(get(`/${framing}/${maxBytes}`))).body.length, maxBytes);
      assert.equal(status(await plane.ask(get(`/${framing}/${maxBytes + 1}`))), 502);
      assert.equal(plane.access.at(-1)?.error, 'upstream_too_large');
    }
  }
});

test('chunks of one byte of an answer cannot make the gateway hold much more than the limit', async () => {
  const chunks = chunk('x').repeat(60_000);
  const { plane } = await stage(
    { response: { maxBytes: 100_000 } },
    {
      onRequest: (_request, connection) =>
        connection.send(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`),
    },
  );
  assert.equal(status(await plane.ask(get('/'))), 502);
});

test('an answer that breaks off while it is gathered is an error and no half answer, and may be tried again', async () => {
  const broken: BackendScript = {
    onRequest: (_request, connection, index) => {
      if (index === 2) {
        connection.send(ok('whole'));
        return;
      }
      connection.send('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
      setImmediate(() => connection.reset());
    },
  };
  const alone = await stage({ response: {} }, broken);
  assert.equal(status(await alone.plane.ask(get('/'))), 503);
  const retry = policySchemas.retry.parse({ codes: [503], attempts: 3 });
  const again = await stage({ response: {} }, broken, { retry });
  assert.equal((await again.plane.ask(get('/'))).body.toString(), 'whole');
});

test('HEAD and answers without a body are not waited for', async () => {
  const { plane } = await stage(
    { response: {} },
    {
      onRequest: (request, connection) =>
        connection.send(
          request.start.startsWith('HEAD')
            ? 'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n'
            : 'HTTP/1.1 204 No Content\r\n\r\n',
        ),
    },
  );
  const head = await plane.ask('HEAD / HTTP/1.1\r\nhost: a\r\n\r\n', true);
  assert.equal(field(head, 'content-length'), '99');
  assert.equal(status(await plane.ask(get('/'))), 204);
});
