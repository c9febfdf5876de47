/** The operator's ports of a running gateway: their answers, and the facts that they hide. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { findOperatorSecret } from '../../src/admin/index.ts';
import { Program, run } from '../../src/cli/program.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { inline, rogue, node, startEchoApp } from './stage.testing.ts';

const secrets = ['a'.repeat(63) + 'b', 'env-secret-value', 'flag-secret-value', 'header-secret-value'];
const [sessionKey = '', inEnv = '', inFlag = '', inHeader = ''] = secrets;

const configuration = (port: number): string => `
config:
  session: { key: ${sessionKey} }
  logging: { level: debug, format: json, accessLog: json }
binds:
- port: 0
  listeners:
  - routes:
    - matches: [{ path: { pathPrefix: /mcp } }]
      backends:
      - mcp:
          targets:
          - name: rogue
            stdio: ${inline({ cmd: node, args: [rogue, '--api-key', inFlag], env: { SOME_NAME: inEnv } })}
    - policies:
        requestHeaderModifier: { set: { x-api-key: ${inHeader} } }
      backends: [{ host: '127.0.0.1:${port}' }]
`;

const initialize = inline({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

test('no secret of the configuration shows in the dump, the readiness details, the metrics or the logs', async () => {
  await using echo = await startEchoApp();
  await using gateway = await startGateway(configuration(Number(new URL(echo.url).port)));
  const echoed = await fetch(`${gateway.url}/headers`, { headers: { 'x-request-id': 'r1' } });
  assert.ok((await echoed.text()).includes(inHeader), 'the backend gets it');
  const opened = await fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: initialize,
  });
  assert.equal(opened.status, 200);
  await opened.text();
  await gateway.accessLine('r1');

  const dump = JSON.stringify(await gateway.configDump());
  assert.ok(dump.includes('SOME_NAME') && dump.includes('x-api-key'), 'names stay');
  const places = {
    dump,
    details: await (await fetch(`${gateway.readiness}/readyz`)).text(),
    metrics: await gateway.metrics(),
    log: gateway.log(),
    accessLog: gateway.accessLog(),
  };
  for (const [place, text] of Object.entries(places)) {
    assert.notEqual(text, '');
    for (const secret of secrets) assert.ok(!text.includes(secret), `${place} shows ${secret}`);
  }
});

test('every metric of a running gateway is documented, and every documented one is there', async () => {
  await using echo = await startEchoApp();
  await using gateway = await startGateway(configuration(Number(new URL(echo.url).port)));
  await (await fetch(`${gateway.url}/status/200`)).text();
  const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const documented = new Set(Array.from(page.matchAll(/^\| `(portcullis_\w+)`/gm), ([, name = '']) => name));
  const present = new Set(
    Array.from((await gateway.metrics()).matchAll(/^# TYPE (portcullis_\w+)/gm), ([, name = '']) => name),
  );
  // Made when something goes wrong for the first time.
  documented.delete('portcullis_metric_read_failures_total');
  // This gateway has no store, no audit stream and no exports, and with a file it has neither a controller nor is it one.
  const ofOthers = /^portcullis_(?:kube|stream|store|audit|spans|log_records)_/;
  assert.deepEqual(
    [...present].toSorted(),
    [...documented].filter((name) => !ofOthers.test(name)).toSorted(),
  );
});

test('the admin port sets the log level and ends the gateway gracefully', async () => {
  await using echo = await startEchoApp();
  const gateway = await startGateway(configuration(Number(new URL(echo.url).port)));
  const post = async (path: string): Promise<number> => (await gateway.change(path)).status;
  assert.equal(await post('/logging?level=error'), 200);
  assert.equal(await post('/quitquitquit'), 202);
  assert.deepEqual(await gateway.ended, { code: 0, signal: null });
  await gateway[Symbol.asyncDispose]();
});

test('the command admin prints the records of requests while they arrive', async (t) => {
  await using echo = await startEchoApp();
  await using gateway = await startGateway(configuration(Number(new URL(echo.url).port)));
  const { host } = new URL(gateway.admin);
  const program = new Program(['admin', '--admin', host, '/api/v1/requests']);
  t.after(() => program.child.kill());
  let isPrinted = false;
  void program.saw(/event: request/).then(() => (isPrinted = true));
  // The stream begins with nothing, and goes on with each request.
  await until('a record', async () => {
    await (await fetch(`${gateway.url}/status/200`)).text();
    return isPrinted;
  });
  program.child.kill('SIGINT');
  const { out } = await program.ended;
  assert.match(out, /^data: \{.*"path":"\/status\/200"/m);
});

test('changes over the TCP admin port need the secret of the operator, which the commands find', async () => {
  await using echo = await startEchoApp();
  await using gateway = await startGateway(configuration(Number(new URL(echo.url).port)));
  for (const path of ['/logging?level=error', '/upgrade', '/quitquitquit'])
    for (const headers of [{}, { authorization: `Bearer ${'A'.repeat(43)}` }]) {
      const refused = await fetch(`${gateway.admin}${path}`, { method: 'POST', headers });
      assert.equal(refused.status, 401, path);
      assert.match(await refused.text(), /secret/);
    }
  await gateway.logged(/"path":"\/quitquitquit".*"Admin request refused"/);
  assert.equal((await fetch(`${gateway.admin}/config_dump`)).status, 200, 'reading needs no secret');

  const { host } = new URL(gateway.admin);
  const asked = await run(['admin', '--admin', host, '/logging']);
  assert.deepEqual([asked.code, asked.out], [0, 'log level is debug\n']);
  const set = await run(['admin', '--admin', host, '--post', '/logging?level=warn']);
  assert.deepEqual([set.code, set.out], [0, 'log level is warn\n'], set.err);
  const quit = await run([
    'admin',
    '--admin',
    host.replace('127.0.0.1', 'localhost'),
    '--post',
    '/quitquitquit',
  ]);
  assert.equal(quit.code, 0, quit.err);
  assert.deepEqual(await gateway.ended, { code: 0, signal: null });
  const { port } = new URL(gateway.admin);
  assert.equal(findOperatorSecret({ host: '127.0.0.1', port: Number(port) }), undefined, 'the file is gone');
});
