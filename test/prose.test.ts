/** The counting behind the check of plain English. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  commentsOf,
  isHeadless,
  isWithoutEvent,
  logMessagesOf,
  sentencesOf,
  testNamesOf,
  wordsIn,
} from '../scripts/proseCount.ts';

test('a comment that begins with a headless clause is found, a question is not', () => {
  assert.ok(isHeadless('What the client is told.'));
  assert.ok(isHeadless('Nobody can ask for more. Is that enough?'));
  assert.ok(isHeadless('of the peer'));
  assert.ok(!isHeadless('What if the client sends two? The first counts.'));
  assert.ok(!isHeadless('Whether the client has gone.'));
  assert.ok(!isHeadless('Onerous work.'));
});

test('comments of all forms are found with the line where they begin', () => {
  const source = [
    '/** First. */',
    'const a = 1; // second',
    '  // third',
    '  // goes on',
    '/**',
    ' * Fourth',
    ' * goes on.',
    ' */',
    "const url = 'http://example.com';",
    '// oxlint-disable-next-line',
  ].join('\n');
  assert.deepEqual(commentsOf(source), [
    { line: 1, text: 'First.' },
    { line: 2, text: 'second' },
    { line: 3, text: 'third goes on' },
    { line: 5, text: 'Fourth goes on.' },
  ]);
});

test('the names of tests and the messages of the log are found', () => {
  const source = [
    "test('a client reads', () => {",
    '  test(`a ${name} reads`, () => undefined);',
    '});',
    "this.log.info('Leader lease acquired', { lease });",
    'log.warn(',
    "  'the lease is lost',",
    ');',
    'log.warn(message);',
  ].join('\n');
  assert.deepEqual(testNamesOf(source), [
    { line: 1, text: 'a client reads' },
    { line: 2, text: 'a ${name} reads' },
  ]);
  assert.deepEqual(logMessagesOf(source), [
    { line: 4, text: 'Leader lease acquired' },
    { line: 5, text: 'the lease is lost' },
  ]);
});

test('a log message begins with the event', () => {
  assert.ok(!isWithoutEvent('Leader lease acquired'));
  assert.ok(isWithoutEvent('the lease is lost'));
  assert.ok(isWithoutEvent('what was kept cannot be used'));
});

test('sentences are read from paragraphs, items and long cells, not from headings and code', () => {
  const page = [
    '# A heading that is not a sentence',
    '',
    'The first sentence ends here. The second one',
    'goes on, e.g. with [a link of words](https://example.com/a.b).',
    '- The item is a sentence.',
    '',
    '```yaml',
    '# This comment is part of a code block.',
    '```',
    '| a cell of few words | a cell that counts because it has more than a dozen words in it |',
  ].join('\n');
  assert.deepEqual(sentencesOf(page), [
    { line: 3, text: 'The first sentence ends here.' },
    { line: 3, text: 'The second one goes on, e.g. with a link of words.' },
    { line: 5, text: 'The item is a sentence.' },
    { line: 10, text: 'a cell that counts because it has more than a dozen words in it' },
  ]);
});

test('a code span counts as one word, and a sign that stands alone as none', () => {
  const [sentence] = sentencesOf('The field `config: { workers: 2 }` is – as always – set.');
  assert.equal(wordsIn(sentence?.text ?? ''), 7);
});
