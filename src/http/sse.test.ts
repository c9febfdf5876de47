import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatComment, formatEvent } from './sse.ts';

test('an event has its fields before its data and ends with an empty line', () => {
  assert.equal(formatEvent('{}'), 'data: {}\n\n');
  assert.equal(
    formatEvent('{}', { event: 'message', id: '1-2', retry: 500 }),
    'event: message\nid: 1-2\nretry: 500\ndata: {}\n\n',
  );
});

test('no line break of any kind lets data begin a field of its own', () => {
  assert.equal(
    formatEvent('a\nevent: evil\rid: 1\r\n\r\nb'),
    'data: a\ndata: event: evil\ndata: id: 1\ndata: \ndata: b\n\n',
  );
});

test('a comment stays on one line', () => {
  assert.equal(formatComment('keep\n\ndata: x'), ': keep  data: x\n\n');
});
