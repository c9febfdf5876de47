import assert from 'node:assert/strict';
import { test } from 'node:test';
import { within } from './within.ts';

test('a wait ends with what it waits for, or with its time', async () => {
  await within(60_000, Promise.resolve());
  await within(60_000, undefined);
  await within(1, new Promise(() => undefined));
  await assert.rejects(within(60_000, Promise.reject(new Error('failed'))), /failed/);
});
