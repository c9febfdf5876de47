import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepared } from '../tools.testing.ts';
import { requestMirror } from './index.ts';

const mirrors = (settings: unknown) => prepared(requestMirror, settings).forwarding?.mirrors;

test('a plan for the data plane has one or several mirrors', () => {
  assert.deepEqual(mirrors({ backend: { host: 'Shadow.internal:8000' }, percentage: 0.25 }), [
    { host: 'shadow.internal', port: 8000, share: 0.25 },
  ]);
  assert.deepEqual(
    mirrors([{ backend: { host: '[::1]:81' } }, { backend: { host: 'http://b' }, percentage: 0 }]),
    [
      { host: '::1', port: 81, share: 1 },
      { host: 'b', port: 80, share: 0 },
    ],
  );
});

test('a mirror without an HTTP backend or with an invalid share is rejected', () => {
  const messages = (settings: unknown): string =>
    JSON.stringify(requestMirror.schema.safeParse(settings).error?.issues ?? []);
  for (const host of ['a', 'a:0', 'a:65536', 'https://a:1', 'http://a/path', 'a b:1', '-a:1', ''])
    assert.match(messages({ backend: { host } }), /expected name:port/, host);
  assert.match(messages({ backend: {} }), /expected host/);
  assert.match(messages({ backend: { service: { name: 'a', port: 1 } } }), /not built yet/);
  assert.match(messages({ backend: { backend: 'a' } }), /not built yet/);
  for (const settings of [{}, [], { backend: { host: 'a:1' }, percentage: 25 }, { host: 'a:1' }])
    assert.notEqual(messages(settings), '[]', JSON.stringify(settings));
});
