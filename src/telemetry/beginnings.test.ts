import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Beginnings } from './beginnings.ts';

test('a text that holds one of the texts is found, wherever it stands, and most others are not', () => {
  const beginnings = new Beginnings();
  const secrets = Array.from(
    { length: 1_000 },
    (_, at) => `${((at * 7_919) % 99_991).toString(36)}-secret-${at}`,
  );
  for (const secret of secrets) beginnings.add(secret);
  for (const secret of secrets)
    for (const text of [secret, `/a/${secret}`, `ÿ\u2028${secret}/b`])
      assert.ok(beginnings.mayBeIn(text), text);
  const others = Array.from({ length: 1_000 }, (_, at) => `/api/orders/${at}`);
  assert.ok(others.filter((text) => beginnings.mayBeIn(text)).length < 300);
  assert.equal(beginnings.mayBeIn(''), false);
  beginnings.clear();
  assert.ok(secrets.every((secret) => !beginnings.mayBeIn(secret)));
});
