/** A gateway that may open few files: it keeps what it has, says what is wrong, and recovers by itself. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { listenOnLoopback } from '../support/loopback.ts';
import { startGateway } from './gateway.testing.ts';
import { openDescriptors } from './processes.testing.ts';
import { until } from '../../src/until.testing.ts';

const openFiles = 80;

test('out of file descriptors it neither spins nor stops, and serves again as soon as there are some', async () => {
  const held: ServerResponse[] = [];
  let released = false;
  const backend = createServer((request, response) => {
    if (request.url === '/hold' && !released) held.push(response);
    else response.end('fine');
  });
  const { port, close } = await listenOnLoopback(backend);
  await using stack = new AsyncDisposableStack();
  stack.defer(close);
  const gateway = await startGateway(
    `binds:\n- port: 0\n  listeners:\n  - routes:\n    - backends: [{ host: '127.0.0.1:${port}' }]\n`,
    { openFiles },
  );
  stack.use(gateway);
  await gateway.logged(/limits\.maxConnections lowered/);
  const clients: Socket[] = [];
  const answers: string[] = [];
  try {
    // Half of the descriptors go to clients, and each of them wants another one to the backend.
    for (let n = 0; n < openFiles; n++) {
      const client = connect(gateway.ports[0] ?? 0, '127.0.0.1');
      client.on('error', () => undefined);
      const ask = (): void => void client.write('GET /hold HTTP/1.1\r\nhost: a\r\n\r\n');
      client.on('data', (bytes: Buffer) => {
        answers.push(bytes.toString());
        // A client that is told to come later does so.
        if (bytes.includes(' 503 ')) setTimeout(() => client.writable && ask(), 20);
      });
      ask();
      clients.push(client);
    }
    await until('every descriptor is in use', () => openDescriptors(gateway.pid) >= openFiles - 1);
    await until('it says so', () => gateway.log().includes('No file descriptors left'));
    await until('somebody is told', () => answers.some((text) => text.startsWith('HTTP/1.1 503')));
    // New clients are turned away by the system, or by the cap; none of them costs a line.
    for (let n = 0; n < 50; n++) {
      const late = connect(gateway.ports[0] ?? 0, '127.0.0.1');
      late.on('error', () => undefined);
      await once(late, 'connect');
      late.destroy();
    }
    const lines = gateway.log().split('\n').length;
    assert.ok(lines < 60, `${lines} lines`);
    await until('a request is at the backend', () => held.length > 0);
    // The requests under way end well.
    released = true;
    for (const response of held) response.end('held');
    await until(
      'every one that was held has its answer',
      () => answers.filter((text) => text.includes('held')).length === held.length,
    );
  } finally {
    for (const client of clients) client.destroy();
  }
  await until('it serves again', async () => {
    try {
      return (await (await fetch(`${gateway.url}/`)).text()) === 'fine';
    } catch {
      return false;
    }
  });
  await until('it knows that it is over', async () => {
    const level = await gateway.metric('portcullis_overload_level', { reason: 'files' });
    return level === 0;
  });
  await gateway.stop();
});
