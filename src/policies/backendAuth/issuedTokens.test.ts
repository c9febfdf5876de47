import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import { toolsWith } from '../tools.testing.ts';
import { backendAuthSchema } from './facts.ts';
import { IssuedTokens } from './issuedTokens.ts';
import { TokenSpace } from './tokenSpace.ts';
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

test('a refused grant is refused again for two seconds, and another failure lasts one second', async () => {
  for (const [code, lasts] of [
    ['backend_login_required', 2_000],
    ['backend_auth_failed', 1_000],
    ['policy_failed', 0],
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
    now = Math.max(0, lasts - 1);
    await assert.rejects(get, { code });
    assert.equal(asked, lasts === 0 ? 2 : 1, code);
    now = lasts;
    await assert.rejects(get, { code });
    assert.equal(asked, lasts === 0 ? 3 : 2, code);
  }
});

test('requests wait ten seconds for a token, and one that arrives later serves the next request', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const tokens = new IssuedTokens({ maxEntries: 1, defaultTtlMs: 60_000 }, () => now);
  const asked: ((token: string) => void)[] = [];
  const get = async (): Promise<string> =>
    await tokens.get(
      ['a'],
      [],
      async () => await new Promise((issue) => asked.push((token) => issue({ token, expiresAt: undefined }))),
    );
  const waiting = [get(), get()];
  t.mock.timers.tick(10_000);
  for (const one of waiting) await assert.rejects(one, { code: 'backend_auth_failed' });
  await assert.rejects(get, { code: 'backend_auth_failed' });
  assert.equal(asked.length, 1, 'a server that hangs is not asked again at once');
  asked[0]?.('late');
  await new Promise(setImmediate);
  assert.equal(await get(), 'late');
  now = 120_000;
  const next = get();
  asked[1]?.('next');
  assert.equal(await next, 'next');
  t.mock.timers.tick(10_000);
  assert.equal(await get(), 'next');
});

test('a failure does not replace a token that arrived late while the failed request was under way', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  const tokens = new IssuedTokens({ maxEntries: 1, defaultTtlMs: 60_000 }, () => now);
  const asked: PromiseWithResolvers<IssuedToken>[] = [];
  const get = async (): Promise<string> =>
    await tokens.get(['a'], [], async () => {
      asked.push(Promise.withResolvers());
      return await (asked.at(-1) as (typeof asked)[number]).promise;
    });
  const first = get();
  t.mock.timers.tick(10_000);
  await assert.rejects(first, { code: 'backend_auth_failed' });
  now = 1_000;
  const second = get();
  asked[0]?.resolve({ token: 'late', expiresAt: undefined });
  await new Promise(setImmediate);
  asked[1]?.reject(new GatewayError('backend_login_required'));
  await assert.rejects(second, { code: 'backend_login_required' });
  assert.equal(await get(), 'late');
  now = 120_000;
  const third = get();
  asked[2]?.reject(new GatewayError('backend_login_required'));
  await assert.rejects(third, { code: 'backend_login_required' });
  await assert.rejects(get, { code: 'backend_login_required' });
  assert.equal(asked.length, 3, 'a token that has ended keeps no failure away');
});

/** A kept token that is good for 25 seconds more, and the answers of its server to the next requests. */
async function tokenToRenew() {
  let now = 0;
  const tokens = new IssuedTokens({ maxEntries: 1, defaultTtlMs: 3_600_000 }, () => now);
  const asked: PromiseWithResolvers<IssuedToken>[] = [];
  const get = async (): Promise<string> =>
    await tokens.get(['a'], [], async () => {
      asked.push(Promise.withResolvers());
      return await (asked.at(-1) as (typeof asked)[number]).promise;
    });
  const first = get();
  asked.shift()?.resolve({ token: 'kept', expiresAt: undefined });
  await first;
  now = 3_600_000 - 25_000;
  return { asked, get, pass: (ms: number) => void (now += ms) };
}

test('a token that is still good serves while its server is down, and its server is asked each second', async () => {
  const { asked, get, pass } = await tokenToRenew();
  const refused = get();
  asked[0]?.reject(new GatewayError('backend_auth_failed'));
  assert.equal(await refused, 'kept');
  assert.equal(await get(), 'kept');
  assert.equal(asked.length, 1);
  pass(1_000);
  const again = get();
  asked[1]?.resolve({ token: 'next', expiresAt: undefined });
  assert.equal(await again, 'next');
  assert.equal(await get(), 'next');
  assert.equal(asked.length, 2);
});

test('a request waits one second for the next token while the kept one is good', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { asked, get, pass } = await tokenToRenew();
  const waiting = get();
  t.mock.timers.tick(1_000);
  assert.equal(await waiting, 'kept');
  pass(24_500);
  const scarce = get();
  pass(500);
  t.mock.timers.tick(1_000);
  await new Promise(setImmediate);
  asked[0]?.resolve({ token: 'next', expiresAt: undefined });
  assert.equal(await scarce, 'next', 'the kept token has ended meanwhile');
  assert.equal(asked.length, 1);
});

test('a refused grant ends the use of a token that is still good', async () => {
  const { asked, get } = await tokenToRenew();
  const refused = get();
  asked[0]?.reject(new GatewayError('backend_login_required'));
  await assert.rejects(refused, { code: 'backend_login_required' });
  await assert.rejects(get, { code: 'backend_login_required' });
  assert.equal(asked.length, 1);
});

test('refused tokens of strangers remove no token, and only the newest refusals are kept', async () => {
  let asked = 0;
  const tokens = new IssuedTokens({ maxEntries: 10, defaultTtlMs: 60_000 }, () => 0);
  const get = async (part: string, answer: () => IssuedToken): Promise<unknown> =>
    await tokens.get([part], [], async () => {
      asked++;
      return await Promise.resolve(answer());
    });
  await get('user', () => ({ token: 't', expiresAt: undefined }));
  const refuse = (): never => {
    throw new GatewayError('backend_login_required');
  };
  const invent = (part: string) => assert.rejects(get(part, refuse), { code: 'backend_login_required' });
  for (let at = 0; at < 513; at++) await invent(`invented ${String(at)}`);
  assert.equal(await get('user', refuse), 't');
  assert.equal(asked, 514);
  await invent('invented 512');
  assert.equal(asked, 514);
  await invent('invented 0');
  assert.equal(asked, 515);
});

test('the policies of a tenant share a memory for tokens, and a policy that ends gives its part back', async () => {
  const { keySets } = toolsWith([]);
  const cache = { maxEntries: 1_000_000, defaultTtlMs: 60_000 };
  const of = (tenant: string): IssuedTokens =>
    new IssuedTokens(cache, Date.now, TokenSpace.of({ keySets, tenant }));
  const fill = async (tokens: IssuedTokens): Promise<number> => {
    for (let at = 0; at < 1_000; at++)
      await tokens.get([String(at)], [], () =>
        Promise.resolve({ token: 'a'.repeat(16_384), expiresAt: undefined }),
      );
    return tokens.size;
  };
  const [first, second, other] = [of('shop'), of('shop'), of('bank')];
  const all = await fill(first);
  assert.ok(all > 400 && all < 512, String(all));
  assert.equal(await fill(second), 0, 'there is no room');
  assert.equal(await fill(other), all, 'another tenant has room of its own');
  first.close();
  assert.equal(await fill(first), 0, 'a token that arrives after the end is not kept');
  assert.equal(await fill(second), all);
});

/** An RSA private key in DER (RFC 8017, appendix A.1.2), whose modulus has more bytes behind it. */
function rsaKey(more: number): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const jwk = privateKey.export({ format: 'jwk' });
  const tagged = (tag: number, content: Buffer): Buffer => {
    const head = Buffer.alloc(4, tag);
    head.writeUInt8(0x82, 1);
    head.writeUInt16BE(content.length, 2);
    return Buffer.concat([head, content]);
  };
  const numbers = (['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] as const).map((name) =>
    Buffer.concat([
      Buffer.from([0]),
      Buffer.from(jwk[name] ?? '', 'base64url'),
      Buffer.alloc(name === 'n' ? more : 0, 0xa5),
    ]),
  );
  const all = [Buffer.from([0]), ...numbers].map((bytes) => tagged(2, bytes));
  return `-----BEGIN RSA PRIVATE KEY-----\n${tagged(0x30, Buffer.concat(all)).toString('base64')}\n-----END RSA PRIVATE KEY-----\n`;
}

test('a key with which a signature takes seconds is refused', () => {
  const signingKey = (pem: string) => backendAuthSchema.safeParse({ jwtSign: { signingKey: pem } });
  assert.match(signingKey(rsaKey(512)).error?.message ?? '', /expected an RSA key of 2048 to 4096 bits/);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  assert.equal(signingKey(pem).success, true);
});
