/** Clients and HTTP backends that break off, stall and crowd: the program survives them and lets everything go. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { listenOnLoopback } from '../support/loopback.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { openDescriptors, residentBytes } from './processes.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import { rogueBackends } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const MiB = 1_048_576;

let gateway: GatewayProcess;
/** Answers of the backend that are under way. */
const open = new Set<ServerResponse>();
let closeBackend: () => Promise<void>;

/** The behaviour of the backend, by path. */
const behaviours: Readonly<Record<string, (response: ServerResponse) => void>> = {
  '/ok': (response) => void response.end('fine'),
  '/endless': (response) => {
    response.writeHead(200);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 'x')));
      response.once('drain', more);
    };
    more();
  },
  '/cut': (response) => {
    response.writeHead(200, { 'content-length': '100000' });
    response.write('the beginning', () => response.socket?.resetAndDestroy());
  },
  '/cutChunked': (response) => {
    response.write('the beginning', () => response.socket?.resetAndDestroy());
  },
  '/gone': (response) => void response.socket?.resetAndDestroy(),
  '/silent': () => undefined,
  '/big': (response) => void response.end(Buffer.alloc(2 * MiB, 'x')),
};

before(async () => {
  const server = createServer((request, response) => {
    open.add(response);
    response.on('error', () => undefined).on('close', () => open.delete(response));
    request.resume();
    behaviours[request.url ?? '']?.(response);
  });
  const { port, close } = await listenOnLoopback(server);
  closeBackend = close;
  gateway = await startGateway(`
config:
  limits: { headTimeout: 3s, bodyTimeout: 3s }
binds:
- port: 0
  listeners:
  - routes:
    - matches: [{ path: { exact: /silent } }]
      policies: { timeout: { backendRequestTimeout: 200ms } }
      backends: [{ host: '127.0.0.1:${port}' }]
    - matches: [{ path: { pathPrefix: /mcp } }]
      backends: ${rogueBackends}
    - backends: [{ host: '127.0.0.1:${port}' }]
`);
});
after(async () => {
  await gateway?.stop();
  await closeBackend?.();
});

const dial = async (): Promise<Socket> => {
  const socket = connect(gateway.ports[0] ?? 0, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
};

/** Everything the gateway sends until it closes. */
async function readAll(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  await once(socket, 'close');
  return text;
}

test('a client that leaves in the middle of an answer takes the request to the backend with it', async () => {
  const leaving = new AbortController();
  const response = await fetch(`${gateway.url}/endless`, { signal: leaving.signal });
  await response.body?.getReader().read();
  assert.equal(open.size, 1);
  leaving.abort();
  await until('the backend to be left', () => open.size === 0);
});

test('a client that leaves an event stream of a session leaves the session as it was', async () => {
  const session = await openSession(`${gateway.url}/mcp`);
  for (let i = 0; i < 10; i++) {
    const leaving = new AbortController();
    const stream = await fetch(`${gateway.url}/mcp`, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': session.id },
      signal: leaving.signal,
    });
    assert.equal(stream.status, 200);
    leaving.abort();
  }
  assert.equal(resultText(await session.call('echo', { text: 'alive' })), 'alive');
  await session.close();
});

test('an answer that breaks off upstream breaks off downstream: never does it look complete', async () => {
  for (const path of ['/cut', '/cutChunked'])
    await assert.rejects(ask(gateway.url + path), /aborted|hang up|ECONNRESET/, path);
  assert.equal((await ask(`${gateway.url}/gone`)).status, 503);
  assert.equal((await ask(`${gateway.url}/ok`)).body, 'fine');
  await until(
    'the access log',
    () => (gateway.accessLog().match(/\/cut.* error=upstream_/g) ?? []).length >= 2,
  );
});

test('a backend that does not answer is given up in time, and let go', async () => {
  assert.equal((await ask(`${gateway.url}/silent`)).status, 504);
  await until('the backend to be left', () => open.size === 0);
});

test('clients that send their heads slowly are refused, and do not disturb others', async () => {
  const sockets = await Promise.all(Array.from({ length: 50 }, dial));
  const answers = sockets.map(readAll);
  for (const socket of sockets) socket.write('GET /ok HTTP/1.1\r\nhost: x\r\n');
  const dripping = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x-drop: 1\r\n');
  }, 50);
  try {
    for (let i = 0; i < 20; i++) assert.equal((await ask(`${gateway.url}/ok`)).status, 200);
    for (const answer of await Promise.all(answers)) assert.match(answer, /^HTTP\/1\.1 408 /);
  } finally {
    clearInterval(dripping);
  }
});

test('a client that begins a body and stops is told to go', async () => {
  const socket = await dial();
  const answer = readAll(socket);
  socket.write(
    'POST /mcp HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
  );
  assert.match(await answer, /^HTTP\/1\.1 408 /);
});

test('descriptors, child processes and memory are released after a load peak', async () => {
  const crowd = async (): Promise<void> => {
    const requests = Array.from({ length: 100 }, async (_, index) => {
      const leaving = new AbortController();
      // A third leaves in the middle.
      const response = await fetch(`${gateway.url}/big`, { signal: leaving.signal });
      if (index % 3 === 0) {
        await response.body?.getReader().read();
        leaving.abort();
      } else assert.equal((await response.arrayBuffer()).byteLength, 2 * MiB);
    });
    const sessions = Array.from({ length: 4 }, async () => {
      const session = await openSession(`${gateway.url}/mcp`);
      for (let i = 0; i < 10; i++) await session.call('huge', { bytes: 100_000 });
      await session.close();
    });
    await Promise.all([...requests, ...sessions]);
    await until('the children to be gone', () => gateway.children().length === 0);
    await until('the clients to be gone', async () => {
      const { binds } = await gateway.configDump();
      // The connections of fetch stay open for a while; those of a crowd would be many more.
      return binds.every(({ connections }) => connections <= 110);
    });
  };
  await crowd();
  const first = { memory: residentBytes(gateway.pid), descriptors: openDescriptors(gateway.pid) };
  for (let i = 0; i < 2; i++) await crowd();
  const grown = residentBytes(gateway.pid) - first.memory;
  assert.ok(grown < 80 * MiB, `grew by ${Math.round(grown / MiB)} MiB`);
  await until('the descriptors', () => openDescriptors(gateway.pid) <= first.descriptors + 10);
});
