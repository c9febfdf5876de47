import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patched } from './patch.ts';

test('fields are set, nested ones too, and null takes one out', () => {
  const target = { a: { b: 1, c: 2 }, d: 3 };
  assert.deepEqual(patched(target, { a: { c: null, e: 4 }, f: 5 }), { a: { b: 1, e: 4 }, d: 3, f: 5 });
  assert.deepEqual(target, { a: { b: 1, c: 2 }, d: 3 });
});

test('a patch replaces values that are not objects', () => {
  assert.deepEqual(patched({ a: 1 }, { a: { b: null, c: 2 } }), { a: { c: 2 } });
  assert.deepEqual(patched({ a: [1, 2] }, { a: [3] }), { a: [3] });
  assert.deepEqual(patched({ tolerations: [{ key: 'x' }] }, { tolerations: [{ key: 'y' }] }), {
    tolerations: [{ key: 'y' }],
  });
});

test('entries of lists are merged by their names, and others added', () => {
  const target = [{ name: 'proxy', image: 'a', env: [{ name: 'X', value: '1' }] }];
  assert.deepEqual(
    patched(target, [
      { name: 'proxy', env: [{ name: 'Y', value: '2' }] },
      { name: 'aside', image: 'b' },
    ]),
    [
      {
        name: 'proxy',
        image: 'a',
        env: [
          { name: 'X', value: '1' },
          { name: 'Y', value: '2' },
        ],
      },
      { name: 'aside', image: 'b' },
    ],
  );
});

test('mounts are told apart by where they are, since several may be of one volume', () => {
  const mounts = [
    { name: 'data', mountPath: '/a' },
    { name: 'data', mountPath: '/b' },
  ];
  assert.deepEqual(patched(mounts, [{ name: 'data', mountPath: '/b', readOnly: true }]), [
    { name: 'data', mountPath: '/a' },
    { name: 'data', mountPath: '/b', readOnly: true },
  ]);
});

test('a patch cannot reach the prototype of its target', () => {
  const result = patched({}, JSON.parse('{"__proto__":{"polluted":true},"a":1}')) as Record<string, unknown>;
  assert.deepEqual(Object.keys(result), ['a']);
  assert.equal(result['polluted'], undefined);
});
