/** Every operation ends in the audit stream when it is over, however it ends, and its line says how. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startProcessor, type Verdict } from '../../examples/mcp/guardrails/processor.ts';
import { frame, PREFACE, TYPE } from '../../src/http/frame.testing.ts';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { until } from '../../src/until.testing.ts';
import { AuditFolder, startAudited } from './audit.testing.ts';
import { openSession, postHeaders } from './session.testing.ts';
import { node, rogue } from './stage.testing.ts';

const sinkOf = (folder: AuditFolder): object => ({ sink: { file: { path: folder.file } } });
const refusal: Verdict = { error: { code: 'PERMISSION_DENIED', reason: 'no' } };
const pass: Verdict = { pass: {} };

describe('the line of an operation is there before the gateway ends', () => {
  for (const workers of [1, 2])
    test(`when its client leaves before the server is ready, with ${workers} workers`, async (t) => {
      const folder = new AuditFolder(t);
      const asked = join(folder.path, 'asked');
      const script = `echo asked >> "${asked}"; exec cat > /dev/null`;
      await using gateway = await startAudited({
        audit: { ...sinkOf(folder), required: true },
        config: { workers },
        targets: [{ name: 'target', stdio: { cmd: '/bin/sh', args: ['-c', script] } }],
      });
      const left = new AbortController();
      const client = new RawModernClient(new URL(gateway.url));
      // The other workers relay their requests to the worker that has the server.
      const sent = Array.from({ length: 8 }, (_, i) =>
        i % 2 === 0
          ? client.fetch('tools/call', { name: 'echo' }, { connection: 'close' }, left.signal)
          : client.fetch(
              'subscriptions/listen',
              { notifications: { toolsListChanged: true } },
              { connection: 'close' },
              left.signal,
            ),
      );
      const settled = Promise.allSettled(sent);
      await until('a server starts', () => existsSync(asked));
      const begun = (): number => folder.lines.filter((line) => line['mcp.phase'] === 'intent').length;
      await until('all have begun', () => begun() === sent.length);
      left.abort();
      await settled;
      const ends = (operation: string): unknown[] =>
        folder
          .of(operation)
          .flatMap((line) => (line['mcp.phase'] === 'outcome' ? [line['mcp.outcome']] : []));
      await until(
        'all have ended',
        () => ends('tools/call').length + ends('subscriptions/listen').length === sent.length,
      );
      // The intent of a call may be in the file shortly before the call begins.
      for (const end of ends('tools/call'))
        assert.ok(end === 'cancelled' || end === 'unfinished', String(end));
    });

  test('when its client leaves while a guardrail checks it', async (t) => {
    const folder = new AuditFolder(t);
    const checking = Promise.withResolvers<void>();
    const { promise: verdict, resolve: decide } = Promise.withResolvers<Verdict>();
    const processor = await startProcessor(0, {
      request: () => {
        checking.resolve();
        return verdict;
      },
      response: () => pass,
    });
    t.after(() => processor.close());
    await using gateway = await startAudited({
      audit: sinkOf(folder),
      config: { logging: { accessLog: 'json' } },
      policies: guardrails(processor.port),
    });
    const session = await openSession(gateway.url);
    const left = new AbortController();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'echo' } });
    const headers = {
      ...postHeaders(session.id),
      'x-request-id': 'left',
    };
    const sent = fetch(gateway.url, { method: 'POST', headers, body, signal: left.signal });
    await checking.promise;
    left.abort();
    await assert.rejects(sent);
    await gateway.accessLine('left');
    decide(pass);
    const [line] = await folder.wait('tools/call');
    assert.equal(line?.['mcp.outcome'], 'cancelled');
  });

  test('and streams that HTTP/2 resets at once leave none behind', async (t) => {
    const folder = new AuditFolder(t);
    {
      await using gateway = await startAudited({ audit: sinkOf(folder) });
      const socket = connect(gateway.ports[0]!, '127.0.0.1');
      t.after(() => socket.destroy());
      socket.resume();
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
      const streams = Array.from({ length: 50 }, (_, i) => {
        const id = 1 + 2 * i;
        return Buffer.concat([
          frame(TYPE.headers, endHeaders, id, postHead),
          frame(TYPE.data, endStream, id, Buffer.from(JSON.stringify(message))),
          frame(TYPE.reset, 0, id, Buffer.from([0, 0, 0, cancelCode])),
        ]);
      });
      socket.write(
        Buffer.concat([
          PREFACE,
          frame(TYPE.settings, 0, 0),
          ...streams,
          frame(TYPE.ping, 0, 0, Buffer.alloc(8)),
        ]),
      );
      await once(socket, 'data');
      // After all of them, on a connection of its own.
      await (await openSession(gateway.url)).call('echo');
    }
    assert.deepEqual(
      folder.of('tools/call').map((line) => line['mcp.outcome']),
      ['ok'],
    );
  });
});

const endStream = 1;
const endHeaders = 4;
const cancelCode = 8;
/** A header without indexing (RFC 7541 §6.2.2). */
const literal = (name: string, value: string): Buffer =>
  Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
const postHead = Buffer.concat([
  literal(':method', 'POST'),
  literal(':scheme', 'http'),
  literal(':path', '/'),
  literal(':authority', 'a'),
  literal('content-type', 'application/json'),
  literal('accept', 'application/json, text/event-stream'),
]);

const guardrails = (port: number): object => ({
  mcpGuardrails: {
    processors: [{ kind: 'remote', host: `127.0.0.1:${port}`, methods: { 'tools/call': 'full' } }],
  },
});

test('a call that a guardrail refuses is denied by the policy, be it a tool error or an error of JSON-RPC', async (t) => {
  const folder = new AuditFolder(t);
  const processor = await startProcessor(0, {
    request: (check) => (String(check.mcp_request).includes('evil') ? refusal : pass),
    response: (check) => (String(check.mcp_response).includes('leak') ? refusal : pass),
  });
  t.after(() => processor.close());
  {
    await using gateway = await startAudited({ audit: sinkOf(folder), policies: guardrails(processor.port) });
    const session = await openSession(gateway.url);
    for (const text of ['evil', 'leak', 'fine']) await session.call('echo', { text });
  }
  const rule = `127.0.0.1:${processor.port}`;
  assert.deepEqual(
    folder
      .of('tools/call')
      .map((line) => [line['mcp.outcome'], line['action'], line['policy'], line['rule']]),
    [
      ['refused', 'Denied', 'mcpGuardrails', rule],
      ['refused', 'Denied', 'mcpGuardrails', rule],
      ['ok', 'Allowed', undefined, undefined],
    ],
  );
});

test('calls of a batch have lines with targets of their own, and no two of them have one id', async (t) => {
  const folder = new AuditFolder(t);
  {
    const targets = ['one', 'two'].map((name) => ({ name, stdio: { cmd: node, args: [rogue] } }));
    await using gateway = await startAudited({ audit: sinkOf(folder), targets });
    const session = await openSession(gateway.url, undefined, { protocolVersion: '2025-03-26' });
    const post = (...messages: object[]): Promise<Response> =>
      fetch(gateway.url, {
        method: 'POST',
        headers: postHeaders(session.id),
        body: JSON.stringify(messages),
      });
    const call = (id: number, name: string): object => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name },
    });
    const mixed = await post(call(1, 'one_echo'), call(2, 'two_echo'), call(3, 'three_echo'));
    await mixed.text();
    const repeated = await post(call(7, 'one_echo'), call(7, 'two_echo'));
    assert.equal(repeated.status, 400);
    assert.match(await repeated.text(), /two requests of a batch have the same id/);
  }
  assert.deepEqual(
    folder
      .of('tools/call')
      .map((line) => [line['mcp.id'], line['mcp.target'], line['mcp.outcome']])
      .toSorted(([a], [b]) => Number(a) - Number(b)),
    [
      ['1', 'one', 'ok'],
      ['2', 'two', 'ok'],
      ['3', undefined, 'refused'],
    ],
  );
});

test('a call beyond a limit has the policy and the rule of the limit in its line', async (t) => {
  const folder = new AuditFolder(t);
  {
    await using gateway = await startAudited({
      audit: sinkOf(folder),
      policies: {
        mcpBudgets: [{ maxConcurrentCalls: 1 }],
        localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'mcp.tool.name' }],
      },
    });
    const session = await openSession(gateway.url, undefined, { protocolVersion: '2025-03-26' });
    const call = (id: number): object => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'echo' },
    });
    for (const body of [[call(1), call(2)], call(3)]) {
      const response = await fetch(gateway.url, {
        method: 'POST',
        headers: postHeaders(session.id),
        body: JSON.stringify(body),
      });
      await response.text();
    }
  }
  assert.deepEqual(
    folder
      .of('tools/call')
      .map((line) => [line['mcp.id'], line['mcp.refusal'], line['policy'], line['rule'], line['action']])
      .toSorted(([a], [b]) => Number(a) - Number(b)),
    [
      ['1', undefined, undefined, undefined, 'Allowed'],
      ['2', 'mcp_budget_full', 'mcpBudgets', '1 calls at a time, each caller', 'Denied'],
      ['3', 'rate_limited', 'localRateLimit', '1 at once, 1 every 1h, key mcp.tool.name', 'Denied'],
    ],
  );
});
