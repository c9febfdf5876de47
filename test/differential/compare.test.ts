/** The comparison finds what it is there for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, withoutPages } from './compare.ts';
import { federatedNames } from './names.ts';
import { Writer, type Line, type Transcript } from './transcript.ts';

const answered = (...texts: readonly string[]): Transcript => {
  const writer = new Writer('/tmp/run', (message) => message);
  return {
    answers: texts.map((text) => ({ label: 'ping', text: writer.write(text), status: 200 })),
    heard: [],
  };
};
const heard = (...lines: readonly Line[]): Transcript => ({ answers: [], heard: lines });
const labels = (direct: Transcript, gateway: Transcript): string[] =>
  compare(direct, gateway, []).differences.map(({ label }) => label);

test('the comparison finds no difference between messages that differ in their ids only', () => {
  assert.deepEqual(
    labels(
      answered('{"id":1,"result":{}}', '{"id":2,"result":{"taskId":"abc"}}'),
      answered('{"result":{},"id":"x"}', '{"id":7,"result":{"taskId":"def"}}'),
    ),
    [],
  );
});

test('the comparison finds a number that was written in another form', () => {
  assert.deepEqual(labels(answered('{"id":1,"result":{"n":1.0}}'), answered('{"id":1,"result":{"n":1}}')), [
    'ping',
  ]);
  const large = '{"id":1,"result":{"n":12345678901234567890}}';
  assert.deepEqual(labels(answered(large), answered(large.replace('890}', '891}'))), ['ping']);
});

test('the comparison finds members in another order', () => {
  assert.deepEqual(
    labels(answered('{"id":1,"result":{"a":1,"b":2}}'), answered('{"id":1,"result":{"b":2,"a":1}}')),
    ['ping'],
  );
});

test('the comparison finds task ids that are told apart on one side only', () => {
  const two = (first: string, second: string): Transcript =>
    answered(`{"id":1,"result":{"taskId":"${first}"}}`, `{"id":2,"result":{"taskId":"${second}"}}`);
  assert.deepEqual(labels(two('a', 'a'), two('b', 'c')), ['ping']);
});

test('the comparison finds messages that were lost, doubled, swapped, or moved to another stream', () => {
  const line = (text: string, stream = 'GET'): Line => ({ label: 'log', text, stream });
  const direct = heard(line('1'), line('2'));
  assert.deepEqual(labels(direct, heard(line('1'))), ['log']);
  assert.deepEqual(labels(direct, heard(line('1'), line('2'), line('2'))), ['log']);
  assert.deepEqual(labels(direct, heard(line('2'), line('1'))), ['log', 'log']);
  assert.deepEqual(labels(direct, heard(line('1'), line('2', 'POST'))), ['log']);
});

test('the comparison finds another status', () => {
  const status = (code: number): Transcript => ({
    answers: [{ label: 'DELETE', text: '', status: code }],
    heard: [],
  });
  assert.deepEqual(labels(status(204), status(404)), ['DELETE']);
});

test('pages are joined for a gateway that makes pages of its own', () => {
  const list = (...texts: readonly string[]): Transcript => ({
    answers: texts.map((text) => ({ label: 'tools/list', text, status: 200 })),
    heard: [],
  });
  const pages = list('{"result":{"tools":[1,2],"nextCursor":"x"}}', '{"result":{"tools":[3]}}');
  assert.deepEqual(labels(withoutPages(pages), withoutPages(list('{"result":{"tools":[1,2,3]}}'))), []);
  assert.deepEqual(labels(withoutPages(pages), withoutPages(list('{"result":{"tools":[1,2]}}'))), [
    'tools/list',
  ]);
});

test('names and URIs of a federation are taken back, and one without its prefix is not taken for one', () => {
  const names = federatedNames('one');
  assert.deepEqual(
    names.own({
      result: {
        tools: [{ name: 'one_echo', _meta: { ui: { resourceUri: 'ui://one+x' } } }, { name: 'two_other' }],
        resources: [{ uri: 'one+data://a' }, { uri: 'two+data://b' }],
        content: [{ type: 'resource_link', uri: 'data://a' }],
        structuredContent: { uri: 'data://a' },
      },
    }),
    {
      result: {
        tools: [{ name: 'echo', _meta: { ui: { resourceUri: 'ui://x' } } }],
        resources: [{ uri: 'data://a' }],
        content: [{ type: 'resource_link', uri: 'not of one: data://a' }],
        structuredContent: { uri: 'data://a' },
      },
    },
  );
});
