/** The timeout policy in front of MCP: it limits calls, which have clocks of their own, and never a stream. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../../mcp/index.ts';
import { TestPlane, type LocalHandler } from '../dataPlane.testing.ts';
import { get, RawBackend, status } from '../wire.testing.ts';

const callers: Caller[] = [];

const listening: LocalHandler = (_request, reply, caller) => {
  callers.push(caller);
  reply.open(200, [['content-type', 'text/event-stream']]).write('data: hello\n\n');
};

for (const [policy, ms] of [
  [{ requestTimeout: 50 }, 50],
  [{ backendRequestTimeout: 40 }, 40],
  [{ requestTimeout: 50, backendRequestTimeout: 60 }, 50],
] as const)
  test(`${JSON.stringify(policy)} leaves an MCP stream open and limits calls to ${ms} ms`, async (t) => {
    const silent = await RawBackend.start({});
    const plane = await TestPlane.start({
      routes: [
        { name: 'mcp', prefix: '/mcp', handler: listening, policies: { timeout: policy } },
        { name: 'app', prefix: '/', to: silent.port, policies: { timeout: { requestTimeout: 200 } } },
      ],
    });
    t.after(async () => {
      plane.close();
      await silent.close();
    });
    const client = await plane.client();
    client.send(get('/mcp'));
    await client.find('the first event', () => client.text.includes('hello') || undefined);
    // Another request takes longer than the limit of the stream.
    assert.equal(status(await plane.ask(get('/'))), 504);
    assert.ok(client.text.endsWith('data: hello\n\n\r\n'), 'the stream goes on');
    assert.equal(client.ending, 'open');
    assert.equal(callers.at(-1)?.callTimeoutMs, ms);
  });
