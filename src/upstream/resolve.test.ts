import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test, type TestContext } from 'node:test';
import { recordingLog, type LogLine } from '../mcp/harness.testing.ts';
import type { BackendAddress } from '../model/index.ts';
import { until } from '../until.testing.ts';
import { Resolution, systemLookup, type Found, type Preferences } from './resolve.ts';

test('the resolver of the system knows this machine, however many ask at once', async () => {
  const found = await Promise.all(Array.from({ length: 20 }, () => systemLookup.lookup('localhost')));
  for (const addresses of found)
    assert.ok(addresses.some(({ address }) => address === '127.0.0.1' || address === '::1'));
});

test('a name that does not exist is a failure, and others are found all the same', async () => {
  const asked = await Promise.allSettled(
    ['nowhere.invalid', 'localhost', 'nowhere.invalid', 'localhost'].map((name) => systemLookup.lookup(name)),
  );
  assert.deepEqual(
    asked.map(({ status }) => status),
    ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
  );
});

/** Names and their addresses, as a test changes them; a name without a row cannot be found. */
type Names = Record<string, readonly string[]>;

interface Watched {
  readonly resolution: Resolution;
  /** Every list that the resolution has told, as `address:port/tier`. */
  readonly told: string[][];
  readonly asked: string[];
  readonly log: readonly LogLine[];
}

function watch(t: TestContext, names: Names, everyMs = 60_000): Watched {
  const told: string[][] = [];
  const asked: string[] = [];
  const { log, lines } = recordingLog();
  const resolution = new Resolution(
    {
      everyMs,
      lookup: async (name) => {
        asked.push(name);
        await Promise.resolve();
        const found = names[name];
        if (found === undefined) throw Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' });
        return found.map((address) => ({ address, family: isIP(address) }));
      },
    },
    log,
    (found) => void told.push(found.map(({ host, port, tier }) => `${host}:${port}/${tier}`)),
  );
  t.after(() => resolution.close());
  return { resolution, told, asked, log: lines };
}

const any: Preferences = { lookupFamily: 'All' };
const at = (host: string, zone?: string): BackendAddress => ({ host, port: 80, ...(zone && { zone }) });

test('until a name is known, the backend is reached by the name itself', async (t) => {
  const { resolution, told } = watch(t, { 'app.test': ['127.0.0.1', '127.0.0.2'] });
  resolution.use([at('app.test')], any);
  assert.deepEqual(told, [['app.test:80/0']]);
  await resolution.looking;
  assert.deepEqual(told.at(-1), ['127.0.0.1:80/0', '127.0.0.2:80/0']);
  assert.equal(resolution.looking, undefined);
});

test('addresses are used at once and asked of nobody', (t) => {
  const { resolution, told, asked } = watch(t, {});
  resolution.use([at('127.0.0.1'), at('::1')], any);
  assert.equal(resolution.looking, undefined);
  assert.deepEqual(told, [['127.0.0.1:80/0', '::1:80/0']]);
  assert.deepEqual(asked, []);
});

for (const [lookupFamily, expected] of [
  ['All', ['127.0.0.1:80/0', '::1:80/0']],
  ['V4Preferred', ['127.0.0.1:80/0', '::1:80/1']],
  ['V4Only', ['127.0.0.1:80/0']],
  ['V6Only', ['::1:80/0']],
] as const)
  test(`with lookupFamily ${lookupFamily} a name with addresses of both families gives ${expected.join(' and ')}`, async (t) => {
    const { resolution, told } = watch(t, { 'app.test': ['127.0.0.1', '::1'] });
    resolution.use([at('app.test')], { lookupFamily });
    await resolution.looking;
    assert.deepEqual(told.at(-1), expected);
  });

test('addresses of another zone come last, and an address in both lists counts where it is better', (t) => {
  const { resolution, told } = watch(t, {});
  resolution.use([at('127.0.0.1', 'a'), at('127.0.0.2', 'b'), at('127.0.0.3'), at('127.0.0.1', 'b')], {
    ...any,
    zone: 'b',
  });
  assert.deepEqual(told.at(-1), ['127.0.0.1:80/0', '127.0.0.2:80/0', '127.0.0.3:80/0']);
  resolution.use([at('127.0.0.1', 'a'), at('127.0.0.2', 'b')], { ...any, zone: 'b' });
  assert.deepEqual(told.at(-1), ['127.0.0.1:80/2', '127.0.0.2:80/0']);
  resolution.use([at('127.0.0.1', 'b'), at('127.0.0.1', 'a')], { ...any, zone: 'b' });
  assert.deepEqual(told.at(-1), ['127.0.0.1:80/0']);
});

test('a name is asked for again and again; the same addresses in another order are no change', async (t) => {
  const names: Names = { 'app.test': ['127.0.0.1', '127.0.0.2'] };
  const { resolution, told, asked } = watch(t, names, 1);
  resolution.use([at('app.test')], any);
  await resolution.looking;
  const before = told.length;
  names['app.test'] = ['127.0.0.2', '127.0.0.1'];
  const then = asked.length;
  await until('the name was asked for twice more', () => asked.length >= then + 2);
  assert.equal(told.length, before);
  names['app.test'] = ['127.0.0.3'];
  await until('the change is told', () => told.at(-1)?.join() === '127.0.0.3:80/0');
});

test('a name that cannot be found leaves its addresses in use; the log has one line for it, and one for the end', async (t) => {
  const names: Names = { 'app.test': ['127.0.0.1'] };
  const { resolution, told, log } = watch(t, names, 1);
  resolution.use([at('app.test')], any);
  await resolution.looking;
  delete names['app.test'];
  await until('the name failed several times', () => resolution.failed > 3);
  assert.deepEqual(told.at(-1), ['127.0.0.1:80/0']);
  names['app.test'] = ['127.0.0.1'];
  const { found } = resolution;
  await until('the name is found again', () => resolution.found > found);
  names['app.test'] = [];
  const { failed } = resolution;
  await until('the name has no address', () => resolution.failed > failed + 1);
  assert.deepEqual(
    log.map(({ level, fields }) => [level, fields['problem']]),
    [
      ['warn', 'ENOTFOUND'],
      ['info', undefined],
      ['warn', 'it has no address'],
    ],
  );
  assert.equal(log[0]?.fields['known'], 1);
  assert.deepEqual(told.at(-1), ['127.0.0.1:80/0']);
});

test('a name may have 256 addresses; the rest is left out', async (t) => {
  const many = Array.from({ length: 300 }, (_, i) => `10.0.${i >> 8}.${i & 255}`);
  const { resolution, told } = watch(t, { 'app.test': many });
  resolution.use([at('app.test')], any);
  await resolution.looking;
  assert.equal(told.at(-1)?.length, 256);
});

test('addresses that change while a name is looked up are used at once, and their names are asked for next', async (t) => {
  const { resolution, told, asked } = watch(t, { 'one.test': ['127.0.0.1'], 'two.test': ['127.0.0.2'] });
  resolution.use([at('one.test')], any);
  resolution.use([at('two.test')], any);
  assert.deepEqual(told, [['one.test:80/0'], ['two.test:80/0']]);
  await until('the second name is known', () => told.at(-1)?.join() === '127.0.0.2:80/0');
  assert.deepEqual(asked, ['one.test', 'two.test']);
});

test('a resolution that is closed during a look tells nothing more, and whoever waits for the look goes on', async (t) => {
  const answer = Promise.withResolvers<{ address: string; family: number }[]>();
  const told: (readonly Found[])[] = [];
  const { log } = recordingLog();
  const tools = { everyMs: 1, lookup: () => answer.promise };
  const resolution = new Resolution(tools, log, (found) => void told.push(found));
  t.after(() => resolution.close());
  resolution.use([at('app.test')], any);
  const { looking } = resolution;
  resolution.close();
  await looking;
  answer.resolve([{ address: '127.0.0.1', family: 4 }]);
  await answer.promise;
  await new Promise((resolve) => void setImmediate(resolve));
  assert.equal(told.length, 1);
  resolution.use([at('app.test')], any);
  await until('a resolution in use again finds the name', () => told.at(-1)?.[0]?.host === '127.0.0.1');
});
