import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newRequestId } from './requestIds.ts';

test('each request gets another id, and each id is a UUID of version 4', () => {
  const ids = Array.from({ length: 200 }, () => newRequestId());
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
