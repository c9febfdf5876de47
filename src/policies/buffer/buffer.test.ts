import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepared } from '../tools.testing.ts';
import { buffer } from './index.ts';

test('the buffer settings are a plan for the data plane', () => {
  assert.deepEqual(
    prepared(buffer, { request: { maxBytes: 1024 }, response: { failureMode: 'failOpen' } }).forwarding,
    {
      buffer: {
        request: { maxBytes: 1024, failOpen: false },
        response: { failOpen: true },
      },
    },
  );
});

test('settings that gather nothing or everything are refused', () => {
  for (const settings of [
    {},
    { request: { maxBytes: 0 } },
    { request: { maxBytes: 2 ** 40 } },
    { request: { failureMode: 'open' } },
    { body: {} },
  ])
    assert.equal(buffer.schema.safeParse(settings).success, false, JSON.stringify(settings));
});
