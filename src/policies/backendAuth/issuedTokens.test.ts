import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { IssuedTokens } from './issuedTokens.ts';
import type { IssuedToken } from './tokenServer.ts';

/** A JSON Web Token that ends at this time, in milliseconds. */
const jwt = (end: number): string =>
  `e30.${Buffer.from(JSON.stringify({ exp: end / 1_000 })).toString('base64url')}.sig`;

/** Tokens at a time that the test sets. */
function tokensAt(issue: () => IssuedToken, maxEntries = 100) {
  const clock = { now: 1_000_000 };
  let asked = 0;
  const tokens = new IssuedTokens({ maxEntries, defaultTtlMs: 100_000 }, () => clock.now);
  const get = async (part = 'a', made: readonly string[] = []): Promise<number> => {
    await tokens.get([part], made, async () => {
      asked++;
      return await Promise.resolve(issue());
    });
    return asked;
  };
  return { clock, get, tokens };
}

test('a token is replaced before the first of all ends that count', async () => {
  const start = 1_000_000;
  for (const [issued, made, kept] of [
    [{ token: 't', expiresAt: start + 50_000 }, [], 45_000],
    [{ token: 't', expiresAt: undefined }, [], 90_000],
    [{ token: 't', expiresAt: start + 3_600_000 }, [], 3_570_000],
    [{ token: jwt(start + 20_000), expiresAt: start + 50_000 }, [], 18_000],
    [{ token: 't', expiresAt: start + 50_000 }, ['opaque', jwt(start + 10_000)], 9_000],
  ] as const) {
    const { clock, get } = tokensAt(() => issued);
    assert.equal(await get('a', made), 1);
    clock.now = start + kept - 1;
    assert.equal(await get('a', made), 1, JSON.stringify(issued));
    clock.now = start + kept;
    assert.equal(await get('a', made), 2, JSON.stringify(issued));
  }
});

test('a token that has ended is sent once and not kept', async () => {
  const { get, tokens } = tokensAt(() => ({ token: jwt(5_000), expiresAt: undefined }));
  assert.equal(await get(), 1);
  assert.equal(tokens.size, 0);
});

test('the token that was used longest ago makes room', async () => {
  const { get, tokens } = tokensAt(() => ({ token: 't', expiresAt: undefined }), 2);
  await get('a');
  await get('b');
  await get('a');
  assert.equal(await get('c'), 3);
  assert.equal(tokens.size, 2);
  assert.equal(await get('a'), 3);
  assert.equal(await get('b'), 4);
});

test('a refused grant is refused again for two seconds, and another failure is tried again at once', async () => {
  for (const [code, again] of [
    ['backend_login_required', 1],
    ['backend_auth_failed', 2],
  ] as const) {
    let asked = 0;
    let now = 0;
    const tokens = new IssuedTokens({ maxEntries: 1, defaultTtlMs: 1 }, () => now);
    const get = async (): Promise<unknown> =>
      await tokens.get(['a'], [], () => {
        asked++;
        throw new GatewayError(code);
      });
    await assert.rejects(get, { code });
    now = 1_999;
    await assert.rejects(get, { code });
    assert.equal(asked, again);
    now = 2_000;
    await assert.rejects(get, { code });
    assert.equal(asked, again + 1);
  }
});
