import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelInShort } from '../dataPlane.testing.ts';
import { field, get, ok, post, status, type BackendConnection, type BackendScript } from '../wire.testing.ts';
import { until } from '../../until.testing.ts';
import { echo, withPlane } from '../withPlane.testing.ts';

const wrong: readonly (readonly [text: string, code: number])[] = [
  ['GET / HTTP/1.1\nHost: a\n\n', 400],
  ['GET / HTTP/1.1\r\n\r\n', 400],
  ['GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 400],
  ['GET /../x HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
  ['CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', 501],
  [`GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 414],
  [`GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`, 431],
  [`GET / HTTP/1.1\r\nHost: a\r\n${'X: y\r\n'.repeat(100)}\r\n`, 431],
  ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
];

test('an invalid request gets its status, and the gateway reads nothing after it', async () => {
  await withPlane(echo, {}, async (plane, backend) => {
    for (const [text, code] of wrong) {
      const client = await plane.client();
      client.send(text + get('/smuggled'));
      const answer = await client.answer();
      assert.equal(status(answer), code, JSON.stringify(text.slice(0, 60)));
      assert.equal(field(answer, 'connection'), 'close');
      assert.equal(await client.closed(), 'fin');
      assert.equal(client.text, '');
      client.close();
    }
    assert.equal(backend.requests.length, 0);
    assert.equal(
      plane.access.every(({ method }) => method === '-'),
      true,
    );
    assert.match(await plane.metricsText(), /portcullis_errors_total\{code="bad_request"\} [1-9]/);
  });
});

test('after a bad chunk nothing on the connection is taken for a request any more', async () => {
  await withPlane(echo, {}, async (plane, backend) => {
    for (const early of [true, false]) {
      const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
      const client = await plane.client();
      if (early) client.send(`${head}zz\r\n`);
      else {
        client.send(`${head}1\r\na\r\n`);
        await backend.until('the body is under way', () => [...backend.connections].some((c) => c.headSeen));
        client.send('zz\r\n');
      }
      const answer = await client.answer();
      assert.equal(status(answer), 400);
      assert.equal(field(answer, 'connection'), 'close');
      client.send(get('/smuggled'));
      assert.equal(await client.closed(), 'fin');
      client.close();
    }
    await backend.until('the backend is let go', () => backend.connections.size === 0);
    assert.equal(backend.requests.length, 0);
    assert.equal(plane.access.length, 2);
  });
});

test('a head that comes too slowly is 408, and the connection closed', async () => {
  await withPlane(echo, { limits: { headTimeoutMs: 40 } }, async (plane, backend) => {
    const client = await plane.client();
    client.send('GET / HTTP/1.1\r\nHost: a\r\n');
    let sent = 0;
    const trickle = setInterval(() => client.send(`X-${sent++}: y\r\n`), 5);
    const answer = await client.answer();
    clearInterval(trickle);
    assert.equal(status(answer), 408);
    assert.equal(await client.closed(), 'fin');
    assert.equal(backend.accepted, 0);
    assert.equal(plane.access[0]?.error, 'request_timeout');
    client.close();
  });
});

test('a body that stalls is 408, and the backend let go', async () => {
  await withPlane(echo, { limits: { bodyTimeoutMs: 40 } }, async (plane, backend) => {
    const client = await plane.client();
    client.send(post('hello').slice(0, -2));
    const answer = await client.answer();
    assert.equal(status(answer), 408);
    assert.equal(field(answer, 'connection'), 'close');
    assert.equal(await client.closed(), 'fin');
    await backend.until('the backend is let go', () => backend.connections.size === 0);
    assert.equal(plane.access[0]?.reason, 'body');
    client.close();
  });
});

test('a slow body that keeps coming is waited for', async () => {
  await withPlane(echo, { limits: { bodyTimeoutMs: 1_000 } }, async (plane) => {
    const client = await plane.client();
    client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 14\r\n\r\n`);
    let left = 14;
    const trickle = setInterval(() => {
      client.send('x');
      if (--left === 0) clearInterval(trickle);
    }, 100);
    // Longer than the time limit, which counts from piece to piece.
    assert.equal((await client.answer()).body.length, 14);
    client.close();
  });
});

test('a connection without a request is closed after its idle time', async () => {
  await withPlane(echo, { limits: { idleTimeoutMs: 1_000 } }, async (plane) => {
    const never = await plane.client();
    const once = await plane.client();
    assert.equal(status(await once.ask(get())), 200);
    assert.equal(await never.closed(), 'fin');
    assert.equal(await once.closed(), 'fin');
    assert.equal(never.text, '');
    for (const client of [never, once]) client.close();
  });
});

test('a connection that never begins a request is closed without an answer long before its idle time', async () => {
  await withPlane(
    echo,
    { limits: { firstRequestTimeoutMs: 40, idleTimeoutMs: 3_600_000 } },
    async (plane) => {
      const served = await plane.client();
      assert.equal(status(await served.ask(get())), 200);
      const silent = await plane.client();
      const empty = await plane.client();
      empty.send('\r\n');
      for (const client of [silent, empty]) {
        assert.equal(await client.closed(), 'fin');
        assert.equal(client.text, '');
      }
      assert.equal(status(await served.ask(get())), 200, 'one that has asked keeps its idle time');
      assert.match(await plane.metricsText(), /connections_ended_total\{reason="silent"\} 2/);
      for (const client of [served, silent, empty]) client.close();
    },
  );
});

test('empty lines do not count as a request that has begun', async () => {
  await withPlane(echo, { limits: { idleTimeoutMs: 40 } }, async (plane) => {
    const client = await plane.client();
    client.send('\r\n\r\n');
    assert.equal(await client.closed(), 'fin');
    assert.equal(client.text, '');
    client.close();
  });
});

test('a connection too many is told to come back, the others go on', async () => {
  await withPlane(echo, { limits: { maxConnections: 2 } }, async (plane) => {
    const first = await plane.client(undefined, '127.0.0.2');
    const second = await plane.client(undefined, '127.0.0.3');
    assert.equal(status(await first.ask(get())), 200);
    assert.equal(status(await second.ask(get())), 200);
    const third = await plane.client();
    const answer = await third.answer();
    assert.equal(status(answer), 503);
    assert.equal(field(answer, 'retry-after'), '1');
    assert.equal(await third.closed(), 'fin');
    first.close();
    await until('there is room again', () => plane.connections === 1);
    const fourth = await plane.client();
    assert.equal(status(await fourth.ask(get())), 200);
    assert.match(await plane.metricsText(), /portcullis_downstream_connections_refused_total 1\b/);
    const warning = plane.log.find(({ message }) => message.includes('limits.maxConnections'));
    assert.equal(warning?.fields?.['client'], '127.0.0.1', 'the refusal names its limit and the client');
    for (const client of [second, fourth]) client.close();
  });
});

test('a client that leaves within its request takes its backend connection along', async () => {
  await withPlane(echo, {}, async (plane, backend) => {
    for (const leave of ['close', 'reset'] as const) {
      const client = await plane.client();
      client.send(post('hello').slice(0, -2));
      await backend.until('the request is under way', () => [...backend.connections].some((c) => c.headSeen));
      client[leave]();
      await backend.until('the backend is let go', () => backend.connections.size === 0);
    }
    await until('both are logged', () => plane.access.length === 2);
    assert.deepEqual(
      plane.access.map(({ status: code }) => code),
      [0, 0],
    );
    assert.equal(backend.requests.length, 0);
  });
});

test('a client that leaves while it waits takes its backend connection along, also with more in the pipeline', async () => {
  await withPlane({}, {}, async (plane, backend) => {
    for (const text of [get(), post('hello'), get() + get('/next')]) {
      const client = await plane.client();
      const before = backend.requests.length;
      client.send(text);
      await backend.until('the request is there', () => backend.requests.length === before + 1);
      client.close();
      await backend.until('the backend is let go', () => backend.connections.size === 0);
    }
    assert.equal(plane.upstreamConnections, 0);
  });
});

test('a client that leaves within its answer takes its backend connection along', async () => {
  const script: BackendScript = {
    onRequest: (_request, connection) =>
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello'),
  };
  await withPlane(script, {}, async (plane, backend) => {
    const client = await plane.client();
    client.send(get());
    await client.find('the first part', () => (client.text.includes('hello') ? true : undefined));
    client.close();
    await backend.until('the backend is let go', () => backend.connections.size === 0);
    await until('it is logged', () => plane.access.length === 1);
    assert.equal(plane.access[0]?.status, 200);
  });
});

test('a client that sends request after request and reads no answer is not answered without end', async () => {
  let answered = 0;
  const body = 'x'.repeat(10_000);
  const script: BackendScript = {
    onRequest: (_request, connection) => {
      answered++;
      connection.send(ok(body));
    },
  };
  await withPlane(script, { limits: { bodyTimeoutMs: 400 } }, async (plane) => {
    const client = await plane.client();
    client.socket.pause();
    const requests = get().repeat(20_000);
    client.send(requests);
    // 200 MB of answers would be waiting; the kernel's buffers take a few.
    await until('it is given up', () => plane.connections === 0);
    assert.ok(answered < 3_000, `${answered} were answered`);
    client.close();
  });
});

test('a client that sends requests faster than they are answered is not read ahead without end', async () => {
  let most = 600;
  const script: BackendScript = {
    onRequest: (_request, connection, index) => {
      if (index < most) connection.send(ok(''));
    },
  };
  await withPlane(script, {}, async (plane, backend) => {
    const client = await plane.client();
    const piece = Buffer.from(get().repeat(1_500));
    const all = 1_000 * piece.length;
    for (let i = 0; i < 1_000; i++) client.send(piece);
    await backend.until('the last one waits', () => backend.requests.length === most + 1);
    const taken = (): number => all - client.socket.writableLength;
    let before = -1;
    await until('nothing more is taken', () => {
      const waits = taken() === before;
      before = taken();
      return waits;
    });
    // A read for each answer would be 40 MB; the bytes that were taken are in the kernel's buffers.
    assert.ok(taken() < 24_000_000, `${taken()} bytes of requests were taken`);
    client.close();
    // With so much ahead of it the end of the connection is seen only when the gateway goes on.
    most = Infinity;
    for (const connection of backend.connections) connection.send(ok(''));
  });
});

test('a pipeline of 100 kB is answered to its end, white space between the requests included', async () => {
  await withPlane(echo, {}, async (plane) => {
    const client = await plane.client();
    const requests = [
      get().repeat(2_000),
      '\r\n'.repeat(50_000),
      get().repeat(2_000),
      '\r\n'.repeat(50_000),
      get(),
    ];
    client.send(requests.join(''));
    for (let i = 0; i < 4_001; i++) assert.equal(status(await client.answer()), 200);
    client.close();
  });
});

test('once such a client reads, it gets every answer', async () => {
  const script: BackendScript = {
    onRequest: (request, connection) => connection.send(ok(`${request.start}${'x'.repeat(10_000)}`)),
  };
  await withPlane(script, {}, async (plane, backend) => {
    const client = await plane.client();
    client.socket.pause();
    client.send(Array.from({ length: 2_000 }, (_, i) => get(`/${i}`)).join(''));
    let before = -1;
    await until('the gateway waits for the client', () => {
      const waits = backend.requests.length > 0 && backend.requests.length === before;
      before = backend.requests.length;
      return waits;
    });
    assert.ok(backend.requests.length < 2_000);
    client.socket.resume();
    for (let i = 0; i < 2_000; i++)
      assert.equal((await client.answer()).body.toString('latin1', 0, 20).split(' ')[1], `/${i}`);
    client.close();
  });
});

const big = Buffer.alloc(20_000_000, 'x');

test('an answer that is complete still reaches a client that closes its side early', async () => {
  let answers = 0;
  const routes: ModelInShort['routes'] = [
    {
      handler: (_request, reply) => {
        reply.send({ status: 200, body: big });
        answers++;
      },
    },
  ];
  await withPlane({}, { routes }, async (plane) => {
    for (const line of ['Connection: close', 'X: keep-alive']) {
      const client = await plane.client();
      client.socket.pause();
      client.send(get('/', line));
      const before = answers;
      await until('the answer is there', () => answers > before);
      client.socket.end();
      client.socket.resume();
      assert.equal((await client.answer()).body.length, big.length);
      assert.equal(await client.closed(), 'fin');
      client.close();
    }
  });
});

test('a client that does not read is given up in the end, by a reset where it could not tell', async () => {
  const routes: ModelInShort['routes'] = [
    { prefix: '/whole', handler: (_request, reply) => reply.send({ status: 200, body: big }) },
    {
      prefix: '/stream',
      handler: (_request, reply) => {
        const stream = reply.open(200, []);
        stream.write(big);
        stream.end();
      },
    },
  ];
  await withPlane({}, { routes, limits: { bodyTimeoutMs: 400 } }, async (plane) => {
    for (const [text, ending] of [
      [get('/whole'), undefined],
      [get('/whole', 'Connection: close'), undefined],
      [get('/stream'), undefined],
      ['GET /stream HTTP/1.0\r\nhost: a\r\n\r\n', 'reset'],
    ] as const) {
      const client = await plane.client();
      client.socket.pause();
      client.send(text);
      await until('the request is there', () => plane.connections === 1);
      await until('it is given up', () => plane.connections === 0);
      client.socket.resume();
      const seen = await client.closed();
      assert.equal(seen, ending ?? seen, text);
      assert.ok(client.inbox.length < big.length);
      client.close();
    }
  });
});

test('a body over the limit is 413: at once where the length says so, else when it is reached', async () => {
  await withPlane(echo, { limits: { maxBodyBytes: 10 } }, async (plane, backend) => {
    assert.equal(status(await plane.ask(post('x'.repeat(10)))), 200);
    const told = await plane.client();
    assert.equal(status(await told.ask(post('x'.repeat(11)))), 413);
    // The whole body was read, so the connection lives.
    assert.equal(status(await told.ask(post('abc'))), 200);
    const chunks =
      'POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n';
    assert.equal(status(await plane.ask(`${chunks}0\r\n\r\n`)), 200);
    const untold = await plane.client();
    assert.equal(status(await untold.ask(`${chunks}1\r\n!\r\n0\r\n\r\n`)), 413);
    assert.equal(await untold.closed(), 'fin');
    for (const client of [told, untold]) client.close();
    assert.equal(backend.requests.length, 3);
  });
});

test('a backend that stops taking a body is given up with 504', async () => {
  let deaf: BackendConnection | undefined;
  const script: BackendScript = {
    onConnection: (connection) => {
      deaf = connection;
      connection.socket.pause();
    },
  };
  await withPlane(script, { limits: { bodyTimeoutMs: 1_000 } }, async (plane) => {
    const client = await plane.client();
    const big = Buffer.alloc(30_000_000, 'x');
    client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${big.length}\r\n\r\n`);
    client.send(big);
    const answer = await client.answer();
    assert.equal(status(answer), 504);
    assert.equal(field(answer, 'connection'), 'close');
    client.close();
    await until('the backend is let go', () => plane.upstreamConnections === 0);
    deaf?.close();
  });
});

test('a client that reads too little of its answer is reset, so that the system keeps nothing for it', async () => {
  const large: BackendScript = {
    onRequest: (_request, connection) => connection.send(ok('a'.repeat(20_000_000))),
  };
  await withPlane(large, { limits: { bodyTimeoutMs: 100 } }, async (plane) => {
    const client = await plane.client();
    client.socket.pause();
    client.send(get());
    await until('it is given up', () => plane.access.length === 1);
    assert.equal(plane.access[0]?.reason, 'the answer was not read');
    client.socket.resume();
    assert.equal(await client.closed(), 'reset');
  });
});
