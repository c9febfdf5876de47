import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BinaryWriter } from '@bufbuild/protobuf/wire';
import { GatewayError, NotEvaluated } from '../../errors.ts';
import { ownCookieNames } from '../facts.ts';
import { FakeExchange } from '../exchange.testing.ts';
import type { HostAnswer, HostCall, PolicyTools, Trial } from '../policy.ts';
import { prepared, toolsWith } from '../tools.testing.ts';
import { remoteRateLimit } from './index.ts';
import { decodeAnswer } from './wire.ts';

const settings = {
  host: 'limits.test:8081',
  domain: 'tests',
  descriptors: [{ entries: [{ key: 'path', value: 'request.path' }] }],
};

/** Field number → number, text or bytes; a list repeats the field. */
function message(fields: Readonly<Record<number, unknown>>): Buffer {
  const writer = new BinaryWriter();
  for (const [field, values] of Object.entries(fields))
    for (const value of Array.isArray(values) ? (values as unknown[]) : [values]) {
      if (typeof value === 'number') writer.uint32(Number(field) << 3).int64(value);
      else if (typeof value === 'string') writer.uint32((Number(field) << 3) | 2).string(value);
      else writer.uint32((Number(field) << 3) | 2).bytes(value as Buffer);
    }
  return Buffer.from(writer.finish());
}

const [okCode, overCode] = [1, 2];

function answerOf(bytes: Buffer): HostAnswer {
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(bytes.length, 1);
  return { status: 200, headers: [], body: Buffer.concat([frame, bytes]), trailers: [['grpc-status', '0']] };
}

/** A policy whose service gives these answers. */
function asking(ask: (call: HostCall) => HostAnswer | Promise<HostAnswer>, more: object = {}) {
  const lines = toolsWith([]);
  let clock = 0;
  const calls: HostCall[] = [];
  const tools: PolicyTools = {
    ...lines,
    now: () => clock,
    hosts: {
      use: () => ({
        ask: async (call) => {
          calls.push(call);
          return await ask(call);
        },
      }),
    },
  };
  const steps = prepared(remoteRateLimit, { ...settings, ...more }, tools);
  return {
    calls,
    log: lines.lines,
    pass: (ms: number) => void (clock += ms),
    run: async (exchange = new FakeExchange()): Promise<GatewayError | undefined> => {
      try {
        assert.equal(await steps.onRequest?.(exchange), undefined);
        return undefined;
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error));
        return error;
      }
    },
    steps,
  };
}

test('an explanation of a request asks no service, and says so', () => {
  const { steps, calls } = asking(() => answerOf(message({ 1: okCode })));
  const exchange = Object.assign(new FakeExchange(), {
    trial: { claims: undefined, note: () => undefined } satisfies Trial,
  });
  assert.throws(() => steps.onRequest?.(exchange), NotEvaluated);
  assert.equal(calls.length, 0);
});

test('bytes that are no answer, or hold no verdict, refuse the request unless failureMode is failOpen', async () => {
  const status = message({ 1: overCode });
  const wrong: readonly Buffer[] = [
    Buffer.alloc(0),
    Buffer.from([0x08]),
    Buffer.from([0x12, 0x7f, 0x00]),
    Buffer.from('ff'.repeat(20), 'hex'),
    message({ 1: 'OK' }),
    message({ 1: 3 }),
    message({ 1: 0, 2: status }),
    message({ 1: okCode, 3: message({ 1: Buffer.from([0xff, 0xfe]) }) }),
    message({ 1: okCode, 2: Buffer.from([0x12, 0x05]) }),
  ];
  for (const bytes of wrong) {
    assert.equal((await asking(() => answerOf(bytes)).run())?.code, 'rate_limit_service_failed');
    assert.equal(await asking(() => answerOf(bytes), { failureMode: 'failOpen' }).run(), undefined);
  }
});

test('an answer that is not gRPC refuses the request', async () => {
  const good = answerOf(message({ 1: okCode }));
  const wrong: readonly HostAnswer[] = [
    { ...good, status: 503 },
    { ...good, trailers: [] },
    { ...good, trailers: [['grpc-status', '14']] },
    { ...good, body: good.body.subarray(1) },
  ];
  for (const answer of wrong)
    assert.equal((await asking(() => answer).run())?.code, 'rate_limit_service_failed');
  assert.equal(await asking(() => good).run(), undefined);
});

test('a service that repeats parts without end takes no more memory than 64 of them', () => {
  const header = message({ 1: 'x-a', 2: '1' });
  const many = <Item>(item: Item): Item[] => Array.from({ length: 10_000 }, () => item);
  const answer = decodeAnswer(
    message({ 1: okCode, 2: many(message({})), 3: many(header), 4: many(header), 5: ['a', 'b'] }),
  );
  const { statuses, responseHeaders, requestHeaders, body } = answer;
  assert.deepEqual(
    [statuses, responseHeaders, requestHeaders].map(({ length }) => length),
    [64, 64, 64],
  );
  assert.equal(String(body), 'b');
});

test('a reset in the past is one second, and a limit of 0 is a limit', async () => {
  const status = message({ 1: overCode, 2: message({ 1: 0 }), 4: message({ 1: -5, 2: -1 }) });
  const { run } = asking(() => answerOf(message({ 1: overCode, 2: status })));
  const exchange = new FakeExchange();
  const refused = await run(exchange);
  assert.deepEqual(refused?.headers, [['retry-after', '1']]);
  assert.deepEqual(exchange.responseHeaders.lines, [
    ['x-ratelimit-limit', '0'],
    ['x-ratelimit-remaining', '0'],
    ['x-ratelimit-reset', '1'],
  ]);
});

test('a service without numbers refuses too, and the log names the domain', async () => {
  const { run } = asking(() => answerOf(message({ 1: overCode, 2: message({ 1: overCode }) })));
  assert.deepEqual((await run())?.by, { rule: 'path', place: '.descriptors[0]' });
  const bare = await asking(() => answerOf(message({ 1: overCode }))).run();
  assert.deepEqual([bare?.code, bare?.by, bare?.headers], ['rate_limited', { rule: 'domain tests' }, []]);
});

test('a service sets cookies of the app, and none by which the gateway knows a login', async () => {
  const cookie = (value: string): Buffer => message({ 1: 'set-cookie', 2: value });
  const own = `__Host-${ownCookieNames[0]}-x0=sealed`;
  const exchange = new FakeExchange();
  const headers = [cookie('a=1'), cookie(own)];
  await asking(() => answerOf(message({ 1: 1, 3: headers }))).run(exchange);
  assert.deepEqual(exchange.responseHeaders.lines, [['set-cookie', 'a=1']]);
});

test('a body of the service above 64 KiB is not sent', async () => {
  const refusedWith = async (length: number): Promise<GatewayError | undefined> =>
    await asking(() => answerOf(message({ 1: overCode, 5: Buffer.alloc(length, 'x') }))).run();
  const [sent, tooLong] = [await refusedWith(65_536), await refusedWith(65_537)];
  assert.equal(sent?.body?.bytes.length, 65_536);
  assert.equal(sent.body.type, 'text/plain; charset=utf-8');
  assert.deepEqual([tooLong?.code, tooLong?.body], ['rate_limited', undefined]);
});

test('a service that stays away is in the log once in ten seconds, with the number of omitted lines', async () => {
  const { run, log, pass } = asking(() => Promise.reject(new Error('no route to host')));
  for (let nth = 0; nth < 3; nth++) await run();
  assert.equal(log.length, 1);
  pass(10_000);
  await run();
  assert.equal(log.length, 2);
  assert.match(JSON.stringify(log[0]), /limits\.test:8081.*no route to host/);
  assert.match(JSON.stringify(log[1]), /"omitted":2/);
});
