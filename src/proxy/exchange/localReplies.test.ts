import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import type { Match } from '../../model/index.ts';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane, type LocalHandler, type RouteInShort } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, fields, get, post, status } from '../wire.testing.ts';

async function withHandler(
  handler: LocalHandler,
  body: (plane: TestPlane) => Promise<void>,
  route: Partial<RouteInShort> = {},
  limits: { bodyTimeoutMs?: number } = {},
): Promise<void> {
  const plane = await TestPlane.start({ routes: [{ handler, ...route }], limits });
  try {
    await body(plane);
  } finally {
    plane.close();
  }
}

const everyRequest: Match = { path: { kind: 'prefix', value: '/' }, headers: [], query: [] };

const chunked = (...pieces: string[]): string =>
  `POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n${pieces
    .map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`)
    .join('')}0\r\n\r\n`;

test('a reply has its framing from the wire, whatever its maker says', async () => {
  await withHandler(
    (_request, reply) =>
      reply.send({
        status: 200,
        headers: [
          ['Content-Length', '1'],
          ['Transfer-Encoding', 'chunked'],
          ['Connection', 'upgrade'],
          ['Date', 'never'],
          ['x-split', 'a\r\nevil: 1'],
          ['x-wide', '\u010aevil: 1'],
          ['x-own', 'ü'],
        ],
        body: 'grüße',
      }),
    async (plane) => {
      const answer = await plane.ask(get());
      assert.equal(field(answer, 'content-length'), '7');
      assert.equal(answer.body.toString(), 'grüße');
      assert.equal(field(answer, 'transfer-encoding'), undefined);
      assert.equal(field(answer, 'connection'), undefined);
      assert.notEqual(field(answer, 'date'), 'never');
      assert.equal(field(answer, 'evil'), undefined);
      assert.equal(field(answer, 'x-split'), 'a??evil: 1');
      assert.equal(field(answer, 'x-wide'), '?evil: 1');
      assert.equal(field(answer, 'x-own'), '\xfc');
      assert.equal(field(answer, 'server'), 'portcullis');
    },
  );
});

test('replies to HEAD, 204 and 304 have no body', async () => {
  await withHandler(
    (request, reply) => reply.send({ status: Number(request.path.slice(1)), body: 'hello' }),
    async (plane) => {
      const client = await plane.client();
      const head = await client.ask('HEAD /200 HTTP/1.1\r\nhost: a\r\n\r\n', true);
      assert.equal(field(head, 'content-length'), '5');
      for (const code of [204, 304]) {
        const answer = await client.ask(get(`/${code}`));
        assert.equal(status(answer), code);
        assert.equal(field(answer, 'content-length'), undefined);
      }
      assert.equal((await client.ask(get('/200'))).body.toString(), 'hello');
    },
  );
});

test('a body is read whole, in whatever pieces it comes', async () => {
  await withHandler(
    (request, reply) => {
      request.readBody(100).then(
        (body) => reply.send({ status: 200, body }),
        (error: unknown) => reply.fail(error),
      );
    },
    async (plane) => {
      const client = await plane.client();
      assert.equal((await client.ask(get())).body.toString(), '');
      assert.equal((await client.ask(post('hello'))).body.toString(), 'hello');
      assert.equal((await client.ask(chunked('he', 'l', 'lo'))).body.toString(), 'hello');
      assert.equal((await client.ask(chunked(...Array.from({ length: 100 }, () => 'x')))).body.length, 100);
      for (const byte of post('slow') + chunked('a', 'bc')) {
        client.send(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.equal((await client.answer()).body.toString(), 'slow');
      assert.equal((await client.answer()).body.toString(), 'abc');
      // Over the limit: known by length, and found out by reading.
      assert.equal(status(await client.ask(post('x'.repeat(101)))), 413);
      assert.equal(status(await client.ask(chunked('x'.repeat(60), 'x'.repeat(60)))), 413);
      assert.equal((await client.ask(post('hello'))).body.toString(), 'hello');
    },
  );
});

test('reading a body fails when the client leaves or breaks the framing', async () => {
  const failures: string[] = [];
  await withHandler(
    (request, reply) => {
      request.readBody(100).catch((error: unknown) => {
        failures.push(error instanceof GatewayError ? error.code : 'unknown');
        reply.fail(error);
      });
    },
    async (plane) => {
      const leaver = await plane.client();
      leaver.send(post('hello').slice(0, -1));
      await until('the request is there', () => plane.connections === 1);
      leaver.close();
      await until('it was noticed', () => failures.length === 1);
      const breaker = await plane.client();
      breaker.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n');
      assert.equal(status(await breaker.answer()), 400);
      assert.equal(await breaker.closed(), 'fin');
      assert.deepEqual(failures, ['bad_request', 'bad_chunk']);
    },
  );
});

test('a stream reaches the client event by event', async () => {
  let next: (() => void) | undefined;
  await withHandler(
    (_request, reply) => {
      const stream = reply.open(200, [['content-type', 'text/event-stream']]);
      const events = ['data: 1\n\n', Buffer.from('data: zwölf\n\n'), ''];
      next = () => {
        const event = events.shift();
        if (event === undefined) stream.end();
        else stream.write(event);
      };
    },
    async (plane) => {
      const client = await plane.client();
      client.send(get());
      await client.find('the head', () => (client.text.includes('\r\n\r\n') ? true : undefined));
      next?.();
      await client.find('the first event', () =>
        client.text.endsWith('data: 1\n\n\r\n') ? true : undefined,
      );
      for (let i = 0; i < 3; i++) next?.();
      const answer = await client.answer();
      assert.equal(field(answer, 'transfer-encoding'), 'chunked');
      assert.equal(answer.body.toString(), 'data: 1\n\ndata: zwölf\n\n');
      // And the connection goes on.
      client.send(get());
      await client.find('the next head', () => (client.text.includes('\r\n\r\n') ? true : undefined));
    },
  );
});

test('HTTP/1.0 gets a stream until the end of the connection, HEAD gets its head', async () => {
  await withHandler(
    (_request, reply) => {
      const stream = reply.open(200, []);
      stream.write('abc');
      stream.end();
    },
    async (plane) => {
      const old = await plane.client();
      const answer = await old.ask('GET / HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n\r\n');
      assert.equal(answer.body.toString(), 'abc');
      assert.equal(field(answer, 'transfer-encoding'), undefined);
      assert.equal(field(answer, 'connection'), 'close');
      assert.equal(await old.closed(), 'fin');
      const client = await plane.client();
      await client.ask('HEAD / HTTP/1.1\r\nhost: a\r\n\r\n', true);
      assert.equal((await client.ask(get())).body.toString(), 'abc');
    },
  );
});

test('a stream that is destroyed looks cut short, to HTTP/1.0 too', async () => {
  await withHandler(
    (_request, reply) => {
      const stream = reply.open(200, []);
      stream.write('abc');
      setImmediate(() => stream.destroy());
    },
    async (plane) => {
      const client = await plane.client();
      await assert.rejects(client.ask(get()), /ended/);
      const old = await plane.client();
      old.send('GET / HTTP/1.0\r\nhost: a\r\n\r\n');
      assert.equal(await old.closed(), 'reset');
    },
  );
});

test('a slow client holds a stream back, and lets it go on by reading', async () => {
  let most = 0;
  let written = 0;
  await withHandler(
    (_request, reply) => {
      const stream = reply.open(200, []);
      const pump = (): void => {
        while (written < 20_000_000) {
          written += 100_000;
          const more = stream.write(Buffer.alloc(100_000, 'x'));
          most = Math.max(most, stream.pendingBytes);
          if (!more) {
            stream.onDrain(pump);
            return;
          }
        }
        stream.end();
      };
      pump();
    },
    async (plane) => {
      const client = await plane.client();
      client.socket.pause();
      client.send(get());
      let before = -1;
      await until('the stream waits', () => {
        const waits = written > 0 && written === before;
        before = written;
        return waits;
      });
      assert.ok(written < 20_000_000);
      client.socket.resume();
      assert.equal((await client.answer()).body.length, 20_000_000);
      assert.ok(most < 300_000, `${most} bytes were held`);
    },
  );
});

test('onClose runs once, at the end or when the client leaves, and at once if it is too late', async () => {
  let closed = 0;
  let late = 0;
  await withHandler(
    (request, reply) => {
      reply.onClose(() => {
        closed++;
        assert.equal(reply.closed, true);
        assert.equal(request.header('host'), undefined);
        reply.onClose(() => late++);
        reply.send({ status: 200 });
      });
      if (request.path === '/answer') reply.send({ status: 200 });
    },
    async (plane) => {
      const client = await plane.client();
      await client.ask(get('/answer'));
      assert.deepEqual([closed, late], [1, 1]);
      client.send(get('/never'));
      await until('it waits', () => plane.connections === 1);
      client.close();
      await until('the handler was told', () => closed === 2);
      assert.equal(late, 2);
    },
  );
});

test('only the first answer counts', async () => {
  await withHandler(
    (_request, reply) => {
      reply.send({ status: 200, body: 'first' });
      reply.send({ status: 201, body: 'second' });
      reply.fail(new GatewayError('internal_error'));
      reply.open(202, []).write('third');
    },
    async (plane) => {
      const client = await plane.client();
      assert.equal((await client.ask(get())).body.toString(), 'first');
      assert.equal((await client.ask(get())).body.toString(), 'first');
      assert.equal(client.text, '');
    },
  );
});

test('a handler that throws is 500, logged with its stack, and not told to the client', async () => {
  await withHandler(
    () => {
      throw new Error('secret detail');
    },
    async (plane) => {
      const answer = await plane.ask(get());
      assert.equal(status(answer), 500);
      assert.equal(answer.body.toString(), 'internal error\n');
      assert.match(
        String(plane.log.find(({ level }) => level === 'error')?.fields?.['stack']),
        /secret detail/,
      );
    },
  );
});

test('the request shows what it is, and an annotation ends up in the log', async () => {
  await withHandler(
    (request, reply) => {
      request.annotate('tool', 'echo');
      const seen = [
        request.method,
        request.target,
        request.path,
        request.query,
        request.host,
        request.authority,
        request.scheme,
        request.version,
        request.remoteAddress,
        request.localPort > 0,
        request.header('X-A'),
        request.headerLines().length,
      ];
      reply.send({ status: 200, body: JSON.stringify(seen) });
    },
    async (plane) => {
      const answer = await plane.ask(
        'PUT /a/%62?c HTTP/1.1\r\nHost: App.test:80\r\nX-A: 1\r\nx-a: 2\r\n\r\n',
      );
      assert.deepEqual(JSON.parse(answer.body.toString()), [
        'PUT',
        '/a/b?c',
        '/a/b',
        'c',
        'app.test',
        'app.test:80',
        'http',
        'HTTP/1.1',
        '127.0.0.1',
        true,
        '1, 2',
        3,
      ]);
      assert.deepEqual(plane.access[0]?.extra, { tool: 'echo' });
    },
  );
});

test('a refusal by policy keeps the connection: a small body is read away, the client goes on', async () => {
  const plane = await TestPlane.start({
    routes: [{ policies: { directResponse: { status: 403, body: 'no', headers: {} } } }],
  });
  const client = await plane.client();
  for (const text of [post('x'.repeat(100_000)), chunked('a', 'b'), get()]) {
    const answer = await client.ask(text);
    assert.equal(status(answer), 403);
    assert.equal(field(answer, 'connection'), undefined);
  }
  plane.close();
});

test('no cache may keep a 401, whichever policy refused', async () => {
  for (const error of [
    new GatewayError('token_missing', { headers: [['www-authenticate', 'Bearer']] }),
    new GatewayError('token_invalid', { jsonBody: { error: 'invalid_token' } }),
  ])
    await withHandler(
      (_request, reply) => reply.fail(error),
      async (plane) => {
        const answer = await plane.ask(get());
        assert.equal(status(answer), 401);
        assert.equal(field(answer, 'cache-control'), 'no-store');
      },
    );
});

test('a refused body that is too long to be read away ends the connection, after the answer', async () => {
  const plane = await TestPlane.start({
    routes: [{ policies: { directResponse: { status: 403, body: 'no', headers: {} } } }],
  });
  const told = await plane.client();
  told.send(post('x'.repeat(5_000_000)));
  const answer = await told.answer();
  assert.equal(status(answer), 403);
  assert.equal(field(answer, 'connection'), 'close');
  const untold = await plane.client();
  untold.send('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  assert.equal(status(await untold.answer()), 403);
  untold.send(`100000\r\n${'x'.repeat(0x100000)}\r\n`);
  await untold.closed();
  assert.equal(untold.text, '');
  plane.close();
});

test('CORS stands on refusals, too, and the listener’s policies on what no route serves', async () => {
  const cors = {
    allowOrigins: ['https://app.example'],
    allowHeaders: [],
    allowMethods: ['GET'],
    exposeHeaders: [],
    allowCredentials: false,
    maxAge: 60_000,
  };
  const plane = await TestPlane.start({
    policies: { responseHeaderModifier: { set: { 'x-listener': '1' }, add: {}, remove: [] } },
    routes: [{ prefix: '/a', policies: { cors } }],
  });
  const answer = await plane.ask(get('/a', 'Origin: https://app.example'));
  assert.equal(status(answer), 500);
  assert.equal(field(answer, 'access-control-allow-origin'), 'https://app.example');
  assert.deepEqual(fields(answer, 'x-listener'), ['1']);
  const nowhere = await plane.ask(get('/b'));
  assert.equal(status(nowhere), 404);
  assert.deepEqual(fields(nowhere, 'x-listener'), ['1']);
  plane.close();
});

test('the policies of a listener run in their order, not in that of the file, where no route matches', async (t) => {
  const plane = await TestPlane.start({
    policies: {
      authorization: policySchemas.authorization.parse({ rules: ['request.path == "/open"'] }),
      cors: policySchemas.cors.parse({ allowOrigins: ['https://app.example'], allowMethods: ['GET'] }),
    },
  });
  t.after(() => plane.close());
  const origin = 'Origin: https://app.example';
  const preflight = await plane.ask(
    `OPTIONS /b HTTP/1.1\r\nhost: a\r\n${origin}\r\nAccess-Control-Request-Method: GET\r\n\r\n`,
  );
  assert.equal(status(preflight), 200);
  const refusal = await plane.ask(get('/b', origin));
  assert.equal(status(refusal), 403);
  assert.equal(field(refusal, 'access-control-allow-origin'), 'https://app.example');
});

test('the time of a request also covers the policies of its listener', async (t) => {
  const plane = await TestPlane.start({
    policies: { delay: policySchemas.delay.parse({ duration: '1h' }) },
    routes: [{ policies: { timeout: policySchemas.timeout.parse({ requestTimeout: '20ms' }) } }],
  });
  t.after(() => plane.close());
  assert.equal(status(await plane.ask(get('/'))), 504);
});

test('the log names the whole place of an expression that failed, also in a list of limits', async (t) => {
  const place = { file: 'test', line: 1, column: 1, path: 'routes[0]' };
  const limit = { maxTokens: 9, tokensPerFill: 1, fillInterval: '1s', key: 'request.headers["x-team"]' };
  const policy = {
    name: 'localRateLimit',
    settings: policySchemas.localRateLimit.parse([limit]),
    place: { ...place, path: 'routes[0].policies.localRateLimit' },
  };
  const route = {
    name: 'a',
    hostnames: [],
    matches: [everyRequest],
    policies: [policy],
    backends: [],
    place,
  };
  const plane = await TestPlane.start({
    binds: [{ port: 0, listeners: [{ name: 'a', protocol: 'HTTP', policies: [], routes: [route] }] }],
  });
  t.after(() => plane.close());
  await plane.ask(get('/'));
  const line = plane.log.find(({ message }) => message === 'Expression failed');
  assert.equal(line?.fields?.['place'], 'routes[0].policies.localRateLimit[0].key');
});

test('a policy that cannot be prepared closes its route and no other', async () => {
  const plane = await TestPlane.start({
    routes: [
      {
        name: 'broken',
        prefix: '/broken',
        policies: { nonsense: {} },
        handler: (_request, reply) => reply.send({ status: 200 }),
      },
      { name: 'sound', prefix: '/sound', handler: (_request, reply) => reply.send({ status: 200 }) },
    ],
  });
  const answer = await plane.ask(get('/broken'));
  assert.equal(status(answer), 500);
  assert.equal(answer.body.toString(), 'route configuration is invalid\n');
  assert.equal(status(await plane.ask(get('/sound'))), 200);
  assert.deepEqual(
    plane.plane.broken.map(({ route }) => route),
    ['broken'],
  );
  plane.close();
});

test('lines of one prefix are found in any case of name, and heads without them have none', async () => {
  const handler: LocalHandler = (request, reply) => {
    const source: { headerLines(prefix: string): readonly HeaderLine[] } = request;
    const lines = source.headerLines('mcp-param-').filter(([name]) => name.startsWith('mcp-param-'));
    reply.send({ status: 200, body: JSON.stringify(lines) });
  };
  await withHandler(handler, async (plane) => {
    for (const [fields, lines] of [
      ['MCP-Param-City: Oslo\r\nHost: b.test', [['mcp-param-city', 'Oslo']]],
      ['Host: b.test\r\nMcp-Paran: 1\r\nmcp-param-a: 2', [['mcp-param-a', '2']]],
      ['Host: b.test\r\nMcp-Param: 1\r\nX-Mcp-Param-A: 2', []],
    ] as const) {
      const { body } = await plane.ask(`GET / HTTP/1.1\r\n${fields}\r\n\r\n`);
      assert.deepEqual(JSON.parse(body.toString()), lines);
    }
  });
});

test('policies see the host that the backend would get: that of the target where it names one', async () => {
  const handler: LocalHandler = (request, reply) =>
    reply.send({
      status: 200,
      body: JSON.stringify([
        request.host,
        request.header('Host'),
        request.headerLines().filter(([name]) => name === 'host'),
      ]),
    });
  await withHandler(handler, async (plane) => {
    for (const [line, host] of [
      ['GET http://A.test:81/ HTTP/1.1\r\nHost: b.test', 'a.test:81'],
      ['GET http://a.test/ HTTP/1.0', 'a.test'],
      ['GET / HTTP/1.1\r\nHost: b.test', 'b.test'],
    ] as const) {
      const { body } = await plane.ask(`${line}\r\n\r\n`);
      assert.deepEqual(JSON.parse(body.toString()), [host.split(':')[0], host, [['host', host]]]);
    }
  });
});
