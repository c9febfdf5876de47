import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { memberOf, readEnvelope, withMembers, type Envelope } from './envelope.ts';

const read = (text: string): Envelope => {
  const envelope = readEnvelope(text);
  assert.ok(typeof envelope === 'object', `${text} is a message`);
  return envelope;
};

test('a request, a notification and both kinds of response are told apart', () => {
  assert.equal(read('{"jsonrpc":"2.0","id":1,"method":"ping"}').kind, 'request');
  assert.equal(read('{"jsonrpc":"2.0","method":"x","params":{}}').kind, 'notification');
  assert.equal(read('{"jsonrpc":"2.0","id":"a","result":{}}').isError, false);
  assert.equal(read('{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":""}}').isError, true);
});

test('replacing the id leaves every other byte of any message as it was', () => {
  const ids = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  fc.assert(
    fc.property(ids, fc.dictionary(fc.string(), fc.jsonValue()), fc.boolean(), (id, params, idLast) => {
      const fields = idLast
        ? { method: 'm', params, jsonrpc: '2.0', extra: params, id }
        : { id, jsonrpc: '2.0', params, method: 'm' };
      const text = JSON.stringify(fields);
      const envelope = read(text);
      const { start, end } = envelope.idSpan;
      assert.equal(text.slice(start, end), JSON.stringify(id));
      const replaced = JSON.parse(text.slice(0, start) + '77' + text.slice(end)) as object;
      assert.deepEqual(replaced, JSON.parse(JSON.stringify({ ...fields, id: 77 })));
    }),
  );
});

test('an id inside params, result or a string is never taken for the id of the message', () => {
  const text = String.raw`{"result":{"id":5,"x":"\",\"id\":6"},"jsonrpc":"2.0","id":7}`;
  assert.equal(read(text).id, 7);
});

for (const [why, text] of [
  ['no version', '{"id":1,"method":"m"}'],
  ['another version', '{"jsonrpc":"1.0","id":1,"method":"m"}'],
  ['a null id', '{"jsonrpc":"2.0","id":null,"method":"m"}'],
  ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"m"}'],
  ['a boolean as id', '{"jsonrpc":"2.0","id":true,"method":"m"}'],
  ['an endless id', `{"jsonrpc":"2.0","id":"${'x'.repeat(300)}","method":"m"}`],
  ['a number as method', '{"jsonrpc":"2.0","id":1,"method":1}'],
  ['params that are a list', '{"jsonrpc":"2.0","id":1,"method":"m","params":[]}'],
  ['a method and a result', '{"jsonrpc":"2.0","id":1,"method":"m","result":{}}'],
  ['a result and an error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}'],
  ['neither', '{"jsonrpc":"2.0","id":1}'],
  ['a list', '[]'],
  ['a string', '"x"'],
] as const)
  test(`a text with ${why} is no message`, () => assert.equal(readEnvelope(text), 'not_message'));

for (const text of [
  '{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}',
  String.raw`{"jsonrpc":"2.0","id":1,"method":"m","\u006dethod":"n"}`,
  '{"jsonrpc":"2.0","id":1,"method":"m","Method":"n"}',
  '{"jsonrpc":"2.0","id":1,"method":"m","paramſ":{}}',
])
  test(`two readers could disagree on ${text}, so it is refused`, () =>
    assert.equal(readEnvelope(text), 'ambiguous'));

test('text after the message makes it no message', () => {
  assert.equal(readEnvelope('{"jsonrpc":"2.0","method":"m"} {"jsonrpc":"2.0","method":"n"}'), 'not_json');
});

test('unknown members, __proto__ among them, are left alone', () => {
  const envelope = read('{"__proto__":{"method":"evil"},"jsonrpc":"2.0","method":"m","x":1}');
  assert.equal(envelope.method, 'm');
  assert.equal(memberOf('{"__proto__":{"name":"evil"}}', { start: 0, end: 29 }, 'name'), undefined);
});

test('a member that is there twice, or in two cases, is ambiguous', () => {
  const member = (text: string): unknown => memberOf(text, { start: 0, end: text.length }, 'name');
  assert.deepEqual(member('{"a":1,"name":"x"}'), { start: 14, end: 17 });
  assert.equal(member('{"name":"a","name":"b"}'), 'ambiguous');
  assert.equal(member('{"name":"a","NAME":"b"}'), 'ambiguous');
});

test('members that are found in one pass are those that are found one by one', () => {
  const names = ['ttlMs', 'tools', 'absent'];
  for (const text of [
    '{"ttlMs":1,"tools":[{"ttlMs":2}],"other":{}}',
    '{"ttlMs":1,"ttlMs":2,"tools":3}',
    '{"ttlMs":1,"TTLms":2,"Absent":1,"tools":3}',
    '{"TTLms":2,"ttlMs":1}',
    '{}',
    '{"ttlMs":1,',
    '[1]',
  ]) {
    const span = { start: 0, end: text.length };
    const found = withMembers(text, span, names);
    for (const name of [...names, 'other'])
      assert.deepEqual(memberOf(text, found, name), memberOf(text, span, name), `${name} in ${text}`);
  }
});
