import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http2';
import { test } from 'node:test';
import { catalogue } from '../errors.ts';
import { failureOf, refusalOf } from './stdioFailures.ts';

const answer = (status: number, text = '', headers: IncomingHttpHeaders = {}) => ({
  status,
  text,
  headers,
  lastId: undefined,
  retryMs: undefined,
});

test('a refused request becomes a response with its id and the cause', () => {
  assert.deepEqual(JSON.parse(failureOf(7, answer(401, 'unauthorized'))), {
    jsonrpc: '2.0',
    id: 7,
    error: {
      code: -32_603,
      message: 'the route demands a token that the gateway accepts: set PORTCULLIS_TOKEN',
    },
  });
  assert.match(failureOf('x', answer(503, 'no\nhealthy   address')), /"id":"x".*no healthy address/);
  const basic = answer(401, 'unauthorized', { 'www-authenticate': 'Basic realm="a"' });
  assert.match(failureOf(1, basic), /demands a user name and a password/);
  assert.match(failureOf(1, answer(504)), /answered with status 504/);
  assert.match(failureOf(1, answer(0)), /closed the connection/);
  assert.ok(failureOf(1, answer(500, 'x'.repeat(10_000))).length < 500);
});

test('a response of the gateway goes to the client as it is', () => {
  const own = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}';
  assert.equal(refusalOf(own, 400), own);
  assert.match(refusalOf('<html>', 502), /"id":null.*status 502: <html>/);
  assert.match(refusalOf('"text"', 403), /the rules of the route do not allow this/);
});

test('a client that has not initialized hears of that instead of a header', () => {
  const { jsonrpc, message } = catalogue.mcp_session_required;
  const refusal = JSON.stringify({ jsonrpc: '2.0', id: 3, error: { code: jsonrpc, message } });
  assert.deepEqual(JSON.parse(refusalOf(refusal, 400)), {
    jsonrpc: '2.0',
    id: 3,
    error: { code: -32_000, message: 'the session has not begun: send initialize first' },
  });
});
