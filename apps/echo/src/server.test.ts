import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { startEcho, type Echo } from './index.ts';
import { pause } from './reply.ts';

let echo: Echo;
before(async () => {
  echo = await startEcho({ port: 0 });
});
after(() => echo.close());

async function json(path: string, init?: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(echo.url + path, init);
  assert.equal(response.status, 200);
  return (await response.json()) as Record<string, unknown>;
}

/** Sends bytes on a socket of its own and answers all that comes back until the server closes. */
async function raw(text: string): Promise<string> {
  const socket = connect(echo.port, '127.0.0.1');
  socket.write(text);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

test('/headers answers the headers with capitalised names and lists of values', async () => {
  const answer = await raw(
    'GET /headers HTTP/1.1\r\nHost: www.example.com\r\nx-request-ID: 7\r\nx-many: a\r\nx-many: b\r\nConnection: close\r\n\r\n',
  );
  const { headers } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as {
    headers: Record<string, string[]>;
  };
  assert.deepEqual(headers, {
    Connection: ['close'],
    Host: ['www.example.com'],
    'X-Many': ['a', 'b'],
    'X-Request-Id': ['7'],
  });
});

test('/get says query, origin and url, and names the first forwarded client', async () => {
  const got = await json('/get?a=1&a=2&b=', {
    headers: { 'x-forwarded-for': '192.0.2.7, 10.0.0.1', 'x-forwarded-proto': 'https' },
  });
  assert.deepEqual(got['args'], { a: ['1', '2'], b: [''] });
  assert.equal(got['origin'], '192.0.2.7');
  assert.equal(got['url'], `https://127.0.0.1:${echo.port}/get?a=1&a=2&b=`);
  assert.equal((await json('/ip'))['origin'], '127.0.0.1');
});

test('a JSON body comes back as text and parsed', async () => {
  const got = await json('/post', {
    method: 'POST',
    body: '{"a":[1]}',
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(got['data'], '{"a":[1]}');
  assert.deepEqual(got['json'], { a: [1] });
});

test('urlencoded and multipart forms come back as lists, files apart', async () => {
  assert.deepEqual((await json('/put', { method: 'PUT', body: new URLSearchParams('a=1&a=2') }))['form'], {
    a: ['1', '2'],
  });
  const form = new FormData();
  form.set('name', 'value');
  form.set('file', new Blob(['content']), 'f.txt');
  const got = await json('/anything/deep/path', { method: 'POST', body: form });
  assert.deepEqual(
    [got['form'], got['files'], got['method']],
    [{ name: ['value'] }, { file: ['content'] }, 'POST'],
  );
});

test('a body that is no text comes back as a data URL', async () => {
  const got = await json('/patch', { method: 'PATCH', body: new Uint8Array([0xff, 0x00]) });
  assert.equal(got['data'], 'data:application/octet-stream;base64,/wA=');
});

test('a chunked body is read with its trailers', async () => {
  const answer = await raw(
    'POST /post HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx-sum: 9\r\n\r\n',
  );
  const got = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as Record<string, unknown>;
  assert.deepEqual([got['data'], got['trailers']], ['hi', { 'X-Sum': ['9'] }]);
});

test('a body over the limit is refused with 413', async () => {
  const response = await fetch(`${echo.url}/post`, {
    method: 'POST',
    body: new Uint8Array(16 * 1024 * 1024 + 1),
  });
  assert.equal(response.status, 413);
  await response.body?.cancel();
});

test('/status answers the code for every method, and refuses one that is none', async () => {
  for (const [code, method] of [
    [204, 'GET'],
    [304, 'GET'],
    [418, 'DELETE'],
    [503, 'POST'],
  ] as const) {
    assert.equal((await fetch(`${echo.url}/status/${code}`, { method })).status, code);
  }
  for (const code of ['199', '600', 'x'])
    assert.equal((await fetch(`${echo.url}/status/${code}`)).status, 400);
});

test('/redirect counts down to /get', async () => {
  const first = await fetch(`${echo.url}/redirect/2`, { redirect: 'manual' });
  assert.deepEqual([first.status, first.headers.get('location')], [302, '/redirect/1']);
  assert.equal((await fetch(`${echo.url}/redirect/3`)).url, `${echo.url}/get`);
});

test('/bytes and /stream-bytes send as many bytes as asked, up to the limit', async () => {
  const whole = await fetch(`${echo.url}/bytes/1000`);
  assert.equal(whole.headers.get('content-length'), '1000');
  assert.equal((await whole.bytes()).length, 1000);
  const chunked = await fetch(`${echo.url}/stream-bytes/300000?chunk_size=7777`);
  assert.equal(chunked.headers.get('content-length'), null);
  assert.equal((await chunked.bytes()).length, 300000);
  assert.equal((await fetch(`${echo.url}/bytes/999999999`)).status, 400);
});

test('/stream sends one JSON object a line', async () => {
  const lines = (await (await fetch(`${echo.url}/stream/3`)).text()).trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { id: number }).id),
    [0, 1, 2],
  );
});

test('/sse sends events', async () => {
  const response = await fetch(`${echo.url}/sse?count=2`);
  assert.equal(response.headers.get('content-type'), 'text/event-stream');
  assert.match(
    await response.text(),
    /^event: ping\nid: 0\ndata: \{.*\}\n\nevent: ping\nid: 1\ndata: \{.*\}\n\n$/,
  );
});

test('/delay answers after the delay', async () => {
  assert.equal((await json('/delay/0.01'))['method'], 'GET');
});

test('a client that leaves takes the timer of its delay along', async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  // Were the timer kept, this file would outlive the time a test file is given.
  const waited = pause(response, 24 * 3600 * 1000);
  response.emit('close');
  assert.equal(await waited, false);
});

test('every answer carries httpbin’s CORS headers, a preflight all of them', async () => {
  const plain = await fetch(`${echo.url}/status/404`);
  assert.equal(plain.headers.get('access-control-allow-origin'), '*');
  assert.equal(plain.headers.get('access-control-allow-credentials'), 'true');
  const preflight = await fetch(`${echo.url}/post`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-headers': 'x-a, x-b' },
  });
  assert.equal(preflight.status, 200);
  assert.equal(preflight.headers.get('access-control-allow-origin'), 'https://a.example');
  assert.equal(preflight.headers.get('access-control-allow-headers'), 'x-a, x-b');
  assert.match(preflight.headers.get('access-control-allow-methods') ?? '', /PATCH/);
});

test('an unknown path is 404, a wrong method 405 with Allow, HEAD goes where GET goes', async () => {
  assert.equal((await fetch(`${echo.url}/nothing`)).status, 404);
  const wrong = await fetch(`${echo.url}/post`);
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'OPTIONS, POST']);
  const head = await fetch(`${echo.url}/headers`, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  assert.equal((await fetch(`${echo.url}/status/%ff`)).status, 400);
});

test('/ws sends text and binary messages back', async () => {
  const socket = new WebSocket(`${echo.url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  socket.send('héllo');
  const [text, textIsBinary] = (await once(socket, 'message')) as [Buffer, boolean];
  assert.deepEqual([text.toString(), textIsBinary], ['héllo', false]);
  socket.send(Buffer.alloc(200_000, 7));
  const [bytes, isBinary] = (await once(socket, 'message')) as [Buffer, boolean];
  assert.deepEqual([bytes.length, isBinary], [200_000, true]);
  socket.close();
  await once(socket, 'close');
});

test('a plain request to /ws is told to upgrade, a handshake elsewhere is 404, h2c offers are ignored', async () => {
  assert.equal((await fetch(`${echo.url}/ws`)).status, 426);
  const handshake =
    'Host: x\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
  assert.match(await raw(`GET /get HTTP/1.1\r\n${handshake}Upgrade: websocket\r\n\r\n`), /^HTTP\/1\.1 404 /);
  const offered = 'GET /ip HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n';
  assert.match(await raw(offered), /^HTTP\/1\.1 200 /);
});

test('the program takes --port, prints where it listens and stops on SIGTERM with 0', async () => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('index.ts', import.meta.url)), '--port', '0']);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const url = /http:\S+/.exec(line.toString())?.[0];
  assert.equal((await fetch(`${url}/ip`)).status, 200);
  child.kill('SIGTERM');
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});
