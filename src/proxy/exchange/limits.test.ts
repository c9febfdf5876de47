import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { field, get, ok, post, status, type BackendConnection, type BackendScript } from '../wire.testing.ts';
import { echo, withPlane } from '../withPlane.testing.ts';

const idle = { lagMs: 0, memory: 0, outOfFiles: false };

test('a request too many at the same time is told to come back, and its connection goes on', async () => {
  const waiting: BackendConnection[] = [];
  const hold: BackendScript = { onRequest: (_request, connection) => void waiting.push(connection) };
  await withPlane(hold, { limits: { maxRequests: 2 } }, async (plane) => {
    const first = await plane.client();
    const second = await plane.client();
    first.send(get());
    second.send(get());
    await until('two requests are under way', () => waiting.length === 2);
    const third = await plane.client();
    const answer = await third.ask(get());
    assert.equal(status(answer), 503);
    assert.equal(field(answer, 'retry-after'), '1');
    assert.equal(field(answer, 'connection'), undefined);
    assert.equal(plane.access[0]?.error, 'overloaded');
    assert.equal(plane.access[0]?.reason, 'limits.maxRequests');
    waiting.shift()?.send(ok('one'));
    await until('one is answered', () => plane.access.length === 2);
    third.send(get());
    await until('there is room again', () => waiting.length === 2);
    for (const connection of waiting) connection.send(ok('more'));
    for (const client of [first, second, third]) {
      assert.equal(status(await client.answer()), 200);
      client.close();
    }
    assert.match(await plane.metricsText(), /portcullis_requests_shed_total\{reason="maxRequests"\} 1\n/);
  });
});

test('a connection ends after as many requests as it may have, with the last answer saying so', async () => {
  await withPlane(echo, { limits: { maxRequestsPerConnection: 2 } }, async (plane, backend) => {
    const client = await plane.client();
    assert.equal(field(await client.ask(get('/1')), 'connection'), undefined);
    // The third was sent ahead: whoever sees the connection close knows that it was not served (RFC 9112 §9.6).
    client.send(get('/2') + get('/3'));
    assert.equal(field(await client.answer(), 'connection'), 'close');
    assert.equal(await client.closed(), 'fin');
    assert.equal(backend.requests.length, 2);
    client.close();
    assert.match(
      await plane.metricsText(),
      /portcullis_downstream_connections_ended_total\{reason="requests"\} 1\n/,
    );
  });
});

test('a connection of age ends: at once when idle, otherwise after its request', async () => {
  let answer: BackendConnection | undefined;
  const script: BackendScript = {
    onRequest: (request, connection) => {
      if (request.start.includes('/wait')) answer = connection;
      else connection.send(ok('x'));
    },
  };
  await withPlane(script, { limits: { maxConnectionAgeMs: 1_000 } }, async (plane) => {
    const busy = await plane.client();
    busy.send(get('/wait'));
    const quiet = await plane.client();
    assert.equal(status(await quiet.ask(get())), 200);
    assert.equal(await quiet.closed(), 'fin');
    quiet.close();
    await until('the one with a request is left', () => answer !== undefined && plane.connections === 1);
    answer?.send(ok('late'));
    const late = await busy.answer();
    assert.equal(late.body.toString(), 'late');
    assert.equal(field(late, 'connection'), 'close');
    assert.equal(await busy.closed(), 'fin');
    busy.close();
    assert.match(
      await plane.metricsText(),
      /portcullis_downstream_connections_ended_total\{reason="age"\} 2\n/,
    );
  });
});

test('a body that trickles is 408, though it never pauses', async () => {
  const limits = { minBodyRate: 1_000, minBodyRateWindowMs: 100 };
  await withPlane(echo, { limits }, async (plane, backend) => {
    const client = await plane.client();
    client.send('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n');
    const trickle = setInterval(() => client.send('x'), 20);
    const answer = await client.answer();
    clearInterval(trickle);
    assert.equal(status(answer), 408);
    assert.equal(field(answer, 'connection'), 'close');
    await backend.until('the backend is let go', () => backend.connections.size === 0);
    assert.equal(plane.access[0]?.reason, 'the body came at less than limits.minBodyRate');
    client.close();
    assert.match(
      await plane.metricsText(),
      /portcullis_downstream_connections_ended_total\{reason="rate"\} 1\n/,
    );
  });
});

test('the body timeout does not count time in which the backend reads nothing', async () => {
  const limits = { minBodyRate: 1_000_000, minBodyRateWindowMs: 50 };
  let backendSide: BackendConnection | undefined;
  const script: BackendScript = {
    onConnection: (connection) => {
      backendSide = connection;
      connection.socket.pause();
    },
    onRequest: (request, connection) => connection.send(ok(String(request.body.length))),
  };
  await withPlane(script, { limits }, async (plane) => {
    const client = await plane.client();
    const size = 32_000_000;
    client.send(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${size}\r\n\r\n`);
    client.send(Buffer.alloc(size));
    // Several looks of the clock pass while the way to the backend is full.
    let looks = 0;
    const clock = setInterval(() => looks++, 500);
    await until('the clock has looked', () => looks === 4);
    clearInterval(clock);
    assert.equal(plane.access.length, 0);
    backendSide?.socket.resume();
    assert.equal((await client.answer()).body.toString(), String(size));
    client.close();
  });
});

test('a small body that comes at once is under no rate', async () => {
  await withPlane(echo, { limits: { minBodyRate: 1_000_000, minBodyRateWindowMs: 1 } }, async (plane) => {
    const client = await plane.client();
    assert.equal((await client.ask(post('x'))).body.toString(), 'x');
    client.close();
  });
});

test('overload ends connections first, then refuses new requests, and lets those under way end', async () => {
  let held: BackendConnection | undefined;
  const script: BackendScript = {
    onRequest: (request, connection) => {
      if (request.start.includes('/wait')) held = connection;
      else connection.send(ok('x'));
    },
  };
  await withPlane(
    script,
    {},
    async (plane, backend) => {
      const under = await plane.client();
      under.send(get('/wait'));
      await until('a request is under way', () => held !== undefined);
      const note = (load: typeof idle): void => {
        for (let look = 0; look < 3; look++) plane.overload.note(load);
      };

      note({ ...idle, memory: 0.91 });
      const closing = await plane.client();
      const last = await closing.ask(get());
      assert.equal(status(last), 200);
      assert.equal(field(last, 'connection'), 'close');
      assert.equal(await closing.closed(), 'fin');

      note({ ...idle, memory: 0.96 });
      const served = backend.requests.length;
      const refused = await plane.client();
      const answer = await refused.ask(get());
      assert.equal(status(answer), 503);
      assert.equal(field(answer, 'retry-after'), '1');
      assert.equal(field(answer, 'connection'), 'close');
      assert.equal(backend.requests.length, served);
      held?.send(ok('done'));
      assert.equal((await under.answer()).body.toString(), 'done');
      assert.match(await plane.metricsText(), /^portcullis_overload_level\{reason="memory"\} 2$/m);

      note(idle);
      const again = await plane.client();
      const fine = await again.ask(get());
      assert.equal(status(fine), 200);
      assert.equal(field(fine, 'connection'), undefined);
      for (const client of [under, closing, refused, again]) client.close();
      const metrics = await plane.metricsText();
      assert.match(metrics, /portcullis_requests_shed_total\{reason="memory"\} 1\n/);
      assert.match(metrics, /portcullis_downstream_connections_ended_total\{reason="overload"\} 2\n/);
      assert.match(metrics, /^portcullis_overload_level\{reason="memory"\} 0$/m);
      assert.deepEqual(
        plane.log.filter(({ message }) => /overload/i.test(message)).map(({ level }) => level),
        ['warn', 'error', 'info'],
      );
    },
    ['Overloaded: new requests are refused'],
  );
});

test('the cap on connections stays below half of the files the process may open', async () => {
  const plane = new TestPlane(9);
  await plane.apply({ limits: { maxConnections: 100 } });
  try {
    const clients = [];
    for (let i = 0; i < 4; i++) clients.push(await plane.client(undefined, `127.0.0.${i + 2}`));
    await until('four are in', () => plane.connections === 4);
    assert.equal(status(await (await plane.client()).answer()), 503);
    const warning = plane.log.find(({ level }) => level === 'warn');
    assert.deepEqual(warning?.fields, { configured: 100, loweredTo: 4, openFiles: 9 });
    await plane.apply({ limits: { maxConnections: 3 } });
    assert.equal(plane.log.filter(({ message }) => message.includes('lowered')).length, 1);
  } finally {
    plane.close();
  }
});
