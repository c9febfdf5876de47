/** The admin API of running gateways: who may use it, and what it shows. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { run } from '../../src/cli/program.testing.ts';
import { certificate } from '../../src/proxy/certificates.testing.ts';
import { until } from '../../src/until.testing.ts';
import {
  apiClient,
  browserOf,
  firstLinkOf,
  linkFileOf,
  newLink,
  operatorOf,
  operatorSecret,
  type ApiAnswer,
} from './adminApi.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { openSession } from './session.testing.ts';
import { inline, node, rogue, startEchoApp } from './stage.testing.ts';

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keySet = inline({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }] });
const keyOfClient = 'a-key-that-no-viewer-sees';
const noteOfClient = 'a-note-that-no-viewer-sees';
const folder = mkdtempSync(join(tmpdir(), 'admin-api-'));
let app: Awaited<ReturnType<typeof startEchoApp>>;
const gateways = new Map<number, GatewayProcess>();
const gatewayWith = (workers: number): GatewayProcess => gateways.get(workers) ?? assert.fail();

const configuration = (workers: number): string => `
# a comment that stays
config:
  workers: ${workers}
  logging: { accessLog: json }
  ${workers === 1 ? 'storage: { mode: file }' : ''}
  audit: { sink: { file: { path: ${join(folder, `audit-${workers}.jsonl`)} } } }
binds:
- port: 0
  listeners:
  - name: public
    routes:
    - name: tools
      matches: [{ path: { pathPrefix: /mcp } }]
      backends: [{ mcp: { targets: [{ name: rogue, stdio: ${inline({ cmd: node, args: [rogue] })} }] } }]
    - name: issued
      hostnames: [api.example.com]
      matches: [{ path: { pathPrefix: /issued } }]
      policies:
        jwtAuth:
          mode: strict
          issuer: https://login.example.com
          audiences: [api]
          jwks: '${keySet}'
      backends: [{ host: '127.0.0.1:${app.port}' }]
    - name: app
      policies:
        apiKey: { mode: optional, location: { header: { name: X-API-Key } }, keys: [{ key: ${keyOfClient}, metadata: { note: ${noteOfClient} } }] }
        authorization: { rules: [{ deny: 'request.headers["x-who"] == "eve"', name: not eve }] }
      backends: [{ host: '127.0.0.1:${app.port}' }]
- port: 0
  listeners:
  - name: secure
    hostname: '*.secure.example'
    protocol: HTTPS
    tls: { cert: ${join(folder, 'cert.pem')}, key: ${join(folder, 'key.pem')} }
    routes:
    - name: app
      backends: [{ host: '127.0.0.1:${app.port}' }]
`;

before(async () => {
  app = await startEchoApp();
  const { cert, key } = certificate({ names: ['www.secure.example'] });
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
  for (const workers of [1, 2]) gateways.set(workers, await startGateway(configuration(workers)));
});
after(async () => {
  for (const gateway of gateways.values()) await gateway.stop();
  await app?.close();
  rmSync(folder, { recursive: true });
});

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

interface Operation {
  readonly 'x-access': string;
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, { schema: object }> }>>;
}

const openApiOf = async (gateway: GatewayProcess): Promise<OpenApi> =>
  (await operatorOf(gateway)('GET', '/api/v1/openapi.json')).json as OpenApi;

/** Fails unless the description has the answer as it is. */
function checkAnswer({ paths, components }: OpenApi, method: string, path: string, answer: ApiAnswer): void {
  const described = paths[path]?.[method.toLowerCase()]?.responses[answer.status];
  assert.ok(described !== undefined, `${method} ${path}: ${answer.status} is not described`);
  const [type] = (answer.headers['content-type'] ?? '').split(';');
  if (answer.json === undefined) {
    assert.equal(described.content, undefined);
    return;
  }
  const { schema } = described.content?.[type ?? ''] ?? assert.fail(`${type} is not described`);
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const check: ValidateFunction = ajv.compile({ ...schema, components });
  assert.ok(check(answer.json), `${method} ${path}: ${JSON.stringify(check.errors)}`);
}

const problemOf = ({ json }: ApiAnswer) => json as { status: number; title: string; detail: string };

test('the description of the API is valid OpenAPI 3.1', async () => {
  const document = await openApiOf(gatewayWith(1));
  const result = await new Validator().validate({ ...document });
  assert.deepEqual([result.valid, result.errors], [true, undefined]);
});

for (const workers of [1, 2])
  test(`with ${workers} workers, every page that only reads answers as its description says`, async (t) => {
    const gateway = gatewayWith(workers);
    const operator = operatorOf(gateway);
    const session = await openSession(`${gateway.url}/mcp`);
    t.after(() => session.close());
    const document = await openApiOf(gateway);
    let checked = 0;
    for (const [path, operations] of Object.entries(document.paths)) {
      const isStream = operations['get']?.responses['200']?.content?.['text/event-stream'] !== undefined;
      // Pages about one object need its id.
      if (operations['get'] === undefined || isStream || path.includes('{')) continue;
      const answer = await operator('GET', path);
      assert.equal(answer.status, 200, path);
      checkAnswer(document, 'GET', path, answer);
      checked++;
    }
    assert.ok(checked >= 9, `${checked} pages`);
    const request = 'GET /anything HTTP/1.1\nHost: a';
    checkAnswer(document, 'POST', '/api/v1/why', await operator('POST', '/api/v1/why', { request }));
  });

test('every operation refuses a request that proves nothing, and its description says so', async () => {
  const gateway = gatewayWith(1);
  const document = await openApiOf(gateway);
  for (const [path, operations] of Object.entries(document.paths))
    for (const method of Object.keys(operations)) {
      const refused = await apiClient(gateway)(method.toUpperCase(), path.replaceAll(/[{}]/g, ''));
      assert.equal(refused.status, 401, path);
      assert.match(problemOf(refused).detail, /secret/);
      checkAnswer(document, method, path, refused);
    }
  const cookie = 'portcullis-console=x; portcullis-console-1=y';
  assert.equal((await apiClient(gateway, { cookie })('GET', '/api/v1/status')).status, 401);
});

test('refusals are problem documents that say what was expected', async () => {
  const operator = operatorOf(gatewayWith(1));
  const cases: readonly (readonly [ApiAnswer, number, RegExp])[] = [
    [await operator('GET', '/api/v1/nothing'), 404, /not found/],
    [await operator('POST', '/api/v1/status', {}), 405, /method/],
    [await operator('POST', '/api/v1/why', '{'), 400, /not JSON/],
    [await operator('POST', '/api/v1/why', { request: 1 }), 400, /request: expected a text/],
    [await operator('POST', '/api/v1/why', {}, { 'content-type': 'text/plain' }), 415, /application\/json/],
    [await operator('POST', '/api/v1/why', { request: 'x'.repeat(1_100_000) }), 413, /bytes/],
    [await operator('GET', '/api/v1/audit?limit=0'), 400, /limit/],
    [await operator('DELETE', '/api/v1/sessions/none'), 404, /none/],
  ];
  for (const [answer, status, detail] of cases) {
    assert.equal(answer.status, status, JSON.stringify(answer.json));
    assert.equal(answer.headers['content-type'], 'application/problem+json');
    assert.equal(problemOf(answer).status, status);
    assert.match(problemOf(answer).detail, detail);
  }
});

test('the first link is in a private file, works once, and stands in no log', async () => {
  const gateway = gatewayWith(1);
  const file = linkFileOf(gateway);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const link = firstLinkOf(gateway);
  assert.equal(new URL(link).origin, gateway.admin);
  const looked = await ask(link, { method: 'HEAD' });
  assert.equal(looked.headers['set-cookie'], undefined, 'a program that looks at a link does not use it');
  const opened = await ask(link);
  assert.deepEqual([opened.status, opened.headers.location], [303, '/ui/']);
  const [cookie = ''] = opened.headers['set-cookie'] ?? [];
  for (const attribute of ['HttpOnly', 'SameSite=Strict', 'Path=/']) assert.ok(cookie.includes(attribute));
  assert.equal(existsSync(file), false, 'the file goes with its use');
  const again = await ask(link);
  assert.deepEqual([again.status, again.headers.location], [303, '/ui/?login=refused']);
  assert.equal(again.headers['set-cookie'], undefined);
  const [, code = ''] = link.split('code=');
  assert.ok(code.length >= 40);
  assert.ok(!gateway.log().includes(code));
  assert.ok(!gateway.log().includes(cookie.split(/[=;]/)[1] ?? ''));
});

test('portcullis console prints a link for a role, and only with the secret', async () => {
  const gateway = gatewayWith(1);
  const { host } = new URL(gateway.admin);
  const printed = await run(['console', '--admin', host, '--role', 'viewer']);
  assert.equal(printed.code, 0, printed.err);
  const viewer = await browserOf(gateway, printed.out.trim());
  const { json } = await viewer.ask('GET', '/api/v1/session');
  const { role, canWrite } = json as { role: string; canWrite: boolean };
  assert.deepEqual([role, canWrite], ['viewer', false]);
  const fromConsole = await viewer.ask('POST', '/api/v1/login-links', {});
  assert.equal(fromConsole.status, 403, 'a console makes no links');
  const operator = await browserOf(gateway, await newLink(gateway, 'operator'));
  const byOperator = await operator.ask('POST', '/api/v1/login-links', {});
  assert.equal(byOperator.status, 403, 'nor does that of an operator');
  assert.equal((await run(['console', '--admin', host, '--role', 'king'])).code, 2);
});

test('a session reads with its cookie, writes with its token, and ends', async () => {
  const gateway = gatewayWith(1);
  const { cookie, ask: console } = await browserOf(gateway, await newLink(gateway, 'operator'));
  const cookieOnly = apiClient(gateway, { cookie });
  assert.equal((await cookieOnly('GET', '/api/v1/status')).status, 200);
  const request = { request: 'GET /anything HTTP/1.1\nHost: a' };
  const without = await cookieOnly('POST', '/api/v1/why', request);
  assert.deepEqual([without.status, /x-portcullis-write/.test(problemOf(without).detail)], [403, true]);
  const wrong = { 'x-portcullis-write': 'A'.repeat(43) };
  assert.equal((await cookieOnly('POST', '/api/v1/why', request, wrong)).status, 403);
  assert.equal((await console('POST', '/api/v1/why', request)).status, 200);
  const foreign = { origin: 'https://evil.example' };
  assert.equal((await console('POST', '/api/v1/why', request, foreign)).status, 403);
  assert.equal((await console('GET', '/api/v1/status', undefined, { host: 'evil.example' })).status, 403);
  const ended = await console('DELETE', '/api/v1/session');
  assert.equal(ended.status, 204);
  assert.match(ended.headers['set-cookie']?.[0] ?? '', /Max-Age=0/);
  assert.equal((await console('GET', '/api/v1/status')).status, 401);
});

test('two gateways on one host keep their sessions apart', async () => {
  const browsers = await Promise.all(
    [1, 2].map(async (workers) => {
      const gateway = gatewayWith(workers);
      return { gateway, ...(await browserOf(gateway, await newLink(gateway, 'viewer'))) };
    }),
  );
  const names = browsers.map(({ cookie }) => cookie.split('=', 1)[0]);
  assert.equal(new Set(names).size, 2, 'a browser keeps both cookies');
  // A browser sends the cookies of a host to all its ports.
  const cookie = browsers.map((browser) => browser.cookie).join('; ');
  for (const { gateway, cookie: own } of browsers) {
    assert.equal((await apiClient(gateway, { cookie })('GET', '/api/v1/status')).status, 200);
    const others = cookie.split('; ').filter((one) => one !== own);
    const alone = await apiClient(gateway, { cookie: others.join('; ') })('GET', '/api/v1/status');
    assert.equal(alone.status, 401);
  }
});

test('the end of a session ends its event streams', async () => {
  const gateway = gatewayWith(1);
  const { cookie, ask: console } = await browserOf(gateway, await newLink(gateway, 'viewer'));
  const { cookie: other } = await browserOf(gateway, await newLink(gateway, 'viewer'));
  const open = async (own: string) => {
    const response = await fetch(`${gateway.admin}/api/v1/requests`, { headers: { cookie: own } });
    assert.equal(response.status, 200);
    return response;
  };
  const [ended, kept] = [await open(cookie), await open(other)];
  assert.equal((await console('DELETE', '/api/v1/session')).status, 204);
  assert.match(await ended.text(), /^: open/, 'the body has its end');
  const reader = kept.body!.getReader();
  assert.equal((await reader.read()).done, false);
  await reader.cancel();
});

test('a viewer reads everything but secrets, and changes nothing', async () => {
  const gateway = gatewayWith(1);
  const viewer = await browserOf(gateway, await newLink(gateway, 'viewer'));
  const operator = operatorOf(gateway);
  const read = async (client: typeof operator) =>
    (await client('GET', '/api/v1/config')).json as {
      text: string;
      writable: boolean;
      whyReadOnly: string;
      effective: unknown;
      tree: readonly unknown[];
    };
  const seen = await read(viewer.ask);
  assert.ok(seen.text.includes('# a comment that stays'));
  for (const hidden of [keyOfClient, noteOfClient, rogue])
    assert.ok(!JSON.stringify(seen).includes(hidden), hidden);
  assert.deepEqual([seen.writable, /viewer/.test(seen.whyReadOnly)], [false, true]);
  const own = await read(operator);
  assert.ok(own.text.includes(keyOfClient));
  assert.ok(JSON.stringify(own.tree).includes(rogue));
  assert.ok(!JSON.stringify(own.effective).includes(keyOfClient));
  assert.ok(own.tree.length > 0 && !JSON.stringify(own.tree).includes(keyOfClient));
  const document = await openApiOf(gateway);
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { 'x-access': access }] of Object.entries(operations)) {
      if (access === 'viewer') continue;
      const refused = await viewer.ask(method.toUpperCase(), path.replaceAll(/[{}]/g, ''), {});
      assert.equal(refused.status, 403, `${method} ${path}`);
    }
  const change = await ask(`${gateway.admin}/quitquitquit`, {
    method: 'POST',
    headers: { cookie: viewer.cookie, 'x-portcullis-write': viewer.writeToken },
  });
  assert.equal(change.status, 403);
});

test('routes show their addresses, targets and logins', async () => {
  const gateway = gatewayWith(1);
  const port = gateway.ports[0];
  const { json } = await operatorOf(gateway)('GET', '/api/v1/routes');
  const [tools, issued, appRoute] = json as Record<string, unknown>[];
  assert.deepEqual(tools, {
    id: '0#0/public/tools',
    bind: '0#0',
    port,
    listener: 'public',
    hostnames: [],
    path: '/mcp',
    kind: 'mcp',
    targets: ['rogue'],
    authentication: null,
    urls: [`http://localhost:${port}/mcp`],
  });
  assert.deepEqual(issued?.['authentication'], {
    kind: 'jwtAuth',
    byToken: true,
    credential: 'token',
    guidesClients: false,
    header: { name: 'authorization', prefix: 'Bearer ' },
    issuers: ['https://login.example.com'],
    audiences: ['api'],
    clientScopes: [],
  });
  assert.deepEqual(appRoute?.['authentication'], {
    kind: 'apiKey',
    byToken: false,
    credential: 'key',
    guidesClients: false,
    header: { name: 'x-api-key', prefix: '' },
    issuers: [],
    audiences: [],
    clientScopes: [],
  });
  assert.deepEqual(issued?.['urls'], [`http://api.example.com:${port}/issued`]);
  assert.deepEqual(
    [appRoute?.['kind'], appRoute?.['targets'], appRoute?.['path']],
    ['http', [`127.0.0.1:${app.port}`], '/'],
  );
});

test('rules say what they decide, with their route and their place', async () => {
  const gateway = gatewayWith(1);
  const { json } = await operatorOf(gateway)('GET', '/api/v1/rules');
  const [rule, ...others] = json as Record<string, unknown>[];
  const line =
    configuration(1)
      .split('\n')
      .findIndex((text) => text.includes('not eve')) + 1;
  assert.deepEqual(rule, {
    bind: '0#0',
    listener: 'public',
    route: { id: '0#0/public/app', name: 'app' },
    policy: 'authorization',
    place: 'binds[0].listeners[0].routes[2].policies.authorization.rules[0]',
    file: gateway.file,
    line,
    name: 'not eve',
    effect: 'deny',
    expression: 'request.headers["x-who"] == "eve"',
    decides: 'whole requests',
    reads: [],
    scopes: [],
  });
  assert.deepEqual(others, []);
});

interface SessionRow {
  readonly label: string;
  readonly route: string;
  readonly client: object;
  readonly revision: string;
  readonly startedAt: string;
  readonly targets: readonly {
    readonly name: string;
    readonly state: string;
    readonly since: string;
    readonly pid: number;
  }[];
}

const sessionsOf = async (gateway: GatewayProcess): Promise<SessionRow[]> =>
  (await operatorOf(gateway)('GET', '/api/v1/sessions')).json as SessionRow[];

for (const workers of [1, 2]) {
  test(`with ${workers} workers, a session shows its client and its child, and an operator ends it`, async () => {
    const gateway = gatewayWith(workers);
    const operator = operatorOf(gateway);
    const known = new Set((await sessionsOf(gateway)).map(({ label }) => label));
    const session = await openSession(`${gateway.url}/mcp`);
    await session.call('stderr', { line: `said by ${workers}` });
    const found = (await sessionsOf(gateway)).filter(({ label }) => !known.has(label));
    const [row = assert.fail()] = found;
    assert.equal(found.length, 1);
    assert.deepEqual(
      [row.route, row.client, row.revision],
      ['0#0/public/tools', { name: 'e2e', version: '1' }, '2025-11-25'],
    );
    const [child = assert.fail()] = row.targets;
    assert.deepEqual([child.name, child.state], ['rogue', 'ready']);
    assert.ok(child.since >= row.startedAt && child.since <= new Date().toISOString(), child.since);
    assert.ok(gateway.children().some(({ pid }) => pid === child.pid));

    const target = await until('the line of the child', async () => {
      const { json } = await operator('GET', '/api/v1/targets');
      const [one] = json as { state: string; stderr: string[]; sessions: number }[];
      return one?.stderr.includes(`said by ${workers}`) === true ? one : undefined;
    });
    assert.equal(target.state, 'ready');
    const dump = JSON.stringify(await gateway.configDump());
    assert.ok(!dump.includes(`said by ${workers}`), 'every local account may read the dump');

    assert.equal((await operator('DELETE', `/api/v1/sessions/${row.label}`)).status, 204);
    assert.equal((await session.send('POST', { id: 9, method: 'ping' })).status, 404);
    assert.deepEqual(
      (await sessionsOf(gateway)).filter(({ label }) => label === row.label),
      [],
    );
    await until('the end of the child', () => !gateway.children().some(({ pid }) => pid === child.pid));
  });

  test(`with ${workers} workers, the status adds up requests, refusals and MCP calls`, async () => {
    const gateway = gatewayWith(workers);
    const rates = async (): Promise<Record<string, number>> =>
      ((await operatorOf(gateway)('GET', '/api/v1/status')).json as { rates: Record<string, number> }).rates;
    const first = await rates();
    for (let nth = 0; nth < 3; nth++) {
      const served = await fetch(`${gateway.url}/anything`, { headers: { 'x-who': 'ada' } });
      assert.equal(served.status, 200, await served.text());
    }
    const refused = await fetch(`${gateway.url}/anything`, { headers: { 'x-who': 'eve' } });
    assert.equal(refused.status, 403);
    await refused.text();
    // A request is counted when its last byte has gone.
    const later = await until('the requests', async () => {
      const now = await rates();
      return (now['requests'] ?? 0) - (first['requests'] ?? 0) >= 4 ? now : undefined;
    });
    assert.equal((later['refusals'] ?? 0) - (first['refusals'] ?? 0), 1);
    assert.ok((later['p99Ms'] ?? 0) > 0);
  });

  test(`with ${workers} workers, the audit lines of all processes come in their order`, async () => {
    const gateway = gatewayWith(workers);
    const session = await openSession(`${gateway.url}/mcp`);
    await session.close();
    const lines = await until('the lines of the session', async () => {
      const { json } = await operatorOf(gateway)('GET', '/api/v1/audit?limit=1000');
      const found = json as { kept: boolean; lines: Record<string, unknown>[] };
      assert.equal(found.kept, true);
      return found.lines.some((line) => line['api.operation'] === 'session/delete') ? found.lines : undefined;
    });
    const operations = lines.map((line) => line['api.operation']);
    assert.ok(operations.includes('gateway.start'), 'the line of the main process');
    const times = lines.map(({ time }) => Number(time));
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    const { json } = await operatorOf(gateway)('GET', '/api/v1/audit?limit=1');
    assert.equal((json as { lines: unknown[] }).lines.length, 1);
  });
}

test('changes and logins are audited with their caller, and readings are not', async () => {
  const gateway = gatewayWith(1);
  const browser = await browserOf(gateway, await newLink(gateway, 'operator'));
  await browser.ask('DELETE', '/api/v1/sessions/nobody');
  await browser.ask('POST', '/api/v1/why', { request: 'GET / HTTP/1.1\nHost: a' });
  // A sink gets the lines of a moment together.
  const lines = await until('the lines of the requests', async () => {
    const { json } = await operatorOf(gateway)('GET', '/api/v1/audit?limit=1000');
    const found = (json as { lines: Record<string, unknown>[] }).lines;
    return found.some((line) => line['api.operation'] === 'admin.api/v1/sessions/nobody') ? found : undefined;
  });
  const of = (operation: string) => lines.filter((line) => line['api.operation'] === operation);
  const [ended] = of('admin.api/v1/sessions/nobody');
  assert.match(String(ended?.['actor.user.name']), /^operator \([0-9a-f]{12}\)$/);
  assert.equal(ended?.['mcp.outcome'], 'refused');
  assert.equal(of('admin.api/v1/login-links').at(-1)?.['actor.user.name'], 'operator (secret)');
  assert.ok(of('admin.ui/login').length > 0);
  assert.deepEqual(
    of('admin.api/v1/why')
      .map((line) => line['mcp.outcome'])
      .includes('ok'),
    false,
  );
  const file = JSON.stringify(lines);
  assert.ok(!/code=[\w-]{8}/.test(file), 'no code of a link');
});

interface ConfigAnswer {
  readonly text: string;
  readonly etag: string;
  readonly writable: boolean;
  readonly whyReadOnly?: string;
}

const configOf = async (gateway: GatewayProcess): Promise<ConfigAnswer> =>
  (await operatorOf(gateway)('GET', '/api/v1/config')).json as ConfigAnswer;

/** A route to the sample app that answers below a path. */
const addedRoute = (path: string): string => `
    - name: added
      matches: [{ path: { pathPrefix: ${path} } }]
      policies: { urlRewrite: { path: { prefix: /anything } } }
      backends: [{ host: '127.0.0.1:${app.port}' }]
    - name: app
`;

test('a check tells problems with their places, and what a text would change', async () => {
  const gateway = gatewayWith(1);
  const operator = operatorOf(gateway);
  const { text } = await configOf(gateway);
  const check = async (changed: string) => {
    const answer = await operator('POST', '/api/v1/config/check', { text: changed });
    checkAnswer(await openApiOf(gateway), 'POST', '/api/v1/config/check', answer);
    return answer.json as {
      ok: boolean;
      problems: { path: string; line: number; column: number; message: string }[];
      changes: { routes: Record<string, string[]>; sessionsEnded: number; needsRestart: boolean } | null;
    };
  };
  const same = await check(text);
  assert.equal(same.ok, true);
  assert.deepEqual(same.changes?.routes, { added: [], removed: [], changed: [] });
  const changed = text
    .replace('\n    - name: app\n', addedRoute('/added'))
    .replace('mode: strict', 'mode: optional');
  const { changes } = await check(changed);
  assert.deepEqual(changes?.routes, {
    added: ['0#0/public/added'],
    removed: [],
    changed: ['0#0/public/issued'],
  });
  const { ok, problems, changes: none } = await check(text.replace('mode: strict', 'mode: maybe'));
  assert.deepEqual([ok, none], [false, null]);
  const [problem = assert.fail()] = problems;
  assert.match(problem.path, /routes\[1\]\.policies\.jwtAuth\.mode$/);
  assert.equal(text.split('\n')[problem.line - 1]?.slice(problem.column - 1), 'strict');
});

test('an edit is saved as it was written, comes into use, and is audited', async () => {
  const gateway = gatewayWith(1);
  const { ask: console } = await browserOf(gateway, await newLink(gateway, 'operator'));
  const { text, etag, writable } = await configOf(gateway);
  assert.equal(writable, true);
  const next = text.replace('\n    - name: app\n', addedRoute('/edited'));
  const saved = await console('PUT', '/api/v1/config', { text: next }, { 'if-match': etag });
  assert.equal(saved.status, 200, JSON.stringify(saved.json));
  checkAnswer(await openApiOf(gateway), 'PUT', '/api/v1/config', saved);
  assert.equal(readFileSync(gateway.file, 'utf8'), next, 'comments stay');
  await until('the new route', async () => {
    const response = await fetch(`${gateway.url}/edited/x`);
    await response.text();
    return response.status === 200;
  });
  const stale = await console('PUT', '/api/v1/config', { text }, { 'if-match': etag });
  assert.equal(stale.status, 412, 'the tag is that of the text before');
  assert.equal((await configOf(gateway)).etag, (saved.json as ConfigAnswer).etag);
  await until('the audit line', async () => {
    const { json } = await operatorOf(gateway)('GET', '/api/v1/audit?limit=1000');
    const { lines } = json as { lines: Record<string, unknown>[] };
    return lines.some(
      (line) => line['api.operation'] === 'admin.api/v1/config' && line['mcp.outcome'] === 'ok',
    );
  });
});

test('an edit with problems, without its tag, or by a reader is refused, and the file stays', async () => {
  const gateway = gatewayWith(1);
  const operator = operatorOf(gateway);
  const { text, etag } = await configOf(gateway);
  const put = async (body: object, headers = {}) => await operator('PUT', '/api/v1/config', body, headers);
  const wrong = await put({ text: 'binds: [{}]' }, { 'if-match': etag });
  assert.equal(wrong.status, 422);
  const { place, problems } = wrong.json as { place: object; problems: object[] };
  assert.deepEqual(place, { line: 1, column: 9, path: 'binds[0].port' });
  assert.ok(problems.length > 1);
  assert.equal((await put({ text })).status, 428);
  assert.equal((await put({ text }, { 'if-match': '*' })).status, 412);
  assert.equal(readFileSync(gateway.file, 'utf8'), text);

  const readOnly = gatewayWith(2);
  const there = await configOf(readOnly);
  assert.deepEqual([there.writable, /storage\.mode/.test(there.whyReadOnly ?? '')], [false, true]);
  const refused = await operatorOf(readOnly)(
    'PUT',
    '/api/v1/config',
    { text: there.text },
    { 'if-match': there.etag },
  );
  assert.equal(refused.status, 403);
});

interface Played {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly encoding: string;
  readonly truncated: boolean;
  readonly requestId: string;
}

const playgroundOf = (id: string): string => `/api/v1/playground/${encodeURIComponent(id)}`;

/** Asks again and again until something else is there. */
async function whileAsking<T>(awaited: Promise<T>, ask: () => Promise<void>): Promise<T> {
  let isThere = false;
  const watched = awaited.finally(() => (isThere = true));
  while (!isThere) await ask();
  return await watched;
}

const initializeMessage = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'play', version: '1' } },
};

for (const workers of [1, 2]) {
  test(`with ${workers} workers, the playground sends requests through the policies of a route`, async () => {
    const gateway = gatewayWith(workers);
    const operator = operatorOf(gateway);
    const document = await openApiOf(gateway);
    const play = async (id: string, body: object): Promise<Played> => {
      const answer = await operator('POST', playgroundOf(id), body);
      assert.equal(answer.status, 200, JSON.stringify(answer.json));
      checkAnswer(document, 'POST', '/api/v1/playground/{route}', answer);
      return answer.json as Played;
    };
    const served = await play('0#0/public/app', {
      method: 'POST',
      path: '/anything/played?a=1',
      headers: { 'X-Who': 'ada', 'content-type': 'text/plain' },
      body: 'grüße',
    });
    assert.deepEqual([served.status, served.encoding, served.truncated], [200, 'utf8', false]);
    assert.match(served.body, /\/anything\/played\?a=1/);
    assert.match(served.body, /grüße/);
    const line = await gateway.accessLine(served.requestId);
    assert.deepEqual([line['route'], line['status'], line['client']], ['app', 200, '127.0.0.1']);

    const refused = await play('0#0/public/app', {
      method: 'GET',
      path: '/anything',
      headers: { 'x-who': 'eve' },
    });
    assert.equal(refused.status, 403);
    const issued = await play('0#0/public/issued', { method: 'GET', path: '/issued' });
    assert.equal(issued.status, 401, 'the host name is that of the route');
    const secure = await play('0#1/secure/app', { method: 'GET', path: '/anything' });
    assert.equal(secure.status, 200);
    assert.equal((await gateway.accessLine(secure.requestId))['listener'], 'secure');
  });

  test(`with ${workers} workers, an MCP session of the playground goes on, and its answers stream`, async () => {
    const gateway = gatewayWith(workers);
    const operator = operatorOf(gateway);
    const path = playgroundOf('0#0/public/tools');
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const asked = (message: object, more = {}) => ({
      method: 'POST',
      path: '/mcp',
      headers: { ...headers, ...more },
      body: JSON.stringify(message),
    });
    const opened = (await operator('POST', path, asked(initializeMessage))).json as Played;
    assert.equal(opened.status, 200, opened.body);
    const session = {
      'mcp-session-id': opened.headers['mcp-session-id'],
      'mcp-protocol-version': '2025-11-25',
    };
    await operator('POST', path, asked({ jsonrpc: '2.0', method: 'notifications/initialized' }, session));

    const call = (id: number, name: string) =>
      asked({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } }, session);
    // The server keeps its answer until another call releases it.
    const held = await whileAsking(
      fetch(`${gateway.admin}${path}/stream`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${operatorSecret(gateway).secret}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(call(2, 'hold')),
      }),
      async () => {
        const released = (await operator('POST', path, call(3, 'release'))).json as Played;
        assert.equal(released.status, 200, released.body);
      },
    );
    assert.equal(held.headers.get('content-type'), 'text/event-stream');
    const events = (await held.text()).split('\n\n');
    assert.match(events[0] ?? '', /^event: head\ndata: \{"status":200/m);
    const data = events.find((event) => event.startsWith('event: data')) ?? assert.fail();
    assert.match(data, /"text":".*\\"id\\":2/);
    assert.match(events.at(-2) ?? '', /^event: end\ndata: \{"ms":[\d.]+,"truncated":false\}$/m);
    assert.deepEqual(
      (await sessionsOf(gateway)).map(({ client }) => (client as { name: string }).name).includes('play'),
      true,
    );
    await operator('POST', path, { method: 'DELETE', path: '/mcp', headers: session });
  });
}

test('the playground refuses what it cannot send, and ends what takes too long', async () => {
  const gateway = gatewayWith(1);
  const operator = operatorOf(gateway);
  const app = playgroundOf('0#0/public/app');
  const headers = { 'x-who': 'ada' };
  const refused = async (path: string, body: object): Promise<readonly [number, string]> => {
    const answer = await operator('POST', path, body);
    return [answer.status, problemOf(answer).detail];
  };
  const get = { method: 'GET', path: '/delay/9', headers };
  assert.equal((await refused(playgroundOf('0#0/public/none'), get))[0], 404);
  const [status, detail] = await refused(app, { ...get, headers: { 'Transfer-Encoding': 'chunked' } });
  assert.deepEqual([status, /transfer-encoding/.test(detail)], [422, true]);
  assert.equal((await refused(app, { ...get, headers: { 'x-a': 'b\r\nc: d' } }))[0], 422);
  assert.equal((await refused(app, { ...get, path: 'http://evil.example/' }))[0], 400);
  assert.equal((await refused(app, { ...get, path: '/a b' }))[0], 422);
  const elsewhere = await refused(app, { ...get, path: '/mcp/x' });
  assert.deepEqual(elsewhere, [
    422,
    'the route 0#0/public/tools serves this path: choose that route, or another path',
  ]);
  const nowhere = await refused(playgroundOf('0#1/secure/app'), { ...get, headers: { host: 'b.example' } });
  assert.deepEqual([nowhere[0], /no route of the port/.test(nowhere[1])], [422, true]);
  const [late, reason] = await refused(app, { ...get, timeoutMs: 20 });
  assert.deepEqual([late, /in time/.test(reason)], [502, true]);
});

for (const workers of [1, 2])
  test(`with ${workers} workers, an expression has its value for a request, a caller and an MCP call`, async () => {
    const gateway = gatewayWith(workers);
    const operator = operatorOf(gateway);
    const document = await openApiOf(gateway);
    const cel = async (body: object): Promise<unknown> => {
      const answer = await operator('POST', '/api/v1/cel', body);
      assert.equal(answer.status, 200, JSON.stringify(answer.json));
      checkAnswer(document, 'POST', '/api/v1/cel', answer);
      return answer.json;
    };
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'delete', arguments: { path: '/etc', depth: 2 } },
    };
    const call = `POST /mcp HTTP/1.1\nHost: a\nContent-Type: application/json\n\n${JSON.stringify(message)}`;
    const ofTeam = 'GET /orders HTTP/1.1\nHost: a\nX-Team: blue\n\n';
    const refused = 'GET /orders HTTP/1.1\nHost: a\nX-Who: eve\n\n';
    const claims = { sub: 'ada', groups: ['ops'] };
    const expressions: readonly (readonly [string, object, unknown])[] = [
      ['1 + 1', {}, { value: 2, type: 'int' }],
      ['request.method + request.path', {}, { value: 'GET/', type: 'string' }],
      ['"ops" in jwt.groups && auth.claims.sub == "ada"', { claims }, { value: true, type: 'bool' }],
      ['mcp.tool.name', { request: call }, { value: 'delete', type: 'string' }],
      ['mcp.tool.target', { request: call }, { value: 'rogue', type: 'string' }],
      ['mcp.tool.arguments.path.startsWith("/etc")', { request: call }, { value: true, type: 'bool' }],
      ['mcp.tool.arguments', { request: call }, { value: { path: '/etc', depth: 2 }, type: 'map' }],
      ['mcp.methodName', { request: call }, { value: 'tools/call', type: 'string' }],
      ['request.headers["x-team"]', { request: ofTeam }, { value: 'blue', type: 'string' }],
      ['"x-team" in request.headers', {}, { value: false, type: 'bool' }],
      ['request.headers["x-who"]', { request: refused }, { value: 'eve', type: 'string' }],
      [
        'request.headers["content-type"] + mcp.tool.name',
        { request: call },
        { value: 'application/jsondelete', type: 'string' },
      ],
      [
        'response.code == 403 && policy == "authorization"',
        { record: { status: 403, decidedBy: { policy: 'authorization' } } },
        { value: true, type: 'bool' },
      ],
    ];
    for (const [expression, more, expected] of expressions)
      assert.deepEqual(await cel({ expression, ...more }), expected, expression);
  });

test('an expression over the head has its value for a request whose body is absent or cut', async () => {
  const operator = operatorOf(gatewayWith(1));
  for (const framing of ['Content-Length: 12', 'Transfer-Encoding: chunked'])
    for (const body of ['', '{"cut'])
      for (const path of ['/mcp', '/orders']) {
        const request = `POST ${path} HTTP/1.1\nHost: a\n${framing}\n\n${body}`;
        const answer = await operator('POST', '/api/v1/cel', { expression: 'request.path', request });
        assert.deepEqual([answer.status, answer.json], [200, { value: path, type: 'string' }]);
      }
});

test('an expression that is wrong has an error with its place, and a failed one has its reason', async () => {
  const gateway = gatewayWith(1);
  const operator = operatorOf(gateway);
  const cel = async (body: object) =>
    (await operator('POST', '/api/v1/cel', body)).json as { error: string; place?: object };
  const wrong = await cel({ expression: 'true &&\n  jwtt.sub == "a"' });
  assert.match(wrong.error, /jwtt/);
  assert.deepEqual(wrong.place, { line: 2, column: 3 });
  const failed = await cel({ expression: 'jwt.sub == "a"' });
  assert.deepEqual([/jwt/.test(failed.error), failed.place], [true, undefined]);
  const costly = await cel({
    expression: '[1,2,3].all(a, [1,2,3].all(b, [1,2,3].all(c, [1].all(d, true))))',
  });
  assert.match(costly.error, /comprehensions/);
  const refused = await operator('POST', '/api/v1/cel', { expression: 'true', request: 'nonsense' });
  assert.equal(refused.status, 422);
  const viewer = await browserOf(gateway, await newLink(gateway, 'viewer'));
  assert.equal((await viewer.ask('POST', '/api/v1/cel', { expression: 'true' })).status, 200);
});

test('the words of expressions are those that an expression may use', async () => {
  const gateway = gatewayWith(1);
  const operator = operatorOf(gateway);
  const answer = await operator('GET', '/api/v1/cel');
  checkAnswer(await openApiOf(gateway), 'GET', '/api/v1/cel', answer);
  const { variables, functions } = answer.json as {
    readonly variables: readonly { readonly name: string; readonly type: string }[];
    readonly functions: readonly { readonly name: string }[];
  };
  const types = new Map(variables.map(({ name, type }) => [name, type]));
  assert.deepEqual(
    ['jwt', 'mcp.tool.name', 'request.body'].map((name) => types.get(name)),
    ['map', 'string', undefined],
  );
  for (const name of ['startsWith', 'exists', 'default', 'base64.encode'])
    assert.ok(
      functions.some((each) => each.name === name),
      name,
    );
});

test('requests to the admin port are counted by page and status, and sessions are counted', async () => {
  const gateway = gatewayWith(1);
  const count = (path: string, status: number) =>
    gateway.metric('portcullis_admin_requests_total', { method: 'DELETE', path, status: String(status) });
  const before = (await count('/api/v1/sessions/{label}', 404)) ?? 0;
  await operatorOf(gateway)('DELETE', '/api/v1/sessions/made-up');
  assert.equal(await count('/api/v1/sessions/{label}', 404), before + 1);
  await operatorOf(gateway)('DELETE', '/made/up');
  assert.equal(await count('other', 404), 1, 'a peer cannot make series');
  const sessions = (await gateway.metric('portcullis_console_sessions')) ?? 0;
  const { ask: console } = await browserOf(gateway, await newLink(gateway, 'viewer'));
  assert.equal(await gateway.metric('portcullis_console_sessions'), sessions + 1);
  await console('DELETE', '/api/v1/session');
  assert.equal(await gateway.metric('portcullis_console_sessions'), sessions);
});
