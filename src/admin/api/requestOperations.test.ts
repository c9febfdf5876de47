import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forgetSecrets, rememberSecrets } from '../../telemetry/index.ts';
import type { AdminAccess } from '../access/adminAccess.ts';
import type { RequestViews } from '../contract.ts';
import type { EventStreams } from '../eventStream.ts';
import { requestOperations } from './requestOperations.ts';

test('an explanation shows a viewer no secret that the process knows', async (t) => {
  const secret = 'zq-very-secret-99887766';
  rememberSecrets([secret]);
  t.after(forgetSecrets);
  const expression = `request.headers["x-k"] == "${secret}"`;
  const views = {
    why: () =>
      Promise.resolve({
        bind: 'bind/1',
        candidates: [],
        policies: [{ policy: 'authorization', verdict: 'refused', because: `allow: ${expression}` }],
        outcome: { kind: 'refused', status: 403, rule: `allow: ${expression}` },
      }),
  } as unknown as RequestViews;
  const operations = requestOperations(views, {} as EventStreams, {} as AdminAccess);
  const why = operations.find(({ path }) => path === '/api/v1/why') ?? assert.fail();
  const { status, body } = await why.page.answer({
    method: 'POST',
    query: new URLSearchParams(),
    parameters: {},
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ request: 'GET / HTTP/1.1\nHost: x\n\n' }),
    caller: { role: 'viewer', by: 'owner' },
  });
  assert.equal(status, 200, String(body));
  const text = String(body);
  assert.match(text, /request\.headers/);
  assert.match(text, /\[redacted\]/);
  assert.ok(!text.includes(secret), text);
});
