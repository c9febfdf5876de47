import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DecidedBy } from '../../errors.ts';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import type { EndedRequest } from './endedRequest.ts';
import { compileRecord, type RecordSettings } from './recordFields.ts';

const ended: EndedRequest = {
  status: 201,
  endedAt: Date.parse('2026-11-21T10:00:01.000Z'),
  responseLines: [
    ['content-type', 'text/plain'],
    ['set-cookie', 'id=a-secret-of-the-session'],
  ],
  timing: { requestMs: 1.5, upstreamMs: 20, responseMs: 3 },
  backend: { name: '127.0.0.1:8000', type: 'static', protocol: 'http' },
  mcp: { methodName: 'tools/call', item: { kind: 'tool', target: 'files', name: 'read' } },
};

const failures: DecidedBy[] = [];

class LoggedExchange extends FakeExchange {
  expressionFailed(by: DecidedBy): void {
    failures.push(by);
  }
}

const record = (settings: RecordSettings, fake: FakeRequest = {}, request = ended) =>
  compileRecord(settings, 'accessLog').of(new LoggedExchange(fake), request);

test('added fields see the response, the times, the backend and the MCP item', () => {
  assert.deepEqual(
    record({
      add: {
        code: 'response.code',
        type: 'response.headers["Content-Type"]',
        end: 'request.endTime',
        times:
          '[proxy.requestProcessingDuration, proxy.upstreamDuration, proxy.responseProcessingDuration].map(t, t < duration("4ms"))',
        took: 'proxy.upstreamDuration',
        backend: 'backend.protocol + "://" + backend.name',
        tool: 'mcp.tool.target + "/" + mcp.tool.name',
        method: 'mcp.methodName',
      },
    }),
    {
      code: 201,
      type: 'text/plain',
      end: '2026-11-21T10:00:01.000Z',
      times: [true, false, true],
      took: '0.02s',
      backend: 'http://127.0.0.1:8000',
      tool: 'files/read',
      method: 'tools/call',
    },
  );
});

test('a field without a value is left out, and is no failure', () => {
  const bare = {
    ...ended,
    status: 0,
    timing: undefined,
    backend: undefined,
    mcp: { methodName: undefined, item: undefined },
  };
  failures.length = 0;
  const add = {
    a: 'jwt.sub',
    b: 'response.code',
    c: 'proxy.upstreamDuration',
    d: 'backend.name',
    e: 'mcp.tool.name',
    f: 'request.headers["x-absent"]',
    g: 'null',
    h: '"kept"',
  };
  assert.deepEqual(record({ add }, {}, bare), { h: 'kept' });
  assert.deepEqual(failures, []);
});

test('an expression that fails for another reason is reported with its place', () => {
  failures.length = 0;
  assert.deepEqual(record({ add: { bad: 'int(request.path)' } }, { target: '/x' }), {});
  assert.deepEqual(failures, [{ policy: 'accessLog', rule: '.add.bad', place: '.add.bad' }]);
});

test('a filter that is not true leaves the request out', () => {
  assert.equal(record({ filter: 'response.code >= 500' }), undefined);
  assert.equal(record({ filter: 'jwt.sub == "ada"' }), undefined);
  assert.deepEqual(record({ filter: 'response.code == 201' }), {});
});

test('flatten makes a field of each member, and flattenRecursive of each inner member', () => {
  const add = { h: 'flatten({"a": 1, "b": {"c": true}})', r: 'flattenRecursive({"b": {"c": true}})' };
  assert.deepEqual(record({ add }), { 'h.a': 1, 'h.b': { c: true }, 'r.b.c': true });
});

test('a request has at most 64 added fields, and a value at most 8192 characters', () => {
  const many = Array.from({ length: 100 }, (_, i) => `"k${i}": ${i}`).join(', ');
  assert.equal(Object.keys(record({ add: { x: `flatten({${many}})` } }) ?? {}).length, 64);
  const long = { headers: [['x-long', 'a'.repeat(20_000)]] as [string, string][] };
  const values = record({ add: { x: 'request.headers["x-long"]' } }, long) ?? {};
  assert.equal(String(values['x']).length, 8_193);
});

test('fields show no credentials, whatever the expression does with them', () => {
  const secret = 'opaque-key-of-ada-0123456789';
  const headers: [string, string][] = [
    ['authorization', `Bearer ${secret}`],
    ['cookie', `other=1; id=${secret}2`],
    ['x-api-key', `${secret}3`],
    ['x-tenant', 'blue'],
  ];
  const add = {
    all: 'request.headers',
    flat: 'flatten(request.headers)',
    token: 'request.headers.authorization.split(" ")[1]',
    half: '"<" + request.headers["x-api-key"] + ">"',
    reply: 'response.headers',
    hash: 'sha256.encode(request.headers.cookie)',
  };
  const fields = record({ add }, { headers }) ?? {};
  const text = JSON.stringify(fields);
  assert.ok(!text.includes(secret) && !text.includes('a-secret-of-the-session'), text);
  assert.match(text, /"x-tenant":"blue"/);
  assert.match(String(fields['hash']), /^[0-9a-f]{64}$/);
});

test('fields show no credential that a policy reads, no id of a session, and no short key', () => {
  const headers: [string, string][] = [
    ['x-api-key', 'abc'],
    ['x-partner', 'opaque-1'],
    ['mcp-session-id', 'opaque-2'],
  ];
  const fields = record(
    {
      add: {
        uri: 'request.uri',
        tail: 'request.pathAndQuery + "!"',
        all: 'request.headers',
        key: 'request.headers["x-api-key"]',
        session: 'request.headers["mcp-session-id"]',
      },
    },
    { headers, target: '/q?a=b&partner=opaque%2D3&sessionId=opaque-4' },
    { ...ended, credentials: () => ['opaque-1', 'opaque%2D3', 'opaque-3'] },
  );
  assert.doesNotMatch(JSON.stringify(fields), /opaque|abc/);
  assert.match(String(fields?.['uri']), /\/q\?a=b&partner=\[redacted\]&sessionId=\[redacted\]$/);
});

test('many credentials and a long text hide the text as a whole, and short texts stay', () => {
  const cookie = Array.from({ length: 2_500 }, (_, i) => `aaaa${String(i).padStart(4, '0')}aaaa`).join(';');
  const add = { agent: 'request.headers["user-agent"]', team: 'request.headers["x-team"]' };
  const shown = (agent: string) =>
    record(
      { add },
      {
        headers: [
          ['cookie', cookie],
          ['user-agent', agent],
          ['x-team', 'blue'],
        ],
      },
    );
  assert.deepEqual(shown('a'.repeat(8_000)), { agent: '[redacted]', team: 'blue' });
  assert.deepEqual(shown('a app aaaa2499aaaa'), { agent: 'a app [redacted]', team: 'blue' });
});

test('an expression that does not compile is refused', () => {
  assert.throws(() => compileRecord({ add: { a: 'jwt.rawToken' } }, 'accessLog'), /never see the token/);
  assert.throws(() => compileRecord({ filter: 'request.body == ""' }, 'accessLog'), /bodies pass through/);
});
