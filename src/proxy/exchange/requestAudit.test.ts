import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Audit } from '../../audit/index.ts';
import { collect } from '../../oldObjects.testing.ts';
import { createLogger, createMetrics } from '../../telemetry/index.ts';
import type { LiveExchange } from './liveExchange.ts';
import { ExchangeAudit } from './requestAudit.ts';

const start = { operation: 'tools/call', size: 10 };

/** Runs an exchange with one operation. A real one has all of its request body, and its connection. */
function exchangeOf(audit: Audit, id: string, end: (of: ExchangeAudit) => void): WeakRef<object> {
  const exchange = {
    id,
    hasMadeId: true,
    remoteAddress: '192.0.2.1',
    remotePort: 1,
    startedAt: Date.now(),
    startedTick: performance.now(),
    head: { get: () => undefined },
    status: 200,
    responseBytes: 0,
    extra: { 'mcp.session': 'label' },
  };
  end(new ExchangeAudit(exchange as unknown as LiveExchange, audit));
  return new WeakRef(exchange);
}

test('an operation that waits for its line holds nothing of its exchange', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-audit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'audit.jsonl');
  const audit = new Audit({
    settings: {
      sink: { kind: 'file', path },
      include: ['calls'],
      arguments: 'none',
      redact: [],
      required: false,
    },
    writer: 'server',
    log: createLogger({ level: 'error', format: 'text' }),
    metrics: createMetrics({ process: false }),
  });
  const exchanges = [
    exchangeOf(audit, 'answered', (of) =>
      of.begin(start)!.answered({ size: 10, read: () => ({ outcome: 'ok' }) }),
    ),
    exchangeOf(audit, 'closed', (of) => {
      of.begin(start);
      of.closed();
    }),
  ];
  // A reference that is new keeps its object for this turn.
  await nextTurn();
  collect();
  assert.deepEqual(
    exchanges.map((exchange) => exchange.deref()),
    [undefined, undefined],
  );
  assert.equal(readFileSync(path, 'utf8'), '', 'the lines wait');
  await audit.close();
  const lines = readFileSync(path, 'utf8').matchAll(/"api\.request\.uid":"(\w+)".*"mcp\.session":"(\w+)"/g);
  assert.deepEqual(
    [...lines].map(([, id, session]) => [id, session]),
    [
      ['answered', 'label'],
      ['closed', 'label'],
    ],
  );
});
