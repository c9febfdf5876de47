import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownCopy } from './ownCopy.ts';

test('a copy of a text has the same characters, short and long, within ASCII and beyond', () => {
  for (const text of ['', 'a', 'grüße', 'a'.repeat(12), 'a'.repeat(13), `${'ä'.repeat(40)}€😀`])
    assert.equal(ownCopy(text), text);
});
