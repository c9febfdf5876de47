import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestRecord, Status } from '../api/types.ts';
import { isWanted, outcomeOf, reasonOf } from './outcome.ts';
import { troublesOf } from './problems.ts';
import { auditRow, auditTone, isWantedRow } from './auditRow.ts';

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

test('a line of the audit stream names the call, the user and the rule', () => {
  const row = auditRow({
    time: 1,
    'api.operation': 'tools/call',
    'mcp.name': 'echo',
    'actor.user.uid': 'bob',
    action: 'Denied',
    policy: 'mcpAuthorization',
    rule: 'readers only',
    'mcp.outcome': 'refused',
    duration: 1.5,
  });
  assert.deepEqual(row, {
    time: 1,
    operation: 'tools/call',
    item: 'echo',
    user: 'bob',
    action: 'Denied',
    outcome: 'refused',
    decidedBy: 'mcpAuthorization · readers only',
    durationMs: 1.5,
  });
  assert.equal(auditTone(row), 'bad');
  assert.ok(isWantedRow(row, true, ' BO'));
  assert.ok(!isWantedRow(row, false, 'alice'));
});
