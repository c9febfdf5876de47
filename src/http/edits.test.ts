import assert from 'node:assert/strict';
import test from 'node:test';
import { HeaderEdits } from './edits.ts';

test('without edits every header is kept', () => {
  const edits = new HeaderEdits();
  assert.equal(edits.empty, true);
  assert.equal(edits.drops, false);
  assert.deepEqual(edits.apply([['A', '1']]), [['A', '1']]);
});

test('set replaces lines of the peer and earlier edits, in any case of name', () => {
  const edits = new HeaderEdits();
  edits.add('X-A', '0');
  edits.set('x-a', '1');
  edits.set('X-A', '2');
  assert.deepEqual(
    edits.apply([
      ['x-A', 'peer'],
      ['B', 'stays'],
      ['X-a', 'peer'],
    ]),
    [
      ['B', 'stays'],
      ['x-a', '2'],
    ],
  );
});

test('add appends and leaves the lines of the peer', () => {
  const edits = new HeaderEdits();
  edits.add('Vary', 'Origin');
  edits.add('vary', 'Accept');
  assert.equal(edits.drops, false);
  assert.equal(edits.empty, false);
  assert.deepEqual(edits.apply([['Vary', 'Cookie']]), [
    ['Vary', 'Cookie'],
    ['vary', 'Origin'],
    ['vary', 'Accept'],
  ]);
});

test('remove drops earlier edits of a field, but not later ones', () => {
  const edits = new HeaderEdits();
  edits.set('a', '1');
  edits.add('a', '2');
  edits.remove('A');
  edits.add('a', '3');
  assert.deepEqual(edits.apply([['a', 'peer']]), [['a', '3']]);
});

test('a name is known to be touched by what is dropped and by what is added', () => {
  const edits = new HeaderEdits();
  edits.add('a', '1');
  edits.remove('b');
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => [edits.touches(name), edits.dropsName(name)]),
    [
      [true, false],
      [true, true],
      [false, false],
    ],
  );
});
