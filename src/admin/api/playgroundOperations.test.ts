import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type ClientRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { until } from '../../until.testing.ts';
import { serve } from '../answer.ts';
import type { GatewayViews, PlayedRequest } from '../contract.ts';
import { playgroundOperations } from './playgroundOperations.ts';

interface Waiting {
  readonly signal: AbortSignal;
  readonly answer: (response: PlayedRequest) => void;
}

async function* bodyOf(text: string): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.from(text));
}

const responseWith = (text: string): PlayedRequest => ({
  status: 200,
  headers: {},
  requestId: 'r',
  body: bodyOf(text),
});

/** The pages of the playground on a port, before a data plane that answers when the test says so. */
async function playground(t: TestContext) {
  const waiting: Waiting[] = [];
  const left: true[] = [];
  const play: GatewayViews['play'] = async (_request, signal) => {
    const { promise, resolve } = Promise.withResolvers<PlayedRequest>();
    waiting.push({ signal, answer: resolve });
    return await promise;
  };
  const pages = playgroundOperations({ play } as GatewayViews).map(({ page }) => page);
  const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log };
  const answer = serve({ pages, log, admit: () => ({ caller: { role: 'operator', by: 'secret' } }) });
  const server = createServer((asked, response) => {
    response.once('close', () => left.push(true));
    void answer(asked, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const send = (): ClientRequest => {
    const sent = request({
      port,
      method: 'POST',
      path: '/api/v1/playground/a/stream',
      agent: false,
      headers: { 'content-type': 'application/json' },
    });
    sent.on('error', () => undefined);
    sent.end(JSON.stringify({ method: 'GET', path: '/', headers: {} }));
    return sent;
  };
  return { send, waiting, left };
}

test('clients that leave a stream before its head free their places', async (t) => {
  const { send, waiting, left } = await playground(t);
  const clients = Array.from({ length: 16 }, send);
  await until('all requests are under way', () => waiting.length === 16);
  for (const client of clients) client.destroy();
  await until('all clients have left', () => left.length === 16);
  for (const { answer } of waiting) answer(responseWith('late'));
  await until('all requests have ended', () => waiting.every(({ signal }) => signal.aborted));
  const next = send();
  await until('the next request is under way', () => waiting.length === 17);
  waiting[16]?.answer(responseWith('hello'));
  const [answered] = (await once(next, 'response')) as [AsyncIterable<Buffer>];
  const parts: Buffer[] = [];
  for await (const part of answered) parts.push(part);
  assert.match(Buffer.concat(parts).toString(), /event: head\n[^]*"text":"hello"[^]*event: end\n/);
});
