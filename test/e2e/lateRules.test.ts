/** Rules judge a request by its own fields, also when its HTTP exchange is over before the gateway judges. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Events, type Message } from '../../src/mcp/rawClient.testing.ts';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, postHeaders } from './session.testing.ts';
import { inline, node, rogue } from './stage.testing.ts';

const deny = 'mcp.tool.name == "pid" && "x-evil" in request.headers';
const evil = { 'x-evil': '1' };
const catalog = fileURLToPath(new URL('../../src/mcp/fixtures/catalog.ts', import.meta.url));
const target = (name: string, program = rogue): object => ({ name, stdio: { cmd: node, args: [program] } });

const startWith = (mcp: object, policies: object = {}): Promise<GatewayProcess> =>
  startGateway(`
config: ${inline({ logging: { accessLog: 'json' } })}
binds:
- port: 0
  listeners:
  - routes:
    - policies: ${inline({ mcpAuthorization: { rules: [{ deny }] }, ...policies })}
      backends: [{ mcp: ${inline(mcp)} }]
`);

/** A server over stdio that lists its tools once a file is there, and notes the calls that it gets. */
class SlowLister {
  readonly program: string;
  private readonly folder = mkdtempSync(join(tmpdir(), 'portcullis-lister-'));
  private readonly calls = join(this.folder, 'calls');
  private readonly ready = join(this.folder, 'ready');
  private readonly asked = join(this.folder, 'asked');

  constructor(t: TestContext) {
    this.program = join(this.folder, 'server.mjs');
    writeFileSync(
      this.program,
      `
      import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
      import { createInterface } from 'node:readline';
      const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      const tools = ['echo', 'pid'].map((name) => ({ name, inputSchema: { type: 'object' } }));
      createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method, params } = JSON.parse(line);
        if (method === 'initialize') answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } });
        else if (method === 'tools/list') {
          writeFileSync(${JSON.stringify(this.asked)}, '');
          const timer = setInterval(() => {
            if (!existsSync(${JSON.stringify(this.ready)})) return;
            clearInterval(timer);
            answer(id, { tools });
          }, 20);
        } else if (method === 'tools/call') {
          appendFileSync(${JSON.stringify(this.calls)}, params.name + '\\n');
          answer(id, { content: [] });
        } else if (id !== undefined) answer(id, {});
      });
      `,
    );
    t.after(() => rmSync(this.folder, { recursive: true }));
  }

  get target(): object {
    return target('slow', this.program);
  }

  /** Waits until the gateway asks for the list. */
  whenAsked(): Promise<unknown> {
    return until('the gateway asks for the list', () => existsSync(this.asked));
  }

  list(): void {
    writeFileSync(this.ready, '');
  }

  get called(): string[] {
    return existsSync(this.calls) ? readFileSync(this.calls, 'utf8').trim().split('\n') : [];
  }
}

/** A client of HTTP+SSE (2024-11-05). */
async function openSse(
  t: TestContext,
  url: string,
): Promise<(message: object) => Promise<Message | undefined>> {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const headers = { accept: 'text/event-stream', ...evil };
  const stream = await fetch(new URL('/sse', url), { headers, signal: stop.signal });
  const events = new Events(stream.body!);
  const endpoint = /data: (\S+)/.exec((await events.nextBlock()) ?? '')?.[1] ?? '';
  const post = async (message: object): Promise<void> => {
    const answer = await fetch(new URL(endpoint, url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...evil },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
    assert.equal(answer.status, 202);
    await answer.text();
  };
  const ask = async (message: object): Promise<Message | undefined> => {
    await post(message);
    return await events.next();
  };
  const clientInfo = { name: 'e2e', version: '1' };
  await ask({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo },
  });
  await post({ method: 'notifications/initialized' });
  return ask;
}

const names = (message: Message | undefined): string[] =>
  (message?.result?.['tools'] as { name: string }[] | undefined)?.map(({ name }) => name) ?? [];

describe('a rule about a field of the request', () => {
  test('hides a tool from lists over HTTP+SSE, whose POST is over before the list comes', async (t) => {
    await using gateway = await startWith({ targets: [target('one')] });
    const ask = await openSse(t, gateway.url);
    const listed = names(await ask({ id: 2, method: 'tools/list' }));
    assert.ok(listed.includes('echo') && !listed.includes('pid'), listed.join());
  });

  test('refuses a call over HTTP+SSE, although its owner is known later', async (t) => {
    const lister = new SlowLister(t);
    await using gateway = await startWith({ prefixMode: 'never', targets: [lister.target, target('other')] });
    const ask = await openSse(t, gateway.url);
    const call = ask({ id: 2, method: 'tools/call', params: { name: 'pid' } });
    await lister.whenAsked();
    lister.list();
    assert.match((await call)?.error?.message ?? '', /Unknown tool: pid/);
    assert.deepEqual(lister.called, []);
    await gateway.logged(
      /refused after the end of its HTTP exchange.*tools\/call.*mcpAuthorization.*binds\S*rules\[0\]/,
    );
  });

  test('refuses a call whose client has left before its owner is known', async (t) => {
    const lister = new SlowLister(t);
    await using gateway = await startWith({ prefixMode: 'never', targets: [lister.target, target('other')] });
    const session = await openSession(gateway.url);
    const left = new AbortController();
    const call = (name: string, signal: AbortSignal | null, id: string): Promise<Response> =>
      fetch(gateway.url, {
        method: 'POST',
        headers: {
          ...postHeaders(session.id),
          'x-request-id': id,
          ...evil,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
        signal,
      });
    const abandoned = call('pid', left.signal, 'left');
    await lister.whenAsked();
    left.abort();
    await assert.rejects(abandoned);
    await gateway.accessLine('left');
    lister.list();
    // It waits for the same list, and its server gets the calls in their order.
    await (await call('echo', null, 'stayed')).text();
    assert.deepEqual(lister.called, ['echo']);
  });
});

test('a limit that refuses a call over HTTP+SSE is named in the log, since the line of the POST says 202', async (t) => {
  const localRateLimit = [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'mcp.tool.name' }];
  await using gateway = await startWith({ targets: [target('one')] }, { localRateLimit });
  const ask = await openSse(t, gateway.url);
  const call = { method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } };
  assert.ok((await ask({ id: 2, ...call }))?.result !== undefined);
  assert.ok((await ask({ id: 3, ...call }))?.error !== undefined);
  await gateway.logged(/refused after the end of its HTTP exchange.*"?echo"?.*localRateLimit.*every 1h/);
});

test('the log of such a refusal shows no credential in the address of a resource', async (t) => {
  const uri = 'https://alice:opaque-1@files.example/a?access_token=opaque-2';
  const resources = JSON.stringify({ name: 'one', resources: [uri], capabilities: { resources: {} } });
  const files = { name: 'one', stdio: { cmd: node, args: [catalog, resources] } };
  const localRateLimit = [{ maxTokens: 1, tokensPerFill: 1, fillInterval: '1h', key: 'mcp.resource.name' }];
  await using gateway = await startWith({ targets: [files] }, { localRateLimit });
  const ask = await openSse(t, gateway.url);
  const read = { method: 'resources/read', params: { uri } };
  assert.ok((await ask({ id: 2, ...read }))?.result !== undefined);
  assert.ok((await ask({ id: 3, ...read }))?.error !== undefined);
  await gateway.logged(
    /refused after the end of its HTTP exchange.*https:\/\/\[redacted\]@files\.example\/a\?access_token=\[redacted\]/,
  );
  assert.doesNotMatch(gateway.log(), /opaque/);
});

test('a request without a session has no session id in rules, whatever its client sends', async () => {
  const rules = { mcpAuthorization: { rules: [{ require: 'has(mcp.tool) && has(mcp.sessionId)' }] } };
  const made = { 'mcp-session-id': 'made-up' };
  {
    await using gateway = await startWith({ statefulMode: 'stateless', targets: [target('one')] }, rules);
    const answer = await fetch(gateway.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...made },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } }),
    });
    assert.match(await answer.text(), /Unknown tool: echo/);
  }
  await using gateway = await startWith({ targets: [target('one')] }, rules);
  const modern = new RawModernClient(new URL(gateway.url), {}, made);
  assert.match(
    JSON.stringify((await modern.post('tools/call', { name: 'echo' })).json),
    /Unknown tool: echo/,
  );
  const session = await openSession(gateway.url);
  assert.ok((await session.call('echo', { text: 'x' })).result !== undefined);
});
