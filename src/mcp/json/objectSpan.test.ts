import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ObjectSpan, scanFor, type Found } from './objectSpan.ts';

const names = ['name', 'Name', 'naſe', '_meta', 'a', 'toString', '__proto__'];
const bare = (found: Found): unknown =>
  typeof found === 'object' ? { start: found.start, end: found.end } : found;

const members = fc.array(fc.tuple(fc.constantFrom(...names), fc.json({ maxDepth: 1 })), { maxLength: 40 });

test('a kept object gives the same members as a search of its text, first and later', () => {
  fc.assert(
    fc.property(members, fc.boolean(), (given, isCut) => {
      const whole = `{${given.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(', ')}}`;
      const text = isCut ? whole.slice(0, -1) : whole;
      const span = new ObjectSpan(0, text.length);
      for (const name of [...names, ...names, 'absent'])
        assert.deepEqual(
          bare(span.memberOf(text, name)),
          bare(scanFor(text, span, name)),
          `${name} in ${text}`,
        );
    }),
    { numRuns: 300 },
  );
});

test('an object within a kept object is kept, too', () => {
  const text = '{"_meta":{"a":1}}';
  const span = new ObjectSpan(0, text.length);
  assert.ok(span.memberOf(text, '_meta') instanceof ObjectSpan);
  assert.equal(span.memberOf(text, '_meta'), span.memberOf(text, '_meta'));
});

test('an object of very many members is searched each time', () => {
  const many = Array.from({ length: 2_000 }, (_, n) => `"m${n}":${n}`);
  const text = `{${many.join(',')},"name":"x","m7":0}`;
  const span = new ObjectSpan(0, text.length);
  const place = span.memberOf(text, 'name');
  assert.equal(typeof place === 'object' && text.slice(place.start, place.end), '"x"');
  assert.equal(span.memberOf(text, 'm7'), 'ambiguous');
});
