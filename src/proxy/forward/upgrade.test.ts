import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestPlane, type ModelInShort } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import {
  field,
  get,
  ok,
  RawBackend,
  status,
  type BackendConnection,
  type BackendScript,
  type RawClient,
} from '../wire.testing.ts';

const ask = (protocol = 'raw', ...lines: string[]): string =>
  get('/', 'Connection: keep-alive, Upgrade', `Upgrade: ${protocol}`, ...lines);
const switching = (protocol = 'raw', ...lines: string[]): string =>
  `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;

interface Stage {
  readonly plane: TestPlane;
  readonly backend: RawBackend;
}

async function withBackend(
  script: BackendScript,
  run: (stage: Stage) => Promise<void>,
  model: Omit<ModelInShort, 'routes'> = {},
): Promise<void> {
  const backend = await RawBackend.start(script);
  const plane = await TestPlane.start({ ...model, routes: [{ to: backend.port }] });
  try {
    await run({ plane, backend });
  } finally {
    plane.close();
    await backend.close();
  }
}

/** A tunnel that is open, with both its ends. */
async function tunnel({ plane, backend }: Stage): Promise<{ client: RawClient; far: BackendConnection }> {
  const client = await plane.client();
  assert.equal(status(await client.ask(ask(), true)), 101);
  const [far] = backend.connections;
  assert.ok(far !== undefined);
  far.socket.allowHalfOpen = true;
  return { client, far };
}

const says = (end: RawClient | BackendConnection, text: string): Promise<true> =>
  end.find(text, () => (end.text.includes(text) ? true : undefined));

const accept: BackendScript = { onRequest: (_request, connection) => connection.send(switching()) };

test('a request for another protocol and its 101 cross with the fields of this hop, and then bytes do', async () => {
  await withBackend(
    {
      onRequest: (_request, connection) =>
        connection.send(
          `${switching('RAW', 'X-Stays: 2', 'Keep-Alive: timeout=5', 'Content-Length: 3')}and more`,
        ),
    },
    async ({ plane, backend }) => {
      const client = await plane.client();
      const answer = await client.ask(ask('raw', 'X-Stays: 1', 'Keep-Alive: 5'), true);
      assert.equal(answer.start, 'HTTP/1.1 101 Switching Protocols');
      assert.equal(field(answer, 'connection'), 'upgrade');
      assert.equal(field(answer, 'upgrade'), 'RAW');
      assert.equal(field(answer, 'x-stays'), '2');
      for (const name of ['keep-alive', 'content-length', 'transfer-encoding'])
        assert.equal(field(answer, name), undefined, name);
      const [seen] = backend.requests;
      assert.ok(seen !== undefined);
      assert.equal(field(seen, 'connection'), 'upgrade');
      assert.equal(field(seen, 'upgrade'), 'raw');
      assert.equal(field(seen, 'x-stays'), '1');
      assert.equal(field(seen, 'keep-alive'), undefined);
      await says(client, 'and more');
      const [far] = backend.connections;
      assert.ok(far !== undefined);
      client.send('GET /\x00\xff');
      await says(far, 'GET /\x00\xff');
    },
  );
});

test('bytes that a client sends without waiting for the 101 arrive behind its request', async () => {
  let far: BackendConnection | undefined;
  await withBackend(
    { onRequest: (_request, connection) => void (far = connection) },
    async ({ plane, backend }) => {
      const client = await plane.client();
      client.send(`${ask()}early `);
      await backend.until('the request is there', () => far !== undefined);
      client.send('birds');
      assert.equal(far?.text, '');
      far?.send(switching());
      assert.equal(status(await client.answer(true)), 101);
      await says(far as BackendConnection, 'early birds');
    },
  );
});

test('a refused upgrade is an ordinary answer, and the connections go on', async () => {
  await withBackend(
    { onRequest: (request, connection) => connection.send(ok(field(request, 'upgrade') ?? 'none')) },
    async ({ plane, backend }) => {
      const client = await plane.client();
      assert.equal((await client.ask(ask())).body.toString(), 'raw');
      assert.equal((await client.ask(get())).body.toString(), 'none');
      assert.equal(backend.accepted, 1);
    },
  );
});

test('426 names the protocol that is needed', async () => {
  await withBackend(
    {
      onRequest: (_request, connection) =>
        connection.send(
          'HTTP/1.1 426 Upgrade Required\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n',
        ),
    },
    async ({ plane }) => {
      const answer = await plane.ask(get());
      assert.equal(field(answer, 'upgrade'), 'websocket');
      assert.equal(field(answer, 'connection'), 'upgrade');
    },
  );
});

test('no tunnel is asked for that could carry HTTP past the rules, nor where the request has a body', async () => {
  await withBackend(
    { onRequest: (request, connection) => connection.send(ok(field(request, 'upgrade') ?? 'none')) },
    async ({ plane }) => {
      const none = [
        ask('h2c'),
        ask('H2C'),
        ask('h2'),
        ask('HTTP/2.0'),
        ask('TLS/1.2'),
        ask('no good'),
        get('/', 'Upgrade: websocket'),
        get('/', 'Connection: upgrade'),
        get('/', 'Connection: upgrade', 'Upgrade: websocket', 'Content-Length: 1') + 'x',
        get('/', 'Connection: upgrade', 'Upgrade: websocket').replace('1.1', '1.0'),
      ];
      for (const text of none) assert.equal((await plane.ask(text)).body.toString(), 'none', text);
      assert.equal((await plane.ask(ask('h2c, websocket'))).body.toString(), 'websocket');
    },
  );
});

test('an unexpected 101, or one to another protocol, is 502', async () => {
  const answers = [
    switching('other'),
    switching('raw, other'),
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\n\r\n',
  ];
  let answer = '';
  await withBackend(
    { onRequest: (_request, connection) => connection.send(answer) },
    async ({ plane, backend }) => {
      for (answer of answers) assert.equal(status(await plane.ask(ask())), 502, answer);
      answer = switching();
      assert.equal(status(await plane.ask(get())), 502);
      await backend.until('the connections are gone', () => backend.connections.size === 0);
    },
  );
});

test('each side of a tunnel ends for itself', async () => {
  await withBackend(accept, async (stage) => {
    const first = await tunnel(stage);
    first.client.send('last words');
    first.client.socket.end();
    await says(first.far, 'last words');
    assert.equal(await first.far.closed(), 'fin');
    first.far.send('heard');
    await says(first.client, 'heard');
    first.far.socket.end();
    assert.equal(await first.client.closed(), 'fin');
    await stage.backend.until('the backend is left', () => stage.backend.connections.size === 0);

    const second = await tunnel(stage);
    second.far.socket.end('goodbye');
    assert.equal(await second.client.closed(), 'fin');
    second.client.send('and thanks');
    await says(second.far, 'and thanks');
    second.client.socket.end();
    assert.equal(await second.far.closed(), 'fin');
    await until('nothing is left', () => stage.plane.connections + stage.plane.upstreamConnections === 0);
  });
});

test('a reset of one side reaches the other as a reset', async () => {
  await withBackend(accept, async (stage) => {
    const first = await tunnel(stage);
    first.client.reset();
    assert.equal(await first.far.closed(), 'reset');
    const second = await tunnel(stage);
    second.far.reset();
    assert.equal(await second.client.closed(), 'reset');
    await until('both are logged', () => stage.plane.access.length === 2);
    assert.equal(stage.plane.access[0]?.reason, undefined);
    assert.deepEqual(
      stage.plane.access.map(({ status: code, error }) => [code, error]),
      [
        [101, undefined],
        [101, 'upstream_reset'],
      ],
    );
  });
});

test('a tunnel is counted and logged once, with its bytes, when it ends', async () => {
  await withBackend(accept, async (stage) => {
    const { plane } = stage;
    const { client, far } = await tunnel(stage);
    const sent = 'x'.repeat(1_000);
    client.send(sent);
    await says(far, sent);
    assert.equal(plane.access.length, 0);
    assert.match(await plane.metricsText(), /^portcullis_upgraded_connections 1$/m);
    client.socket.end();
    far.socket.end();
    await until('it is logged', () => plane.access.length === 1);
    const [record] = plane.access;
    assert.equal(record?.status, 101);
    assert.equal(record?.requestBytes, 1_000);
    assert.equal(record?.error, undefined);
    const metrics = await plane.metricsText();
    assert.match(metrics, /^portcullis_upgraded_connections 0$/m);
    assert.match(metrics, /^portcullis_upgraded_connections_total 1$/m);
    assert.match(metrics, /^portcullis_requests_total\{.*status="101"\} 1$/m);
  });
});

test('a side that reads nothing holds the other back, and both get everything in the end', async () => {
  await withBackend(accept, async (stage) => {
    const { client, far } = await tunnel(stage);
    const piece = Buffer.alloc(1_000_000, 'y');
    for (const [from, to] of [
      [client, far],
      [far, client],
    ] as const) {
      const before = to.inbox.length;
      to.socket.pause();
      let taken = 0;
      for (let i = 0; i < 20; i++) from.socket.write(piece, () => taken++);
      // The buffers of the kernel and of two gateways hold far less than 20 MB.
      await until('the sender is held back', () => from.socket.writableLength > 3_000_000 && taken > 0);
      to.socket.resume();
      await to.find('everything', () => (to.inbox.length - before === 20_000_000 ? true : undefined));
    }
  });
});

test('a tunnel in which nothing moves is ended', async () => {
  await withBackend(
    accept,
    async (stage) => {
      const { client, far } = await tunnel(stage);
      assert.equal(await client.closed(), 'reset');
      assert.equal(await far.closed(), 'reset');
      await until('it is logged', () => stage.plane.access.length === 1);
      assert.equal(stage.plane.access[0]?.reason, 'the tunnel was idle');
    },
    { limits: { tunnelIdleTimeoutMs: 500 } },
  );
});

test('a tunnel whose client has ended its side, and whose backend never does, ends sooner', async () => {
  await withBackend(
    accept,
    async (stage) => {
      const { client, far } = await tunnel(stage);
      client.socket.end();
      assert.equal(await far.closed(), 'fin');
      assert.equal(await client.closed(), 'reset');
      await until('nothing is left', () => stage.plane.connections + stage.plane.upstreamConnections === 0);
      assert.equal(stage.plane.access[0]?.reason, 'the tunnel was idle');
    },
    { limits: { tunnelHalfClosedTimeoutMs: 50 } },
  );
});

test('time limits of a route end with the 101, and a new configuration leaves a tunnel alone', async () => {
  const backend = await RawBackend.start(accept);
  const model = { routes: [{ to: backend.port, policies: { timeout: { requestTimeout: 1_000 } } }] };
  const plane = await TestPlane.start(model);
  const stage = { plane, backend };
  const { client, far } = await tunnel(stage);
  await plane.apply({ ...model, limits: { maxHeaders: 50 } });
  const begun = performance.now();
  await until('the limit has passed', () => performance.now() - begun > 1_500);
  client.send('still here');
  await says(far, 'still here');
  plane.close();
  await backend.close();
});
