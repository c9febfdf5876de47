import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { TestPlane } from '../dataPlane.testing.ts';
import {
  field,
  get,
  ok,
  post,
  RawBackend,
  status,
  type BackendConnection,
  type BackendScript,
  type Message,
} from '../wire.testing.ts';

/** Runs `body` with a backend that follows `script`, and checks that nothing is left behind. */
async function withBackend(
  script: BackendScript,
  body: (plane: TestPlane, backend: RawBackend) => Promise<void>,
): Promise<void> {
  const backend = await RawBackend.start(script);
  const plane = await TestPlane.start({ routes: [{ to: backend.port }] });
  try {
    await body(plane, backend);
  } finally {
    plane.close();
    await backend.close();
  }
  assert.equal(plane.upstreamConnections, 0);
  assert.deepEqual(
    plane.log.filter(({ level }) => level === 'error'),
    [],
  );
}

test('a backend that refuses the connection is 503, and the client may try again', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const plane = await TestPlane.start({ routes: [{ to: port }] });
  const client = await plane.client();
  for (let i = 0; i < 2; i++) {
    const answer = await client.ask(i === 0 ? get() : post('abc'));
    assert.equal(status(answer), 503);
    assert.equal(answer.body.toString(), 'upstream connect failed\n');
    assert.equal(field(answer, 'retry-after'), '1');
  }
  const [line] = plane.access;
  assert.equal(line?.error, 'upstream_connect_failed');
  assert.match(line.reason ?? '', /ECONNREFUSED/);
  plane.close();
});

test('a backend that hangs up before it answers is 503', async () => {
  await withBackend({ onRequest: (_request, connection) => connection.close() }, async (plane) => {
    const answer = await plane.ask(get());
    assert.equal(status(answer), 503);
    assert.equal(answer.body.toString(), 'upstream connection closed\n');
    assert.equal(plane.access[0]?.error, 'upstream_reset');
  });
});

test('a backend that resets before it answers is 503', async () => {
  await withBackend({ onRequest: (_request, connection) => connection.reset() }, async (plane) => {
    assert.equal(status(await plane.ask(get())), 503);
  });
});

test('a backend that hangs up within its head is 503', async () => {
  await withBackend(
    { onRequest: (_request, connection) => connection.socket.end('HTTP/1.1 200 OK\r\nContent-Le') },
    async (plane) => {
      assert.equal(status(await plane.ask(get())), 503);
    },
  );
});

const cuts: readonly (readonly [name: string, answer: string, end: (c: BackendConnection) => void])[] = [
  ['length, end', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello', (c) => c.close()],
  ['length, reset', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello', (c) => c.reset()],
  ['chunked, end', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n', (c) => c.close()],
  ['within a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello', (c) => c.close()],
  [
    'before the last CRLF',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n',
    (c) => c.close(),
  ],
  [
    'bad chunk',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
    (c) => c.send('xyz\r\n'),
  ],
  ['until close, reset', 'HTTP/1.1 200 OK\r\n\r\nhello', (c) => c.reset()],
];

for (const [name, answer, end] of cuts) {
  test(`an answer cut short looks cut short to the client: ${name}`, async () => {
    let backendSide: BackendConnection | undefined;
    await withBackend(
      {
        onRequest: (_request, connection) => {
          backendSide = connection;
          connection.send(answer);
        },
      },
      async (plane) => {
        const client = await plane.client();
        client.send(get());
        await client.find('the first part', () => (client.text.includes('hello') ? true : undefined));
        assert.ok(backendSide !== undefined);
        end(backendSide);
        const ending = await client.closed();
        // With these framings an end of the connection cannot be taken for the end of the body.
        assert.ok(ending === 'fin' || ending === 'reset');
        await assert.rejects(client.answer(), /ended/);
        assert.match(plane.access[0]?.error ?? '', /^upstream_(?:reset|protocol)$/);
      },
    );
  });

  test(`an HTTP/1.0 client, which knows only the end, gets a reset instead: ${name}`, async () => {
    let backendSide: BackendConnection | undefined;
    await withBackend(
      {
        onRequest: (_request, connection) => {
          backendSide = connection;
          connection.send(answer);
        },
      },
      async (plane) => {
        const client = await plane.client();
        client.send('GET / HTTP/1.0\r\nhost: a\r\n\r\n');
        await client.find('the first part', () => (client.text.includes('hello') ? true : undefined));
        assert.ok(backendSide !== undefined);
        end(backendSide);
        const ending = await client.closed();
        const lengthKnown = answer.includes('Content-Length');
        assert.equal(ending, lengthKnown ? ending : 'reset');
      },
    );
  });
}

const garbage: readonly string[] = [
  'SSH-2.0-OpenSSH_9.6\r\n',
  'no',
  'HTTP/1.1 OK\r\n\r\n',
  'HTTP/2.0 200 OK\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nX : y\r\n\r\n',
  'HTTP/1.1 200 OK\nContent-Length: 0\n\n',
  'HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(300)}\r\n`,
  `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
];

test('an invalid response of a backend becomes 502 and never reaches the client', async () => {
  let answer = '';
  await withBackend(
    { onRequest: (_request, connection) => connection.send(answer) },
    async (plane, backend) => {
      for (answer of garbage) {
        const reply = await plane.ask(get());
        assert.equal(status(reply), 502, JSON.stringify(answer.slice(0, 60)));
        assert.equal(reply.body.toString(), 'upstream protocol error\n');
        assert.equal(plane.access.at(-1)?.error, 'upstream_protocol');
      }
      // None of these connections is used again.
      await backend.until('all are closed', () => backend.connections.size === 0);
    },
  );
});

test('bytes behind an answer never reach another client, in the same packet or later', async () => {
  const smuggled = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen';
  let together = true;
  let last: BackendConnection | undefined;
  await withBackend(
    {
      onRequest: (_request, connection) => {
        last = connection;
        connection.send(together ? ok('mine') + smuggled : ok('mine'));
      },
    },
    async (plane, backend) => {
      for (const answer of [
        (await plane.ask(get())).body.toString(),
        (await plane.ask(get())).body.toString(),
      ])
        assert.equal(answer, 'mine');
      assert.equal(backend.accepted, 2);
      together = false;
      assert.equal((await plane.ask(get())).body.toString(), 'mine');
      // The connection is idle now; what it says closes it.
      last?.send(smuggled);
      await backend.until('it is closed', () => backend.connections.size === 0);
      assert.equal((await plane.ask(get())).body.toString(), 'mine');
      assert.equal(backend.accepted, 4);
    },
  );
});

test('bytes behind a bodyless answer do not count as a body', async () => {
  await withBackend(
    { onRequest: (_request, connection) => connection.send('HTTP/1.1 204 No Content\r\n\r\nextra') },
    async (plane, backend) => {
      const client = await plane.client();
      assert.equal(status(await client.ask(get())), 204);
      assert.equal(status(await client.ask(get())), 204);
      assert.equal(backend.accepted, 2);
      assert.equal(client.text, '');
    },
  );
});

/** Leaves one idle connection in the pool that will be closed as soon as it is used again. */
function stale(): { script: BackendScript; seen: Message[] } {
  const seen: Message[] = [];
  const used = new Set<BackendConnection>();
  return {
    seen,
    script: {
      onRequest: (request, connection) => {
        if (used.has(connection)) {
          connection.close();
          return;
        }
        used.add(connection);
        seen.push(request);
        connection.send(ok('fresh'));
      },
    },
  };
}

test('a kept connection that dies unanswered is replaced for a GET', async () => {
  const { script, seen } = stale();
  await withBackend(script, async (plane, backend) => {
    const client = await plane.client();
    assert.equal(status(await client.ask(get('/1'))), 200);
    assert.equal((await client.ask(get('/2', 'X-Request-Id: same'))).body.toString(), 'fresh');
    assert.equal(seen[1]?.start, 'GET /2 HTTP/1.1');
    assert.equal(field(seen[1], 'x-request-id'), 'same');
    assert.equal(backend.accepted, 2);
  });
});

test('but not for a POST, which may have done its work', async () => {
  const { script, seen } = stale();
  await withBackend(script, async (plane) => {
    const client = await plane.client();
    assert.equal(status(await client.ask(get())), 200);
    assert.equal(status(await client.ask(post('abc'))), 503);
    assert.equal(status(await client.ask('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n')), 200);
    assert.equal(seen.length, 2);
  });
});

test('a fresh connection that dies unanswered is not tried again', async () => {
  await withBackend({ onRequest: (_request, connection) => connection.close() }, async (plane, backend) => {
    assert.equal(status(await plane.ask(get())), 503);
    assert.equal(backend.accepted, 1);
  });
});

test('an answer that has begun is not tried again', async () => {
  let first = true;
  await withBackend(
    {
      onRequest: (_request, connection) => {
        if (first) connection.send(ok('first'));
        else connection.socket.end('HTTP/1.1 2');
        first = false;
      },
    },
    async (plane, backend) => {
      const client = await plane.client();
      assert.equal(status(await client.ask(get())), 200);
      assert.equal(status(await client.ask(get())), 503);
      assert.equal(backend.accepted, 1);
    },
  );
});

test('a backend that says close is not used again, nor one whose Keep-Alive is over', async () => {
  for (const line of ['Connection: close', 'Keep-Alive: timeout=1']) {
    await withBackend(
      { onRequest: (_request, connection) => connection.send(ok('x', line)) },
      async (plane, backend) => {
        const client = await plane.client();
        assert.equal(status(await client.ask(get())), 200);
        assert.equal(status(await client.ask(get())), 200);
        assert.equal(backend.accepted, 2, line);
      },
    );
  }
});

test('an HTTP/1.0 backend is used again only where it says keep-alive', async () => {
  for (const [line, connections] of [
    ['Connection: keep-alive', 1],
    ['X: y', 2],
  ] as const) {
    const answer = `HTTP/1.0 200 OK\r\nContent-Length: 1\r\n${line}\r\n\r\nx`;
    await withBackend(
      { onRequest: (_request, connection) => connection.send(answer) },
      async (plane, backend) => {
        const client = await plane.client();
        for (let i = 0; i < 2; i++) assert.equal((await client.ask(get())).start, 'HTTP/1.1 200 OK');
        assert.equal(backend.accepted, connections, line);
      },
    );
  }
});

test('a backend that answers before it has the whole body ends that request cleanly', async () => {
  await withBackend(
    {
      onHead: (connection) => connection.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n'),
    },
    async (plane, backend) => {
      const client = await plane.client();
      client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhello');
      assert.equal(status(await client.answer()), 413);
      await backend.until('the half-told connection is gone', () => backend.connections.size === 0);
      // The rest of the body is no request.
      client.send(`world${get('/next')}`);
      assert.equal(status(await client.answer()), 413);
      assert.equal(backend.accepted, 2);
      assert.equal(client.text, '');
    },
  );
});

test('a client that uploads learns the refusal of a backend that answers and hangs up', async () => {
  await withBackend(
    {
      onHead: (connection) => {
        connection.socket.pause();
        connection.socket.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig', () =>
          connection.close(),
        );
      },
    },
    async (plane, backend) => {
      const client = await plane.client();
      client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n');
      client.send(Buffer.alloc(3_000_000));
      const answer = await client.answer();
      assert.equal(status(answer), 413);
      assert.equal(answer.body.toString(), 'big');
      await backend.until('the connection is gone', () => backend.connections.size === 0);
      client.close();
    },
  );
});

test('time limits end a silent backend with 504, and its connection', async () => {
  const backend = await RawBackend.start({});
  const plane = await TestPlane.start({
    routes: [
      { to: backend.port, prefix: '/a', policies: { timeout: { requestTimeout: 30 } } },
      { to: backend.port, prefix: '/b', policies: { timeout: { backendRequestTimeout: 30 } } },
    ],
  });
  for (const [path, reason] of [
    ['/a', 'timeout.requestTimeout'],
    ['/b', 'timeout.backendRequestTimeout'],
  ] as const) {
    const client = await plane.client();
    const answer = await client.ask(get(path));
    assert.equal(status(answer), 504);
    assert.equal(answer.body.toString(), 'request timeout\n');
    assert.equal(plane.access.at(-1)?.reason, reason);
    await backend.until('the backend is let go', () => backend.connections.size === 0);
    assert.equal(status(await client.ask(get(path))), 504);
    client.close();
  }
  plane.close();
  await backend.close();
});

test('a time limit within an answer cuts it', async () => {
  const backend = await RawBackend.start({
    onRequest: (_request, connection) =>
      connection.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello'),
  });
  const plane = await TestPlane.start({
    routes: [{ to: backend.port, policies: { timeout: { requestTimeout: 40 } } }],
  });
  const client = await plane.client();
  await assert.rejects(client.ask(get()), /ended/);
  assert.equal(plane.access[0]?.error, 'upstream_timeout');
  await backend.until('the backend is let go', () => backend.connections.size === 0);
  plane.close();
  await backend.close();
});

test('a backend that takes no connection in time is 503', async () => {
  // A process that listens and never accepts: when its queue is full, the kernel leaves handshakes unanswered.
  const deaf = spawn(
    process.execPath,
    [
      '-e',
      `const s = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
        require('node:fs').writeSync(1, String(s.address().port));
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      });`,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(deaf, 'exit');
  const [printed] = (await once(deaf.stdout, 'data')) as [Buffer];
  const port = Number(printed.toString());
  const fillers = Array.from({ length: 4 }, () =>
    connect({ port, host: '127.0.0.1' }).on('error', () => undefined),
  );
  await Promise.race(fillers.map((filler) => once(filler, 'connect')));
  const plane = await TestPlane.start({ routes: [{ to: port }], upstream: { connectTimeoutMs: 50 } });
  // The queue may have room for one more, whose answer never comes: the next one finds it full.
  const client = await plane.client();
  client.send(get('/queued'));
  const answers = await Promise.race([plane.ask(get('/1')), plane.ask(get('/2')), plane.ask(get('/3'))]);
  assert.equal(status(answers), 503);
  assert.match(plane.access.find(({ status: code }) => code === 503)?.reason ?? '', /connect timeout/);
  plane.close();
  for (const filler of fillers) filler.destroy();
  deaf.kill('SIGKILL');
  await exited;
});
