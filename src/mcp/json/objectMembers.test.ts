import assert from 'node:assert/strict';
import { test } from 'node:test';
import { message } from '../targets/kind/waiter.testing.ts';
import { addition, memberEdits, objectMembers, withEditedResult } from './objectMembers.ts';
import { splice } from './scan.ts';

/** The object with members removed and others added. */
function changed(text: string, removed: readonly string[], added = ''): string {
  const span = { start: text.indexOf('{'), end: text.length };
  const members = objectMembers(text, span);
  assert.ok(members !== undefined);
  return splice(
    text,
    memberEdits(text, span, members, (name) => removed.includes(name), added),
  );
}

test('members are removed wherever they stand, and the rest stays as it was written', () => {
  const text = ' { "a" : 1 , "b":[2, {"a":3}] ,"c":"x,}"}';
  assert.equal(changed(text, []), text);
  assert.equal(changed(text, ['b']), ' { "a" : 1 ,"c":"x,}"}');
  assert.equal(changed(text, ['c']), ' { "a" : 1 , "b":[2, {"a":3}]}');
  for (const removed of [['a'], ['b'], ['c'], ['a', 'b'], ['a', 'c'], ['b', 'c'], ['a', 'b', 'c']]) {
    const rest = JSON.parse(text) as Record<string, unknown>;
    for (const name of removed) delete rest[name];
    assert.deepEqual(JSON.parse(changed(text, removed)), rest);
    assert.deepEqual(JSON.parse(changed(text, removed, '"n":0,"m":1')), { n: 0, m: 1, ...rest });
  }
});

test('a repeated member is removed each time', () => {
  assert.deepEqual(JSON.parse(changed('{"a":1,"b":2,"a":3}', ['a'])), { b: 2 });
});

test('members are added in front, whether the object has others or not', () => {
  for (const [text, expected] of [
    ['{}', { n: 0 }],
    ['{ \t}', { n: 0 }],
    ['{ "a":1}', { n: 0, a: 1 }],
  ] as const)
    assert.deepEqual(
      JSON.parse(splice(text, [addition(text, { start: 0, end: text.length }, '"n":0')])),
      expected,
    );
});

test('a value that is no object has no members', () => {
  for (const text of ['[]', '"x"', '1', '{"a":1', '{"a" 1}'])
    assert.equal(objectMembers(text, { start: 0, end: text.length }), undefined);
});

test('a response with an edited result knows the places of its parts, wherever its id stands', () => {
  for (const text of [
    '{"jsonrpc":"2.0","id":12,"result":{"a":1,"b":2}}',
    '{"result":{"a":1,"b":2},"jsonrpc":"2.0","id":12}',
  ]) {
    const response = message(text);
    const members = objectMembers(text, response.body!)!;
    const edits = memberEdits(text, response.body!, members, (name) => name === 'a', '"new":[]');
    const { text: written, idSpan, body } = withEditedResult(response, edits);
    assert.equal(written.slice(idSpan.start, idSpan.end), '12');
    assert.deepEqual(JSON.parse(written.slice(body!.start, body!.end)), { new: [], b: 2 });
  }
});
