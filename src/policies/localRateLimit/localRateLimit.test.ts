import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { ItemCall, McpItem } from '../../mcp/contract.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { localRateLimit } from './index.ts';
import { LocalTokens } from './localTokens.ts';

interface Answer {
  readonly allowed: boolean;
  readonly limit: string | undefined;
  readonly remaining: string | undefined;
  readonly reset: string | undefined;
  readonly retryAfter: string | undefined;
}

/** A limiter with a clock that the test moves. */
function limiter(settings: unknown) {
  let clock = 1_000_000;
  const tokens = new LocalTokens(() => clock);
  const prepare = (written: unknown) => prepared(localRateLimit, written, { ...toolsWith([]), tokens });
  let steps = prepare(settings);
  const ask = (request: FakeRequest = {}): Answer => {
    const exchange = new FakeExchange(request);
    let error: GatewayError | undefined;
    try {
      assert.equal(steps.onRequest?.(exchange), undefined);
    } catch (thrown) {
      assert.ok(thrown instanceof GatewayError && thrown.code === 'rate_limited');
      error = thrown;
    }
    const headers = Object.fromEntries(exchange.responseHeaders.lines);
    return {
      allowed: error === undefined,
      limit: headers['x-ratelimit-limit'],
      remaining: headers['x-ratelimit-remaining'],
      reset: headers['x-ratelimit-reset'],
      retryAfter: Object.fromEntries(error?.headers ?? [])['retry-after'],
    };
  };
  return {
    ask,
    allowed: (request?: FakeRequest): boolean => ask(request).allowed,
    pass: (ms: number) => void (clock += ms),
    /** As a new configuration does: the next one is prepared before the last one closes. */
    reload: (written: unknown) => {
      const before = steps;
      steps = prepare(written);
      before.close?.();
    },
    kept: () => tokens.size,
  };
}

const from = (client: string): FakeRequest => ({ headers: [['x-client', client]] });

test('a bucket allows its tokens, then 429, and each response reports the remaining tokens', () => {
  const { ask, pass } = limiter([{ maxTokens: 2, tokensPerFill: 1, fillInterval: '10s' }]);
  const base = { limit: '2', reset: '10', retryAfter: undefined };
  assert.deepEqual(ask(), { ...base, allowed: true, remaining: '1' });
  assert.deepEqual(ask(), { ...base, allowed: true, remaining: '0' });
  pass(3_500);
  assert.deepEqual(ask(), { ...base, allowed: false, remaining: '0', reset: '7', retryAfter: '7' });
});

test('each interval adds the configured tokens, up to the maximum', () => {
  const { allowed, ask, pass } = limiter([{ maxTokens: 3, tokensPerFill: 2, fillInterval: '1s' }]);
  for (let i = 0; i < 3; i++) assert.equal(allowed(), true);
  pass(999);
  assert.equal(allowed(), false);
  pass(1);
  assert.deepEqual([allowed(), allowed(), allowed()], [true, true, false]);
  pass(60_000);
  assert.equal(ask().remaining, '2');
});

test('a clock that is set back does not stop the filling', () => {
  const { allowed, pass } = limiter([{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1s' }]);
  assert.equal(allowed(), true);
  pass(-3_600_000);
  assert.equal(allowed(), false);
  pass(1_000);
  assert.equal(allowed(), true);
});

test('several limits must all allow a request, and a refused one costs no token of the others', () => {
  const { allowed, ask, pass } = limiter([
    { maxTokens: 1, tokensPerFill: 1, fillInterval: '1s' },
    { maxTokens: 3, tokensPerFill: 3, fillInterval: '1h' },
  ]);
  assert.equal(allowed(), true);
  for (let i = 0; i < 10; i++) assert.equal(allowed(), false);
  for (let i = 0; i < 2; i++) {
    pass(1_000);
    assert.equal(allowed(), true);
  }
  pass(1_000);
  const last = ask();
  assert.equal(last.allowed, false);
  assert.equal(last.limit, '3', 'told is the limit that refuses');
});

test('each key has a bucket of its own, and requests without a key share one', () => {
  const { allowed } = limiter([
    { maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'request.headers["x-client"]' },
  ]);
  assert.deepEqual([allowed(from('a')), allowed(from('a'))], [true, false]);
  assert.deepEqual([allowed(from('b')), allowed(from('b'))], [true, false]);
  assert.deepEqual([allowed(), allowed()], [true, false]);
  const long = 'x'.repeat(5_000);
  assert.deepEqual(
    [allowed(from(`${long}1`)), allowed(from(`${long}2`)), allowed(from(`${long}1`))],
    [true, true, false],
  );
});

test('another address of the same IPv6 network draws from the same bucket', () => {
  const { allowed } = limiter([
    { maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'source.network' },
  ]);
  const by = (remoteAddress: string): boolean => allowed({ remoteAddress });
  assert.deepEqual([by('2001:db8:1:2::1'), by('2001:db8:1:2:ffff::7')], [true, false]);
  assert.deepEqual([by('2001:db8:1:3::1'), by('192.0.2.7'), by('::ffff:192.0.2.7')], [true, true, false]);
});

test('keys of different types are different keys', () => {
  const { allowed } = limiter([
    {
      maxTokens: 1,
      tokensPerFill: 1,
      fillInterval: '1h',
      key: 'request.method == "GET" ? dyn(1) : dyn("1")',
    },
  ]);
  assert.deepEqual([allowed(), allowed({ method: 'POST' }), allowed()], [true, true, false]);
});

test('beyond the number of keys the bucket that was not used for longest is forgotten', () => {
  const { allowed } = limiter([
    { maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'request.headers["x-client"]', maxKeys: 2 },
  ]);
  assert.equal(allowed(from('a')), true);
  assert.equal(allowed(from('b')), true);
  assert.equal(allowed(from('a')), false);
  assert.equal(allowed(from('c')), true);
  assert.equal(allowed(from('a')), false, 'was used after b');
  assert.equal(allowed(from('b')), true, 'was forgotten');
});

test('a reload leaves the buckets as they are, but where the limit itself has changed', () => {
  const limit = { maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'request.headers["x-client"]' };
  const { allowed, reload } = limiter([limit]);
  assert.equal(allowed(from('a')), true);
  reload([limit]);
  assert.deepEqual([allowed(from('a')), allowed(from('b'))], [false, true]);
  reload([{ ...limit, fillInterval: '2h' }]);
  assert.equal(allowed(from('a')), true);
});

test('buckets of a limit that is no more are forgotten after a while', () => {
  const limit = { maxTokens: 1, tokensPerFill: 1, fillInterval: '1h' };
  const { allowed, reload, kept, pass } = limiter([limit]);
  allowed();
  for (let n = 2; n < 5; n++) reload([{ ...limit, maxTokens: n }]);
  assert.equal(kept(), 4);
  pass(59_000);
  reload([limit]);
  assert.equal(allowed(), false, 'it was not gone for long');
  pass(120_000);
  reload([limit]);
  assert.equal(kept(), 1);
});

test('a limit with the same numbers beside another one is a limit of its own', () => {
  const limit = { maxTokens: 2, tokensPerFill: 1, fillInterval: '1h' };
  const { ask } = limiter([limit, limit]);
  assert.equal(ask().remaining, '1');
  assert.equal(ask().remaining, '0');
});

test('limits that allow nothing or everything, and unsupported settings, are rejected', () => {
  const good = { maxTokens: 1, tokensPerFill: 1, fillInterval: '1s' };
  const issues = (settings: unknown) => localRateLimit.schema.safeParse(settings).error?.issues ?? [];
  for (const settings of [
    [],
    [{ ...good, maxTokens: 0 }],
    [{ ...good, tokensPerFill: 0 }],
    [{ maxTokens: 1, tokensPerFill: 1 }],
    [{ ...good, fillInterval: '0s' }],
    [{ ...good, type: 'bytes' }],
    [{ ...good, key: 'request.nothing' }],
    [{ ...good, burst: 1 }],
    good,
    {},
  ])
    assert.notEqual(issues(settings).length, 0, JSON.stringify(settings));
  assert.match(issues([{ ...good, type: 'tokens' }])[0]?.message ?? '', /not built yet/);
  assert.match(
    JSON.stringify(issues({ conditional: [{ ...good, condition: 'true' }] })),
    /conditional limits/,
  );
  assert.deepEqual(issues([{ ...good, type: 'requests' }]), []);
});

/** Counts uses of items with these limits; the answer of each: admitted or not. */
async function uses(
  limits: readonly object[],
  items: readonly McpItem[],
  readNames?: (item: McpItem) => readonly string[] | undefined,
): Promise<readonly boolean[]> {
  const steps = prepared(localRateLimit, limits);
  assert.equal(steps.onRequest, undefined);
  const admitted: boolean[] = [];
  for (const item of items) {
    const call: ItemCall = {
      method: item.kind === 'tool' ? 'tools/call' : 'prompts/get',
      sessionId: 's',
      ...(readNames && { readNames: () => readNames(item) }),
    };
    const counted = Promise.resolve(steps.countMcpCall?.(new FakeExchange(), item, call));
    admitted.push(
      await counted.then(
        () => true,
        (error: unknown) => {
          assert.ok(error instanceof GatewayError && error.code === 'rate_limited');
          return false;
        },
      ),
    );
  }
  steps.close?.();
  return admitted;
}

const once = { maxTokens: 1, tokensPerFill: 1, fillInterval: '1h' };
const tool = (name: string): McpItem => ({ kind: 'tool', target: 't', name });
const prompt = (name: string): McpItem => ({ kind: 'prompt', target: 't', name });

test('a limit with mcp.* counts uses of items, and a key about tools counts no prompts', async () => {
  const items = [tool('a'), tool('a'), tool('b'), prompt('a'), prompt('a')];
  assert.deepEqual(await uses([{ ...once, key: 'mcp.tool.name' }], items), [true, false, true, true, true]);
  assert.deepEqual(await uses([{ ...once, key: 'mcp.methodName' }], items), [
    true,
    false,
    false,
    true,
    false,
  ]);
  assert.deepEqual(await uses([{ ...once, key: 'mcp.tool.name + mcp.sessionId' }], items.slice(0, 2)), [
    true,
    false,
  ]);
});

test('a key that comes to null counts nothing, and uses with a failing key share a bucket', async () => {
  const items = [tool('a'), tool('a'), tool('b'), tool('b')];
  const onlyA = { ...once, key: 'mcp.tool.name == "a" ? "x" : null' };
  assert.deepEqual(await uses([onlyA], items), [true, false, true, true]);
  const failing = { ...once, key: 'mcp.tool.name + request.headers["x-absent"]' };
  assert.deepEqual(await uses([failing], items), [true, false, false, false]);
});

test('a use counts for each name that its server may read, and a name that cannot be read like a failure', async () => {
  const items = ['note://a', 'NOTE://a', 'note://b', '?', '?'].map((name): McpItem => ({
    kind: 'resource',
    target: 't',
    name,
  }));
  const readNames = ({ name }: McpItem): readonly string[] | undefined =>
    name === '?' ? undefined : [...new Set([name, name.toLowerCase()])];
  const each = { ...once, key: 'mcp.resource.name' };
  assert.deepEqual(await uses([each], items, readNames), [true, false, true, true, false]);
  const one = { ...once, key: 'mcp.resource.name == "note://a" ? "x" : null' };
  assert.deepEqual(await uses([one], items, readNames), [true, false, true, true, false]);
});

test('limits of requests and of uses stand in one list, and each has its own place', () => {
  const steps = prepared(localRateLimit, [{ ...once, key: 'mcp.tool.name' }, once]);
  const exchange = new FakeExchange();
  assert.equal(steps.onRequest?.(exchange), undefined);
  assert.throws(
    () => steps.onRequest?.(exchange),
    (error) => error instanceof GatewayError && error.by?.place === '[1]',
  );
  assert.notEqual(steps.countMcpCall, undefined);
});

test('the key of a limit cannot read the arguments of a call', () => {
  const { error } = localRateLimit.schema.safeParse([{ ...once, key: 'mcp.tool.arguments.a' }]);
  assert.match(
    error?.issues[0]?.message ?? '',
    /arguments is not available here: each value of an argument would be a counter of its own/,
  );
});
