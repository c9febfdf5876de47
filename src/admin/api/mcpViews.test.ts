import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { McpSessionState, McpState, RouteView } from '../contract.ts';
import { targetsOf } from './mcpViews.ts';

const route: RouteView = {
  id: 'r',
  bind: 'b',
  port: 1,
  listener: 'l',
  hostnames: [],
  urls: [],
  path: undefined,
  kind: 'mcp',
  targets: [{ name: 'files', kind: 'stdio' }],
  backends: ['backend'],
  authentication: undefined,
};
const place = { backend: 'backend', target: 'files' };
const none: McpState = { sessions: [], children: 0, hidden: [], circuits: [], failedStarts: [] };
const time = Date.UTC(2026, 0, 1);

const only = (state: Partial<McpState>): ReturnType<typeof targetsOf>[number] => {
  const [target = assert.fail()] = targetsOf([route], { ...none, ...state });
  return target;
};

test('a server without a session is idle, or has failed where its last start did', () => {
  assert.equal(only({}).state, 'idle');
  const { state, since, problem, stderr } = only({
    failedStarts: [{ ...place, at: time, reason: 'is dead', stderr: ['no module'] }],
  });
  assert.deepEqual([state, since, problem], ['failed', '2026-01-01T00:00:00.000Z', 'is dead']);
  assert.deepEqual(stderr, ['no module']);
  assert.equal(
    only({ failedStarts: [{ ...place, target: 'other', at: time, reason: 'x', stderr: [] }] }).state,
    'idle',
  );
  assert.equal(
    only({ failedStarts: [{ ...place, backend: 'other', at: time, reason: 'x', stderr: [] }] }).state,
    'idle',
  );
});

test('a start that failed counts until a session has begun after it', () => {
  const readySince = (since: number): McpSessionState => ({
    label: 's',
    backend: 'backend',
    principal: undefined,
    protocolVersion: undefined,
    createdAt: 0,
    lastUsedAt: 0,
    targets: [{ name: 'files', state: 'ready', since, pid: 1, restarts: 0, lastError: undefined }],
  });
  const failedStarts = [{ ...place, at: time, reason: 'is dead', stderr: [] }];
  assert.equal(only({ sessions: [readySince(time - 1)], failedStarts }).state, 'failed');
  assert.equal(only({ sessions: [readySince(time + 1)], failedStarts }).state, 'ready');
});

test('a server has the last retry of its circuits, and its hidden items', () => {
  const circuits = [1, 3, 2].map((n) => ({ ...place, retryAt: time + n, reason: `reason ${n}` }));
  const hidden = Array.from({ length: 101 }, (_, n) => ({
    ...place,
    kind: 'tool',
    name: `t${n}`,
    owner: 'other',
  }));
  const target = only({ circuits, hidden });
  assert.deepEqual(target.circuit, { retryAt: '2026-01-01T00:00:00.003Z', reason: 'reason 3' });
  assert.deepEqual([target.hidden.length, target.hiddenCount], [100, 101]);
  assert.deepEqual(target.hidden[0], { kind: 'tool', name: 't0', owner: 'other' });
});
