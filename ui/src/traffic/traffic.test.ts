import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestRecord, Status } from '../api/types.ts';
import { isWanted, outcomeOf, reasonOf } from './outcome.ts';
import { troublesOf } from './problems.ts';
import { ratesOf } from './rates.ts';

const record = (more: object): RequestRecord =>
  ({ status: 200, path: '/mcp', requestId: 'r1', route: 'tools', ...more }) as RequestRecord;

test('a refused MCP message counts as denied, and a failing backend as failed', () => {
  assert.equal(outcomeOf(record({})), 'served');
  assert.equal(outcomeOf(record({ extra: { 'mcp.outcome': 'refused' } })), 'denied');
  assert.equal(outcomeOf(record({ status: 403, decidedBy: { policy: 'authorization' } })), 'denied');
  assert.equal(outcomeOf(record({ status: 502, error: 'upstream_failed' })), 'failed');
  const redirect = record({ status: 302, decidedBy: { policy: 'requestRedirect' } });
  assert.equal(outcomeOf(redirect), 'served');
});

test('filters look at the user, and at path, tool, route and rule', () => {
  const denied = record({
    subject: 'Bob',
    decidedBy: { policy: 'mcpAuthorization', rule: 'readers only' },
    extra: { 'mcp.method': 'tools/call', 'mcp.tool': 'echo' },
  });
  const all = { outcome: 'all', user: '', text: '' } as const;
  assert.ok(isWanted(denied, all));
  assert.ok(isWanted(denied, { ...all, outcome: 'denied', user: 'bob' }));
  assert.ok(!isWanted(denied, { ...all, user: 'alice' }));
  assert.ok(!isWanted(denied, { ...all, outcome: 'failed' }));
  for (const text of ['ECHO', 'tools', 'readers', '/mcp', 'r1'])
    assert.ok(isWanted(denied, { ...all, text }));
  assert.ok(!isWanted(denied, { ...all, text: 'other' }));
  assert.equal(reasonOf(denied), 'readers only');
});

test('rates are those between readings, and a restart of the gateway gives none below zero', () => {
  const reading = (at: number, requests: number) => ({ at, requests, refusals: 0, errors: 0 });
  const rates = ratesOf([reading(10, 100), reading(12, 120), reading(14, 4)]);
  assert.deepEqual(
    [rates.at, rates.requests],
    [
      [12, 14],
      [10, 0],
    ],
  );
  assert.deepEqual(ratesOf([reading(1, 1)]).requests, []);
});

test('the problems of a gateway come with the worst ones first', () => {
  const now = Date.parse('2026-11-24T00:00:00Z');
  const certificate = (expiresAt: string) => ({ certificate: expiresAt, state: 'ready', expiresAt });
  const status = {
    readiness: 'ready',
    config: { synchronized: false, problems: ['unknown field'], warnings: ['an odd value'] },
    closedPorts: [],
    brokenRoutes: [{ route: 'tools', problem: 'no key' }],
    certificates: [certificate('2026-11-30T00:00:00Z'), certificate('2027-11-30T00:00:00Z')],
    keySets: [{ source: 'a', keys: 0, state: 'waiting', problem: 'refused' }],
    workers: [{ worker: 1, state: 'serving', restarts: 0 }],
  } as unknown as Status;
  const troubles = troublesOf(status, now);
  assert.deepEqual(
    troubles.map(({ tone }) => tone),
    ['bad', 'bad', 'bad', 'bad', 'warn', 'warn'],
  );
  assert.match(troubles[2]?.text ?? '', /Route tools answers 500: no key/);
  assert.match(troubles[4]?.text ?? '', /2026-11-30T00:00:00Z expires/);
});
