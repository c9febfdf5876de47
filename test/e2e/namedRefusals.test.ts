import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRefusals } from './namedRefusals.testing.ts';

test('the look for unnamed refusals finds them in text and in JSON, and lets the others pass', () => {
  checkRefusals('t 200 GET /\nt 401 GET / error=token_missing policy=jwtAuth\n');
  checkRefusals('t 403 GET / error=origin_refused\n{"status":502,"error":"no_backend"}\n');
  checkRefusals('t 200 POST / mcp.outcome=refused mcp.refusal=view');
  for (const [line, missing] of [
    ['t 401 GET / error=token_missing', /no policy/],
    ['{"status":401,"error":"token_invalid"}', /no policy/],
    ['t 403 GET / error=authorization_denied policy=authorization', /no rule/],
    ['t 200 POST / mcp.refusal="item rule" policy=mcpAuthorization', /no rule/],
  ] as const)
    assert.throws(() => checkRefusals(line), missing);
});
