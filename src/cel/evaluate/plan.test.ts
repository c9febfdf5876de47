import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  celType,
  isCelError,
  isCelList,
  isCelMap,
  isCelUint,
  parse,
  plan,
  type CelInput,
  type CelValue,
} from '@bufbuild/cel';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import fc from 'fast-check';
import { Failure } from '../failure.ts';
import { metered, newMeter } from '../limits.ts';
import { toCel } from '../values.ts';
import { data, source } from './expressions.testing.ts';
import { environment } from './library.ts';
import { planned } from './plan.ts';

type Context = Record<string, CelInput>;

/** A text that is the same for the same value of the same type; all failures are alike. */
function shown(value: unknown): string {
  if (value instanceof Failure || value instanceof Error) return 'failure';
  if (isCelList(value)) return `[${[...value].map(shown).join(', ')}]`;
  if (isCelMap(value)) {
    const entries = [...value.entries()].map(([key, item]) => `${shown(key)}: ${shown(item)}`);
    return `{${entries.sort().join(', ')}}`;
  }
  const type = celType(value as CelValue).name;
  if (isCelUint(value)) return `${type} ${value.value}`;
  if (type === 'double') return Object.is(value, -0) ? 'double -0' : `double ${String(value)}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  const plain = isReflectMessage(value) ? value.message : value;
  return `${type} ${JSON.stringify(plain, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item))}`;
}

function ours(source: string, context: Context): unknown {
  return metered(newMeter(), (given) => planned(parse(source).expr)(given), context);
}

function theirs(source: string, context: Context): unknown {
  const value = metered(newMeter(), (given) => plan(environment, parse(source))(given), context);
  if (value instanceof Error) return value;
  return isCelError(value) ? new Error(value.message) : value;
}

test('random expressions evaluate to the same result as in the library', () => {
  const outcomes = new Map<string, number>();
  fc.assert(
    fc.property(source, data, (text, given) => {
      const context = Object.fromEntries(Object.entries(given).map(([key, item]) => [key, toCel(item)]));
      const wanted = shown(theirs(text, context));
      assert.equal(shown(ours(text, context)), wanted);
      const kind = wanted.startsWith('bool') ? wanted : wanted === 'failure' ? wanted : 'other';
      outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
    }),
    { numRuns: Number(process.env.CEL_RUNS ?? 3000), interruptAfterTimeLimit: 60_000 },
  );
  // The comparison is worth something only where all outcomes are frequent.
  for (const kind of ['failure', 'bool true', 'bool false', 'other'])
    assert.ok((outcomes.get(kind) ?? 0) > 120, `${kind}: ${outcomes.get(kind)}`);
});

const context: Context = {
  m: toCel({ nothing: null, list: [1, 'a', null], yes: true, deep: { a: 1 } }),
  s: 'a',
};

test('each known shape fails and holds as the library says', () => {
  const sources = [
    ...['m.no', 'm.no.deeper', 'm.yes.deeper', 's.x', 'nope', 'nope.a', 'm["no"]', 'm[1]', 'm.list["0"]'],
    ...['m.no || true', 'true || m.no', 'm.no || false', 'false && m.no', 'm.no && false', 'm.no && true'],
    ...['s || true', 'true && s', 's && false', '!s', 's ? 1 : 2', 'm.no ? 1 : 2', 'm.yes ? 1 : m.no'],
    ...[
      'has(m.yes)',
      'has(m.no)',
      'has(m.no.a)',
      'has(m.deep.a)',
      'has(nope.a)',
      'has(nope.a.b)',
      'has(s.a)',
    ],
    ...[
      '"a" in m.list',
      '1.0 in m.list',
      'null in m.list',
      '"a" in s',
      '"a" in m.no',
      'm in m',
      '"yes" in m',
    ],
    ...['1 == 1.0', '1u == 1', '0.0/0.0 == 0.0/0.0', '"1" == 1', 'm == m', 'm.list == [1.0, "a", null]'],
    ...[
      's.startsWith("a")',
      's.startsWith(1)',
      'm.yes.startsWith("a")',
      's.contains("")',
      's < "b"',
      's < 1',
    ],
    ...[
      '1 < 1.5',
      '1u < 2',
      'true < false',
      'm.list[0]',
      'm.list[5]',
      'm.list[0.0]',
      '[1][0u]',
      '{1: 2}[1.0]',
    ],
    ...[
      '{1: "a"}.map(k, k)',
      'm.map(k, k).size()',
      's.map(x, x)',
      '[1, s].exists(x, x > 0)',
      'type(m)',
      'int',
    ],
    ...[
      '{"a": 1, "a": 2}',
      '{1.5: 1}',
      '{null: 1}',
      '[m.no]',
      '{"a": m.no}',
      'size(1)',
      'm.list.all(x, x > 0)',
    ],
    ...['timestamp("2026-01-02T03:04:05Z").getFullYear() == 2026', 'duration("1h") < duration("2h")'],
  ];
  for (const source of sources)
    assert.equal(shown(ours(source, context)), shown(theirs(source, context)), source);
});

test('a key that holds null is there, as the language says and the library does not', () => {
  for (const source of ['has(m.nothing)', '"nothing" in m', 'm.nothing == null', 'has({"a": null}.a)'])
    assert.equal(ours(source, context), true, source);
  assert.equal(theirs('has(m.nothing)', context), false);
});

test('an invalid list index is an error that an `or` absorbs', () => {
  for (const source of [
    'm.list[true] == 1',
    'm.list[0.5] == 1',
    '[1, s][true] == 1',
    '[s].map(x, x)[0.5] == 1',
  ]) {
    assert.equal(shown(ours(source, context)), 'failure', source);
    assert.equal(ours(`${source} || true`, context), true, source);
  }
});

test('inherited JavaScript properties are neither variables nor members', () => {
  for (const source of ['toString', 'constructor', 'm.constructor', 'm["__proto__"]', 'hasOwnProperty.a'])
    assert.equal(shown(ours(source, context)), 'failure', source);
});
