import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange } from './exchange.testing.ts';
import { GrpcServer } from './grpcServer.ts';
import type { HostAnswer } from './policy.ts';
import { toolsWith } from './tools.testing.ts';

const empty: HostAnswer = {
  status: 200,
  headers: [],
  body: Buffer.alloc(5),
  trailers: [['grpc-status', '0']],
};

test('callers that leave during a call to the server of a tenant take no call away from others', async () => {
  let isStuck = true;
  const hosts = {
    use: () => ({
      // As with a real host, the call of an exchange that is over never ends.
      ask: () => (isStuck ? new Promise<HostAnswer>(() => undefined) : Promise.resolve(empty)),
    }),
  };
  const server = new GrpcServer({ host: 'a', port: 1 }, 1_000, { ...toolsWith([]), hosts, guarded: true });
  const ask = (exchange = new FakeExchange()) => server.ask('/service/Call', new Uint8Array(), exchange);
  const waiting = Array.from({ length: 64 }, () => new FakeExchange());
  for (const exchange of waiting) void ask(exchange);
  await assert.rejects(ask(), /64 checks are in progress/);
  for (const { closeListeners } of waiting) for (const listener of closeListeners) listener();
  isStuck = false;
  assert.equal((await ask()).message.length, 0);
});
