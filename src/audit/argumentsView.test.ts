import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forgetSecrets, rememberSecrets } from '../telemetry/index.ts';
import type { AuditSettings, JsonPath } from '../model/index.ts';
import { argumentsView } from './argumentsView.ts';
import { operationLine } from './lines.ts';

const view = (mode: AuditSettings['arguments'], value: unknown, redact: readonly JsonPath[] = []): unknown =>
  JSON.parse(argumentsView({ arguments: mode, redact })(JSON.stringify(value)));

test('a shape has names and types, and no value', () => {
  assert.deepEqual(view('shape', { a: 'x', b: 1, c: [1, 2, 'y', null], d: { e: true }, f: null, g: [] }), {
    a: 'string',
    b: 'number',
    c: ['number', 'string', 'null'],
    d: { e: 'boolean' },
    f: 'null',
    g: [],
  });
});

test('names that are secrets by their form do not stand in a shape', () => {
  const name = `ghp_${'a'.repeat(36)}`;
  assert.ok(!argumentsView({ arguments: 'shape', redact: [] })(JSON.stringify({ [name]: 1 })).includes(name));
});

test('redacted values follow paths, names and forms', () => {
  const redact: JsonPath[] = [
    [{ kind: 'name', name: 'list' }, { kind: 'any' }, { kind: 'name', name: 'pin' }],
    [{ kind: 'deep' }, { kind: 'name', name: 'iban' }],
    [
      { kind: 'name', name: 'pair' },
      { kind: 'index', index: 1 },
    ],
  ];
  assert.deepEqual(
    view(
      'redacted',
      {
        list: [{ pin: 1, name: 'a' }],
        x: { iban: 'b', y: [{ iban: { z: 1 } }] },
        pair: ['keep', 'hide'],
        password: 'c',
        note: 'AKIAABCDEFGHIJKLMNOP and https://user:pw@host/?token=abc&x=1',
      },
      redact,
    ),
    {
      list: [{ pin: '[redacted]', name: 'a' }],
      x: { iban: '[redacted]', y: [{ iban: '[redacted]' }] },
      pair: ['keep', '[redacted]'],
      password: '[redacted]',
      note: '[redacted] and https://[redacted]@host/?token=[redacted]&x=1',
    },
  );
});

test('the size of a view is bounded', () => {
  const wide = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`n${i}`, i]));
  assert.equal(Object.keys(view('full', wide) as object).length, 65);
  assert.equal(
    (
      view(
        'full',
        Array.from({ length: 300 }, () => 0),
      ) as unknown[]
    ).length,
    257,
  );
  let deep: unknown = 1;
  for (let i = 0; i < 40; i++) deep = [deep];
  assert.ok(JSON.stringify(view('full', deep)).length < 60);
  assert.equal(view('full', 'x'.repeat(70_000)), '(too large: 70002 characters)');
  assert.match(String(view('redacted', 'x'.repeat(3_000))), /^x{1024}… \(3000 characters\)$/);
});

test('a secret that becomes known later is hidden from then on, in names that were shown before', () => {
  const shape = argumentsView({ arguments: 'shape', redact: [] });
  assert.equal(shape('{"hunter-22":1}'), '{"hunter-22":"number"}');
  rememberSecrets(['hunter-22']);
  assert.equal(shape('{"hunter-22":1}'), '{"[redacted]":"number"}');
  forgetSecrets();
  assert.equal(shape('{"hunter-22":1}'), '{"hunter-22":"number"}');
});

test('the member __proto__ is a name like all others', () => {
  const shape = argumentsView({ arguments: 'shape', redact: [] });
  assert.equal(shape('{"__proto__":{"a":1},"b":[]}'), '{"__proto__":{"a":"number"},"b":[]}');
});

test('no part of a secret stands where an argument, a name or a detail is cut', () => {
  const secret = `S3cr3t${'k'.repeat(57)}Z`;
  rememberSecrets([secret]);
  const end = (most: number): string => `${'x'.repeat(most - 40)}${secret}`;
  const shown = [
    view('redacted', { a: end(1_024), [end(128)]: 1 }),
    operationLine(
      {
        time: 1,
        operation: 'resources/read',
        caller: { groups: [end(512)] },
        details: { kind: 'resource', name: end(512) },
      },
      { outcome: 'ok', detail: end(512) },
    ),
  ];
  assert.doesNotMatch(JSON.stringify(shown), /S3cr3t/);
});

test('the literal of a rule that is a secret does not stand in its line', (t) => {
  rememberSecrets(['configured-key-22']);
  t.after(forgetSecrets);
  const rule = 'request.headers["x-internal"] != "configured-key-22" || "Bearer literal-99" != ""';
  const line = operationLine(
    { time: 1_000, operation: 'tools/call', caller: {} },
    { outcome: 'refused', policy: 'mcpAuthorization', rule },
  );
  assert.deepEqual(
    (JSON.parse(`${line}}`) as { rule?: unknown }).rule,
    'request.headers["x-internal"] != "[redacted]" || "Bearer [redacted]" != ""',
  );
});

test('values show the numbers that the client wrote, and each of several members of one name', (t) => {
  const numbers =
    '{"a":9007199254740993,"b":[12345678901234567890123,1e400,-0.10],"c":true,"d":null,"e":{},"f":[]}';
  const repeated = ' { "o" : {"to": "mallory", "t\\u006f":{"x":"}\\"{"}, "to":[ "alice" ]}, "10":1, "9":2 } ';
  for (const mode of ['full', 'redacted'] as const) {
    const shown = argumentsView({ arguments: mode, redact: [] });
    assert.equal(shown(numbers), numbers);
    assert.equal(
      shown(repeated),
      '{"o":{"to":"mallory","to (repeated 2)":{"x":"}\\"{"},"to (repeated 3)":["alice"]},"10":1,"9":2}',
    );
    for (const text of ['"x"', '1', '[]', '{}', '[[],{}]', 'false']) assert.equal(shown(text), text);
    for (const text of ['', '{', '{"a":1,}', "{'a':1}", '01', 'NaN'])
      assert.equal(shown(text), '"(unreadable)"');
  }
  const hidden = argumentsView({ arguments: 'redacted', redact: [[{ kind: 'name', name: 'to' }]] });
  assert.equal(hidden('{"to":1,"to":2}'), '{"to":"[redacted]","to (repeated 2)":"[redacted]"}');
  rememberSecrets(['12345678901234567890']);
  t.after(forgetSecrets);
  assert.equal(hidden('{"n":12345678901234567890}'), '{"n":"[redacted]"}');
  assert.match(hidden(`{"n":${'1'.repeat(3_000)}}`), /^\{"n":"1{1024}… \(3000 characters\)"\}$/);
});

test('a shape has each of several members of one name', () => {
  const shape = argumentsView({ arguments: 'shape', redact: [] });
  assert.equal(
    shape(' { "to" : "x", "t\\u006f" : [ {} ], "to":1, "b" : -1e3 } '),
    '{"to":"string","to (repeated 2)":[{}],"to (repeated 3)":"number","b":"number"}',
  );
  for (const [text, type] of Object.entries({
    '"x\\"y"': 'string',
    '-1': 'number',
    true: 'boolean',
    null: 'null',
  }))
    assert.equal(shape(text), `"${type}"`);
});

test('a shape of damaged text is a text or unreadable, and never takes for ever', () => {
  const shape = argumentsView({ arguments: 'shape', redact: [] });
  const whole = '{"a":[1,{"b":"c\\"d"},[],{}],"e":{"f":null,"g":true},"h":[[1,2],[3,"x"],{"y":-0.5}]}';
  const marks = [...'{}[]",:\\ 1'];
  for (let at = 0; at <= whole.length; at++)
    for (const mark of ['', ...marks])
      for (const rest of [whole.slice(at), whole.slice(at + 1), ''])
        assert.equal(typeof shape(whole.slice(0, at) + mark + rest), 'string');
  const many = `[${'0,'.repeat(300)}`;
  for (const text of [many, `${many}}`, `${'['.repeat(20)}}`, '{"a":}', '[}', '{', '"'])
    assert.equal(shape(text), '"(unreadable)"', text);
});

test('arguments of many levels are read without a stack for them', () => {
  for (const mode of ['full', 'shape'] as const) {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000);
    assert.match(argumentsView({ arguments: mode, redact: [] })(deep), /^\[{16}"…"\]{16}$/);
  }
});
