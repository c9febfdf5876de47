import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange } from '../exchange.testing.ts';
import { toolsWith } from '../tools.testing.ts';
import { bearer } from '../token/schema.ts';
import { ownTokenSender } from './ownToken.ts';

test('a token is renewed before its end, and at once when the credential changes', async () => {
  let now = 0;
  let asked = 0;
  let credential = 'one';
  const sender = ownTokenSender(
    {
      parts: () => [credential],
      ask: () => {
        asked++;
        return Promise.resolve({ token: `${credential}-${String(asked)}`, expiresAt: now + 3_600_000 });
      },
      problem: () => undefined,
      close: () => undefined,
    },
    bearer,
    { ...toolsWith([]), now: () => now },
  );
  const sent = async (): Promise<string | undefined> => {
    const exchange = new FakeExchange({ headers: [['authorization', 'Bearer mine']] });
    await sender.send(exchange);
    return exchange.requestHeaders.apply(exchange.request.headerLines())[0]?.[1];
  };
  assert.equal(await sent(), 'Bearer one-1');
  now = 3_600_000 - 30_001;
  assert.equal(await sent(), 'Bearer one-1');
  now = 3_600_000 - 30_000;
  assert.equal(await sent(), 'Bearer one-2');
  credential = 'two';
  assert.equal(await sent(), 'Bearer two-3');
});
