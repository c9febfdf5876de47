import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare } from './compare.ts';
import { readReport } from './suite.ts';

const report = `<testsuites><testsuite name="a">
<testcase package="http2/5.1" classname="idle: Sends a &#34;DATA&#34; frame" time="0"></testcase>
<testcase package="http2/5.1" classname="closed" time="0"><failure>x</failure></testcase>
<testcase package="http2/5.1" classname="closed" time="0"/>
<testcase package="hpack/2" classname="b" time="0"><error>x</error></testcase>
</testsuite></testsuites>`;

test('the cases of a report are read, whatever they came to', () => {
  assert.deepEqual(readReport(report), [
    { id: 'http2/5.1: idle: Sends a "DATA" frame', passed: true },
    { id: 'http2/5.1: closed', passed: false },
    { id: 'http2/5.1: closed (2)', passed: true },
    { id: 'hpack/2: b', passed: false },
  ]);
  assert.throws(() => readReport('<testsuites></testsuites>'));
});

test('a new failure and one that is gone are both told', () => {
  const result = compare(readReport(report), { 'http2/5.1: closed': 'why', 'http2/9: gone': 'why' });
  assert.deepEqual(result, {
    passed: 2,
    total: 4,
    known: [['http2/5.1: closed', 'why']],
    unexpected: ['hpack/2: b'],
    gone: ['http2/9: gone'],
  });
});
