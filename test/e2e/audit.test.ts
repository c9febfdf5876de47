/** The audit stream of a gateway, as an operator reads it. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { launcher } from '../../src/launcher.testing.ts';
import { RawModernClient } from '../../src/mcp/rawModernClient.testing.ts';
import { Collector } from '../../src/tracing/collector.testing.ts';
import { until } from '../../src/until.testing.ts';
import { checkShown } from '../../src/usedSecrets.testing.ts';
import { AuditFolder, startAudited } from './audit.testing.ts';
import { openSession, postHeaders, resultText } from './session.testing.ts';
import { inline, node, rogue, startIdp } from './stage.testing.ts';

const sinkOf = (folder: AuditFolder): object => ({ sink: { file: { path: folder.file } } });
const operationsOf = (folder: AuditFolder): string[] =>
  folder.lines.map((line) => String(line['api.operation'])).toSorted();

describe('lines of the audit stream', () => {
  test('a call names its caller, item, target, arguments and outcome', async (t) => {
    const folder = new AuditFolder(t);
    await using idp = await startIdp();
    const token = await idp.issueToken({ user: 'alice' });
    {
      await using gateway = await startAudited({ audit: { ...sinkOf(folder), groupsClaim: 'groups' }, idp });
      const session = await openSession(gateway.url, token);
      await session.call('echo', { text: 'hello', options: { depth: 2 }, tags: ['a', 'b'] });
      await session.call('echo', { text: 'hello'.repeat(1_000) });
      await session.close();
    }
    const [call, long] = folder.of('tools/call');
    assert.partialDeepStrictEqual(long, {
      'mcp.name': 'echo',
      'mcp.arguments': { text: 'string' },
      'mcp.outcome': 'ok',
    });
    assert.partialDeepStrictEqual(call, {
      'metadata.version': '1.6.0',
      class_uid: 6003,
      activity_id: 99,
      type_uid: 600_399,
      'actor.user.uid': 'alice',
      'actor.user.groups': ['mcp-users'],
      'actor.session.issuer': idp.issuer,
      'mcp.kind': 'tool',
      'mcp.name': 'echo',
      'mcp.target': 'target',
      'mcp.arguments': { text: 'string', options: { depth: 'number' }, tags: ['string'] },
      'mcp.outcome': 'ok',
      status: 'Success',
      action: 'Allowed',
      route: 'tools',
    });
    const operations = ['gateway.start', 'gateway.stop', 'initialize', 'session/delete'];
    assert.deepEqual(operationsOf(folder), [...operations, 'tools/call', 'tools/call']);
    const labels = new Set(folder.lines.flatMap((line) => line['mcp.session'] ?? []));
    assert.equal(labels.size, 1, 'the operations name one session');
    assert.ok(!folder.text.includes(token), 'no token');
    assert.ok(!folder.text.includes('hello'), 'no value');
  });

  test('refusals name their policy and rule, before and in a session', async (t) => {
    const folder = new AuditFolder(t);
    await using idp = await startIdp();
    const insider = await idp.issueToken({ user: 'alice' });
    const rules = [{ name: 'no-pids', if: 'mcp.tool.name != "pid"' }];
    {
      await using gateway = await startAudited({
        audit: sinkOf(folder),
        idp,
        policies: {
          mcpAuthorization: { rules },
          authorization: { rules: [{ name: 'no-puts', deny: 'request.method == "PUT"' }] },
        },
      });
      const session = await openSession(gateway.url, insider);
      assert.ok((await session.call('pid')).error !== undefined);
      await (await session.send('POST', { id: 7, method: 'ping' }, 'forged')).text();
      const headers = { authorization: `Bearer ${insider}` };
      assert.equal((await fetch(gateway.url, { method: 'PUT', headers })).status, 403);
      const broken = await fetch(gateway.url, {
        method: 'POST',
        body: '{',
        headers: {
          authorization: `Bearer ${insider}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
      });
      assert.equal(broken.status, 400);
      await broken.text();
    }
    assert.partialDeepStrictEqual(folder.of('tools/call')[0], {
      'mcp.outcome': 'refused',
      action: 'Denied',
      policy: 'mcpAuthorization',
      status_code: '-32602',
    });
    const refused = folder.of('request.refused');
    assert.deepEqual(
      refused.map((line) => [line['http_response.code'], line['policy'], line['rule']]),
      [
        [401, 'mcpAuthentication', undefined],
        [403, 'authorization', 'no-puts'],
        [400, undefined, undefined],
      ],
    );
    for (const token of [insider, 'forged']) assert.ok(!folder.text.includes(token));
  });

  test('lines name the trace of the message, of the client, or of the gateway', async (t) => {
    const folder = new AuditFolder(t);
    const [client, message] = ['0af7651916cd43dd8448eb211c80319c', '4bf92f3577b34da6a3ce929d0e0e4736'];
    const traceparent = `00-${message}-b7ad6b7169203331-01`;
    await using collector = await Collector.http();
    {
      await using gateway = await startAudited({
        audit: { ...sinkOf(folder), required: true },
        config: {
          logging: { accessLog: 'json' },
          tracing: { otlpEndpoint: collector.url, otlpProtocol: 'http', randomSampling: true },
        },
      });
      const given = { name: '' };
      const session = await openSession(gateway.url, undefined, {
        fetch: (url, init) => {
          const headers = new Headers(init?.headers);
          if (given.name === 'client') headers.set('traceparent', `00-${client}-b7ad6b7169203331-01`);
          headers.set('x-request-id', given.name);
          return fetch(url, { ...init, headers });
        },
      });
      given.name = 'own';
      await session.call('echo');
      given.name = 'client';
      await session.call('echo');
      await session.request('tools/call', { name: 'echo', arguments: {}, _meta: { traceparent } });
      given.name = 'own';
      await session.close();
      const { traceId } = await gateway.accessLine('own');
      const lines = folder.of('tools/call');
      assert.deepEqual(
        lines.map((line) => [line['mcp.phase'], line['trace.uid']]),
        [traceId, client, message].flatMap((trace) => [
          ['intent', trace],
          ['outcome', trace],
        ]),
      );
    }
  });

  test('lines tell of their own requests, although their connections have closed and others came', async (t) => {
    const folder = new AuditFolder(t);
    const traces = Array.from({ length: 6 }, (_, i) => String(i).repeat(31) + 'a');
    {
      // An access log would ask for the ids in time.
      const config = { logging: { accessLog: 'none' } };
      await using gateway = await startAudited({ audit: sinkOf(folder), config });
      let sent = 0;
      const session = await openSession(gateway.url, undefined, {
        fetch: (url, init) => {
          const headers = new Headers(init?.headers);
          headers.set('connection', 'close');
          if (String(init?.body).includes('tools/call')) {
            headers.set('x-request-id', `call-${sent}`);
            headers.set('traceparent', `00-${traces[sent]}-b7ad6b7169203331-01`);
            sent++;
          } else headers.set('x-request-id', 'another');
          return fetch(url, { ...init, headers });
        },
      });
      for (const text of traces) {
        await session.call('echo', { text });
        await session.request('ping');
      }
    }
    const calls = folder.of('tools/call');
    assert.deepEqual(
      calls.map((line) => [line['api.request.uid'], line['trace.uid']]),
      traces.map((trace, i) => [`call-${i}`, trace]),
    );
    assert.equal(new Set(calls.map((line) => line['src_endpoint.port'])).size, calls.length);
    for (const line of calls) assert.ok(Number(line['src_endpoint.port']) > 0);
  });

  test('tool errors, unknown methods, cancelled calls and lost servers have outcomes of their own', async (t) => {
    const folder = new AuditFolder(t);
    {
      await using gateway = await startAudited({ audit: sinkOf(folder) });
      const session = await openSession(gateway.url);
      await session.call('raw', {
        line: '{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"isError":true}}',
      });
      await session.request('odd/method');
      const hanging = session.send('POST', { id: 55, method: 'tools/call', params: { name: 'hang' } });
      await until('the call is under way', async () => {
        await session.send('POST', { method: 'notifications/cancelled', params: { requestId: 55 } });
        return folder.of('tools/call').some((line) => line['mcp.outcome'] === 'cancelled');
      });
      await (await hanging).text();
      await session.call('crash');
    }
    assert.deepEqual(
      folder.of('tools/call').map((line) => [line['mcp.outcome'], line['error']]),
      [
        ['tool_error', undefined],
        ['cancelled', undefined],
        ['error', 'mcp_target_failed'],
      ],
    );
    assert.equal(folder.of('odd/method')[0]?.['mcp.outcome'], 'error');
  });

  test('a call whose client leaves in the middle of a large result is cancelled, and one that loses its server is an error', async (t) => {
    const folder = new AuditFolder(t);
    const begun = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"';
    const large = { name: 'large', arguments: { before: begun, letters: 3_000_000, after: '' } };
    {
      await using gateway = await startAudited({ audit: sinkOf(folder) });
      const modern = new RawModernClient(new URL(gateway.url));
      const legacy = await openSession(gateway.url);
      const left = new AbortController();
      const response = await modern.fetch('tools/call', large, {}, left.signal);
      await response.body!.getReader().read();
      left.abort();
      await until('the call is recorded', () => folder.of('tools/call').length === 1);
      const body = { id: 55, method: 'tools/call', params: large };
      const broken = await legacy.send('POST', body);
      const params = { requestId: 55 };
      await legacy.send('POST', { method: 'notifications/cancelled', params });
      await assert.rejects(broken.text());
      const dying = { ...large, arguments: { ...large.arguments, dies: true } };
      await assert.rejects((await modern.fetch('tools/call', dying)).text());
    }
    assert.deepEqual(
      folder.of('tools/call').map((line) => line['mcp.outcome']),
      ['cancelled', 'cancelled', 'error'],
    );
  });

  test('the gateway records batches, stateless requests, HTTP+SSE, federations and revision 2026-07-28', async (t) => {
    const targets = ['one', 'two'].map((name) => ({ name, stdio: { cmd: node, args: [rogue] } }));
    const federated = new AuditFolder(t);
    {
      await using gateway = await startAudited({ audit: sinkOf(federated), targets });
      const session = await openSession(gateway.url);
      await session.request('prompts/list');
      await session.call('two_echo', { text: 'x' });
    }
    assert.partialDeepStrictEqual(federated.of('tools/call')[0], {
      'mcp.name': 'two_echo',
      'mcp.target': 'two',
      'mcp.outcome': 'ok',
    });
    assert.equal(federated.of('prompts/list')[0]?.['mcp.outcome'], 'ok');

    const batched = new AuditFolder(t);
    {
      await using gateway = await startAudited({ audit: sinkOf(batched) });
      const session = await openSession(gateway.url, undefined, { protocolVersion: '2025-03-26' });
      const call = (id: number, name: string) => ({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name, arguments: { text: 'x' } },
      });
      const answer = await fetch(gateway.url, {
        method: 'POST',
        headers: postHeaders(session.id),
        body: JSON.stringify([call(1, 'echo'), call(2, 'nothing')]),
      });
      await answer.text();
    }
    assert.deepEqual(
      batched
        .of('tools/call')
        .map((line) => [line['mcp.id'], line['mcp.name'], line['mcp.outcome']])
        .toSorted(([a], [b]) => String(a).localeCompare(String(b))),
      [
        ['1', 'echo', 'ok'],
        ['2', 'nothing', 'error'],
      ],
    );

    const modern = new AuditFolder(t);
    {
      await using gateway = await startAudited({ audit: sinkOf(modern) });
      const client = new RawModernClient(new URL(gateway.url));
      await client.post('server/discover');
      await client.post('tools/call', { name: 'echo', arguments: { text: 'x' } });
      await client.post('initialize');
    }
    assert.deepEqual(
      modern.lines.flatMap((line) =>
        String(line['api.operation']).startsWith('gateway')
          ? []
          : [[line['api.operation'], line['mcp.outcome']]],
      ),
      [
        ['server/discover', 'ok'],
        ['tools/call', 'ok'],
        ['initialize', 'error'],
      ],
    );

    const stateless = new AuditFolder(t);
    {
      await using gateway = await startAudited({
        audit: sinkOf(stateless),
        mcp: { statefulMode: 'stateless' },
      });
      const answer = await fetch(gateway.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 'a',
          method: 'tools/call',
          params: { name: 'echo', arguments: {} },
        }),
      });
      await answer.text();
    }
    assert.partialDeepStrictEqual(stateless.of('tools/call')[0], { 'mcp.outcome': 'ok', 'mcp.id': '"a"' });

    const sse = new AuditFolder(t);
    {
      await using gateway = await startAudited({ audit: sinkOf(sse) });
      const stop = new AbortController();
      const stream = await fetch(`${gateway.url}/sse`, {
        headers: { accept: 'text/event-stream' },
        signal: stop.signal,
      });
      const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
      const endpoint = /data: (\S+)/.exec((await reader.read()).value ?? '')?.[1] ?? '';
      const post = (message: object): Promise<Response> =>
        fetch(new URL(endpoint, gateway.url), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', ...message }),
        });
      const clientInfo = { name: 'e2e', version: '1' };
      await post({
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo },
      });
      await sse.wait('initialize');
      await post({ method: 'notifications/initialized' });
      await post({ id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } });
      await sse.wait('tools/call');
      stop.abort();
      await sse.wait('stream/open');
    }
    assert.equal(sse.of('tools/call')[0]?.['mcp.outcome'], 'ok');
  });

  test('`portcullis stdio` records the calls of its client', async (t) => {
    const folder = new AuditFolder(t);
    const config = join(folder.path, 'config.yaml');
    writeFileSync(
      config,
      `config: ${inline({ audit: sinkOf(folder) })}\nmcp:\n  port: 3000\n  targets: ${inline([{ name: 'target', stdio: { cmd: node, args: [rogue] } }])}\n`,
    );
    const child = spawn(node, [launcher, 'stdio', '-f', config], { stdio: ['pipe', 'pipe', 'ignore'] });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
    const send = (message: object): void =>
      void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'e2e', version: '1' };
    send({
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
    });
    await until('the answer to initialize', () => said.includes('"id":1'));
    send({ method: 'notifications/initialized' });
    send({ id: 2, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } });
    await until('the answer to the call', () => said.includes('"id":2'));
    child.stdin.end();
    await once(child, 'exit');
    assert.equal(folder.of('tools/call')[0]?.['mcp.outcome'], 'ok');
  });

  test('acts of operators stand in the stream: configurations and changes over the admin port', async (t) => {
    const folder = new AuditFolder(t);
    {
      await using gateway = await startAudited({ audit: sinkOf(folder) });
      assert.equal((await gateway.change('/logging?level=debug')).status, 200);
      const refused = await fetch(`${gateway.admin}/quitquitquit`, { method: 'POST' });
      assert.equal(refused.status, 401);
      gateway.rewrite('binds: nonsense');
      await folder.wait('config.reject');
    }
    assert.partialDeepStrictEqual(folder.of('admin.logging')[0], {
      'mcp.name': 'POST /logging?level=debug',
      'mcp.outcome': 'ok',
    });
    assert.partialDeepStrictEqual(folder.of('admin.quitquitquit')[0], {
      action: 'Denied',
      'http_response.code': 401,
    });
  });

  test('no secret reaches a line, whatever its place', async (t) => {
    const folder = new AuditFolder(t);
    const known = 'a-secret-of-the-configuration';
    const github = `ghp_${'a1B2'.repeat(9)}`;
    {
      await using gateway = await startAudited({
        audit: { ...sinkOf(folder), arguments: 'redacted', redact: ['$.card', 'list[*].pin', '..deep'] },
        targets: [{ name: 'target', stdio: { cmd: node, args: [rogue], env: { API_TOKEN: '$KNOWN' } } }],
        env: { KNOWN: known },
      });
      const session = await openSession(gateway.url);
      await session.call('echo', {
        text: `Authorization: Bearer abcdefghijkl and ${known}`,
        password: 'hunter2-hunter2',
        card: '4111',
        list: [{ pin: '9876', name: 'kept' }],
        a: { b: { deep: 'buried' } },
        note: github,
        [github]: 1,
      });
      await session.request('resources/read', {
        uri: `https://user:wordwordword@x.test/?access_token=${github}`,
      });
      await session.call(known);
    }
    for (const secret of ['abcdefghijkl', known, 'hunter2', '4111', '9876', 'buried', github, 'wordwordword'])
      assert.ok(!folder.text.includes(secret), `${secret} is in the stream`);
    assert.ok(folder.text.includes('kept'));
  });
});

describe('sinks of the audit stream', () => {
  test('a file that is renamed is followed, and the chain goes on in the new file', async (t) => {
    const folder = new AuditFolder(t);
    {
      await using gateway = await startAudited({ audit: { ...sinkOf(folder), chain: folder.chain } });
      const session = await openSession(gateway.url);
      await session.call('echo', { text: 'x' });
      await folder.wait('tools/call');
      renameSync(folder.file, `${folder.file}.1`);
      await until('a new file with a call', async () => {
        await session.call('echo', { text: 'x' });
        return folder.files.length === 2 && readFileSync(folder.file, 'utf8').includes('tools/call');
      });
    }
    const found = await folder.verify();
    assert.deepEqual(found.problems, []);
    assert.deepEqual(found.gaps, []);
    assert.ok(found.checkpoints > 0);
  });

  test('standard output has whole lines between those of the access log, of one process and of workers', async () => {
    for (const workers of [1, 2]) {
      await using gateway = await startAudited({
        audit: { sink: 'stdout' },
        config: { workers, logging: { accessLog: 'json' } },
      });
      const session = await openSession(gateway.url);
      for (let i = 0; i < 20; i++) await session.call('echo', { text: 'x' });
      const calls = (): string[] => {
        const lines = gateway.accessLog().split('\n').slice(0, -1);
        return lines.filter((line) => (JSON.parse(line) as Record<string, unknown>)['mcp.outcome'] === 'ok');
      };
      await until(
        'all calls are recorded',
        () => calls().filter((line) => line.includes('tools/call')).length === 20,
      );
    }
  });

  test('a full disk fails no call of a stream that is not required, and is counted', async (t) => {
    const folder = new AuditFolder(t);
    await using gateway = await startAudited({ audit: { sink: { file: { path: '/dev/full' } } } });
    const session = await openSession(gateway.url);
    assert.equal(resultText(await session.call('echo', { text: 'served' })), 'served');
    await until(
      'a failed write',
      async () => ((await gateway.metric('portcullis_audit_write_failures_total')) ?? 0) > 0,
    );
    await gateway.logged(/Audit sink failed.*ENOSPC/);
    assert.equal(folder.files.length, 0);
  });

  test('a required stream has an intent and an outcome for each call', async (t) => {
    const folder = new AuditFolder(t);
    await using gateway = await startAudited({ audit: { ...sinkOf(folder), required: true } });
    const session = await openSession(gateway.url);
    for (const text of ['stored', 'stored, too'])
      assert.equal(resultText(await session.call('echo', { text })), text);
    const lines = await folder.wait('tools/call', 4);
    // The outcome of a call is made before the intent of the next one is written.
    assert.deepEqual(
      lines.map((line) => line['mcp.phase']),
      ['intent', 'outcome', 'intent', 'outcome'],
    );
    const [first, second, third, fourth] = lines.map((line) => line['metadata.correlation_uid']);
    assert.deepEqual([first, third], [second, fourth]);
    assert.notEqual(first, third);
  });

  test('a client cannot name a method so that the stream leaves it out', async (t) => {
    const folder = new AuditFolder(t);
    await using gateway = await startAudited({
      audit: { ...sinkOf(folder), required: true, include: ['calls'] },
    });
    const session = await openSession(gateway.url);
    const methods = ['admin.dropDatabase', 'config.load', 'audit.stop', 'stream/open', 'request.refused'];
    for (const method of methods) {
      await session.request(method);
      const lines = await folder.wait(`method:${method}`, 2);
      assert.deepEqual(
        lines.map((line) => [line['mcp.phase'], line['activity_id']]),
        [
          ['intent', 99],
          ['outcome', 99],
        ],
      );
    }
  });

  test('a required stream refuses calls while its collector fails, and serves again afterwards', async (t) => {
    let status = 204;
    const bodies: string[] = [];
    const collector = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        if (status === 204) bodies.push(body);
        response.writeHead(status).end();
      });
    });
    collector.listen(0, '127.0.0.1');
    await once(collector, 'listening');
    t.after(() => collector.close());
    const { port } = collector.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/audit`;
    await using gateway = await startAudited({
      audit: { sink: { http: { url, token: 'collector-token', timeout: '300ms' } }, required: true },
    });
    const session = await openSession(gateway.url);
    assert.equal(resultText(await session.call('echo', { text: 'a' })), 'a');
    status = 500;
    const refused = await session.send('POST', {
      id: 9,
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'b' } },
    });
    assert.equal(refused.status, 503);
    assert.match(await refused.text(), /"code":-32000/);
    status = 204;
    await until(
      'calls are served again',
      async () => (await session.call('echo', { text: 'c' })).error === undefined,
    );
    const lines = bodies.join('').trim().split('\n');
    assert.ok(lines.every((line) => JSON.parse(line) !== undefined));
    checkShown('the audit collector', bodies.join(''));
    assert.ok(!bodies.join('').includes('collector-token'));
    assert.ok(((await gateway.metric('portcullis_audit_refused_total')) ?? 0) > 0);
  });
});

describe('the chain of several workers', () => {
  test('a worker that is killed leaves one known gap, and the next one names its last line', async (t) => {
    const folder = new AuditFolder(t);
    {
      await using gateway = await startAudited({
        audit: { ...sinkOf(folder), chain: folder.chain },
        config: { workers: 2 },
      });
      for (let i = 0; i < 6; i++) {
        const session = await openSession(gateway.url);
        await session.call('echo', { text: 'x' });
      }
      await folder.wait('tools/call', 6);
      await until('each worker has a line', () => folder.of('audit.start').length === 3);
      const worker = gateway.children().find(({ command }) => command.includes('worker'));
      assert.ok(worker);
      process.kill(worker.pid, 'SIGKILL');
      await folder.wait('audit.start', 4);
    }
    const found = await folder.verify();
    assert.deepEqual(found.problems, []);
    assert.deepEqual(
      found.gaps.map(({ kind }) => kind),
      ['end'],
    );
    const starts = folder.of('audit.start').filter((line) => line['previous.epoch'] !== undefined);
    assert.equal(starts.length, 1);
    assert.equal(starts[0]?.['previous.epoch'], found.gaps[0]?.epoch);
  });
});
