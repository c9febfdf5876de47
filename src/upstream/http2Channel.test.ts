import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Http2Channel } from './http2Channel.ts';
import { Http2Sessions } from './http2Sessions.ts';

async function backend(t: TestContext) {
  const server = createServer((_request, response) => void response.end('hello'));
  const ended = once(server, 'session').then(async ([session]) => await once(session, 'close'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const sessions = new Http2Sessions({ host: '127.0.0.1', port }, undefined);
  t.after(() => sessions.destroy());
  return { sessions, ended };
}

/** The whole answer to a GET; rejects where the channel fails. */
async function answerOf(channel: Http2Channel): Promise<string> {
  let text = '';
  channel.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  channel.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  while (!text.includes('hello')) await once(channel, 'data');
  return text;
}

test('a request that has a place on a session begins there, although the session was left meanwhile', async (t) => {
  const { sessions, ended } = await backend(t);
  const channel = new Http2Channel(sessions);
  sessions.retire();
  await once(channel, 'connect');
  assert.match(await answerOf(channel), /^HTTP\/1\.1 200 /);
  channel.destroy();
  await ended;
});

test('a session that was left ends with the last request that has a place, also where one never begins', async (t) => {
  const { sessions, ended } = await backend(t);
  const [gone, kept] = [new Http2Channel(sessions), new Http2Channel(sessions)];
  await once(kept, 'connect');
  sessions.retire();
  gone.destroy();
  assert.match(await answerOf(kept), /^HTTP\/1\.1 200 /);
  kept.destroy();
  await ended;
});
