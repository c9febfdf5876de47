/** Children of stdio targets with values of their callers: each user gets the own values, whatever happens meanwhile. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { AuthorizationServer } from '../../src/policies/backendAuth/authorizationServer.testing.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, resultText, type RawSession } from './session.testing.ts';
import { audience, inline, node, rogue, startIdp } from './stage.testing.ts';

const names = ['WHO', 'FROM_HEADER', 'EXCHANGED'] as const;

interface User {
  readonly name: string;
  readonly token: string;
}

interface Stage {
  readonly gateway: GatewayProcess;
  readonly users: readonly [User, User];
  readonly yaml: (more?: object) => string;
  readonly issued: AuthorizationServer;
}

/** @param others targets beside the one with values of its callers */
async function stage(
  t: TestContext,
  workers: number,
  target: object = { scope: 'user' },
  others: readonly object[] = [],
): Promise<Stage> {
  const idp = await startIdp();
  const issued = await AuthorizationServer.start();
  // It names in each token the user whose token was exchanged.
  issued.instead = (response) => {
    const subject = issued.requests.at(-1)?.form.get('subject_token') ?? '';
    const payload = Buffer.from(subject.split('.')[1] ?? 'e30', 'base64url').toString();
    const { sub = 'unknown' } = JSON.parse(payload) as { sub?: string };
    response.end(JSON.stringify({ access_token: `exchanged-for-${sub}`, expires_in: 3_600 }));
  };
  const yaml = (more: object = {}): string => `
config: ${inline({ workers, logging: { level: 'debug' }, ...more })}
binds:
- port: 0
  listeners:
  - routes:
    - policies:
        mcpAuthentication: ${inline({
          issuer: idp.issuer,
          audiences: [audience],
          jwks: { url: `${idp.issuer}/v1/keys` },
          resourceMetadata: { resource: 'http://localhost/mcp' },
        })}
      backends:
      - mcp:
          targets:
          - name: own
            stdio: ${inline({
              cmd: node,
              args: [rogue],
              env: {
                WHO: { claim: 'sub' },
                FROM_HEADER: { header: 'X-Token' },
                EXCHANGED: {
                  exchange: {
                    host: `http://127.0.0.1:${String(issued.port)}`,
                    path: '/token',
                    clientAuth: { clientId: 'gateway', clientSecret: 'secret-of-the-gateway' },
                  },
                },
              },
              ...target,
            })}
${others.map((other) => `          - ${inline(other)}\n`).join('')}`;
  const gateway = await startGateway(yaml());
  t.after(async () => {
    await gateway[Symbol.asyncDispose]();
    await idp.close();
    issued.close();
  });
  await gateway.keysReady();
  const user = async (name: string): Promise<User> => ({ name, token: await idp.issueToken({ user: name }) });
  return { gateway, users: [await user('alice'), await user('carol')], yaml, issued };
}

/** A client of the user, which sends a token for the server in a header. */
const open = ({ gateway }: Stage, { name, token }: User, header = `header-of-${name}`): Promise<RawSession> =>
  openSession(`${gateway.url}/mcp`, token, {
    fetch: (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set('x-token', header);
      // Each request may reach another worker.
      headers.set('connection', 'close');
      return fetch(url, { ...init, headers });
    },
  });

const text = async (session: RawSession, tool: string, args?: object): Promise<string> => {
  const answer = await session.call(tool, args);
  return resultText(answer) ?? JSON.stringify(answer);
};

async function assertOwn(session: RawSession, { name }: User): Promise<void> {
  const values = await Promise.all(names.map((one) => text(session, 'environment', { name: one })));
  assert.deepEqual(values, [name, `header-of-${name}`, `exchanged-for-${name}`]);
}

const gone = (pid: number): boolean => {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
};

for (const workers of [1, 2])
  test(`each user gets the own values after kill -9, reload and upgrade, with workers: ${workers}`, async (t) => {
    const stage_ = await stage(t, workers);
    const { gateway, users, yaml } = stage_;
    const openAll = async (): Promise<readonly { user: User; session: RawSession }[]> =>
      Promise.all([...users, ...users].map(async (user) => ({ user, session: await open(stage_, user) })));
    let sessions = await openAll();
    const assertAll = async (): Promise<void> =>
      void (await Promise.all(sessions.map(({ user, session }) => assertOwn(session, user))));
    const pidsOf = async (name: string): Promise<ReadonlySet<string>> => {
      const own = sessions.filter(({ user }) => user.name === name);
      return new Set(await Promise.all(own.map(({ session }) => text(session, 'pid'))));
    };
    await assertAll();
    const [alices, carols] = [await pidsOf('alice'), await pidsOf('carol')];
    assert.ok([...alices].every((pid) => !carols.has(pid)));
    if (workers === 1) assert.deepEqual([alices.size, carols.size], [1, 1]);

    for (const pid of alices) process.kill(Number(pid), 'SIGKILL');
    await until('the killed children to be gone', () => [...alices].every((pid) => gone(Number(pid))));
    await until('the next child of alice', async () =>
      [...(await pidsOf('alice'))].every((pid) => !alices.has(pid)),
    );
    await assertAll();

    const version = gateway.log().split('Configuration').length;
    gateway.rewrite(yaml({ connectionTerminationDeadline: '20s' }));
    await until('the reload', () => gateway.log().split('Configuration').length > version);
    await assertAll();

    process.kill(gateway.pid, 'SIGUSR2');
    const [, next] = await until(
      'the new program',
      () => /the new process serves pid=(\d+)/.exec(gateway.log()) ?? undefined,
    );
    await until('the end of the old program', () => gone(gateway.pid));
    sessions = await openAll();
    await assertAll();

    const arguments_ = gateway.children().map(({ pid }) => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    const dump = JSON.stringify(await gateway.configDump());
    const seen = [gateway.log(), gateway.accessLog(), dump, ...arguments_].join('\n');
    for (const { token, name } of users)
      for (const secret of [token, `header-of-${name}`, `exchanged-for-${name}`, 'secret-of-the-gateway'])
        assert.ok(!seen.includes(secret), `${secret} is shown`);
    process.kill(Number(next), 'SIGTERM');
    await gateway.ended;
    assert.deepEqual(gateway.children(), []);
  });

test('a changed value means another child for the session, and calls in progress keep theirs', async (t) => {
  const stage_ = await stage(t, 1);
  const [alice] = stage_.users;
  let header = 'header-one';
  const session = await openSession(`${stage_.gateway.url}/mcp`, alice.token, {
    fetch: (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set('x-token', header);
      return fetch(url, { ...init, headers });
    },
  });
  const read = (): Promise<string> => text(session, 'environment', { name: 'FROM_HEADER' });
  assert.equal(await read(), 'header-one');
  const first = await text(session, 'pid');
  const held = text(session, 'hold');
  const pending = async (): Promise<boolean> =>
    JSON.stringify(await stage_.gateway.configDump()).includes('"pending":1');
  await until('the held call', pending);
  header = 'header-two';
  assert.equal(await read(), 'header-two');
  assert.notEqual(await text(session, 'pid'), first);
  header = 'header-one';
  // The first child still has a call, so it serves the value again.
  assert.equal(await text(session, 'pid'), first);
  await text(session, 'release');
  assert.equal(await held, 'released');
  assert.equal(await stage_.gateway.metric('portcullis_mcp_child_replacements_total', { target: 'own' }), 2);
  await session.close();
});

test('an exchanged token that ends is exchanged again, and the next call gets a child with the next token', async (t) => {
  const stage_ = await stage(t, 1);
  const [alice] = stage_.users;
  let exchanges = 0;
  stage_.issued.instead = (response) => {
    response.end(JSON.stringify({ access_token: `exchanged-${++exchanges}`, expires_in: 1 }));
  };
  const session = await open(stage_, alice);
  const read = (): Promise<string> => text(session, 'environment', { name: 'EXCHANGED' });
  const first = await text(session, 'pid');
  const value = await read();
  await until('the next token', async () => (await read()) !== value);
  assert.notEqual(await text(session, 'pid'), first);
  await session.close();
});

test('each user has a folder of its own, which goes with the child', async (t) => {
  const stage_ = await stage(t, 1, { scope: 'user', privateFolder: true });
  const sessions = await Promise.all(stage_.users.map((user) => open(stage_, user)));
  const pids = await Promise.all(sessions.map((session) => text(session, 'pid')));
  const folders = pids.map((pid) => readlinkSync(`/proc/${pid}/cwd`));
  assert.equal(new Set(folders).size, 2);
  for (const folder of folders) assert.equal(statSync(folder).mode & 0o777, 0o700);
  process.kill(Number(pids[0]), 'SIGKILL');
  await until('the end of the first folder', () => !existsSync(folders[0]!));
  await Promise.all(sessions.map((session) => session.close()));
  await stage_.gateway.stop();
  assert.ok(!existsSync(folders[1]!));
});

test('under scope: session, a changed value replaces the child of the session', async (t) => {
  const stage_ = await stage(t, 1, {});
  const [alice] = stage_.users;
  let header = 'header-one';
  const session = await openSession(`${stage_.gateway.url}/mcp`, alice.token, {
    fetch: (url, init) => {
      const headers = new Headers(init?.headers);
      headers.set('x-token', header);
      return fetch(url, { ...init, headers });
    },
  });
  const first = await text(session, 'pid');
  header = 'header-two';
  assert.equal(await text(session, 'environment', { name: 'FROM_HEADER' }), 'header-two');
  await until('the end of the first child', () => gone(Number(first)));
  await session.close();
});

const begin = (gateway: GatewayProcess, token?: string, headers: object = {}): Promise<Response> =>
  post(gateway, token, headers, [
    'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e2e', version: '1' } },
  ]);

const post = (
  gateway: GatewayProcess,
  token: string | undefined,
  headers: object,
  [method, params]: readonly [string, object],
): Promise<Response> =>
  fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });

test('a caller without a header gets 400, because no login adds one', async (t) => {
  const { gateway, users } = await stage(t, 1);
  const opened = await begin(gateway, users[0].token);
  const body = await opened.text();
  assert.equal(opened.status, 400, body);
  assert.equal(opened.headers.get('www-authenticate'), null);
  assert.match(
    body,
    /no value for the variable FROM_HEADER: the request has no header x-token: target \\"own\\"/,
  );
  const place = 'binds[0].listeners[0].routes[0].backends[0].mcp.targets[0].stdio.env.FROM_HEADER';
  await until('the place of the variable', () => gateway.accessLog().includes(`place=${place}`));
  assert.equal(await gateway.metric('portcullis_mcp_children'), 0);
});

const challenge = (why: string): string =>
  `Bearer error="invalid_token", error_description="The access token ${why}", resource_metadata="http://localhost/.well-known/oauth-protected-resource/mcp"`;

test('a client whose header goes away in a session gets 400, and 200 again with the header', async (t) => {
  const { gateway, users } = await stage(t, 1);
  const began = await begin(gateway, users[0].token, { 'x-token': 'a-header' });
  await began.text();
  const session = { 'mcp-session-id': began.headers.get('mcp-session-id')! };
  const call = async (headers: object): Promise<readonly [number, string]> => {
    const answer = await post(gateway, users[0].token, { ...session, ...headers }, [
      'tools/call',
      { name: 'environment', arguments: { name: 'FROM_HEADER' } },
    ]);
    return [answer.status, await answer.text()];
  };
  const [status, body] = await call({});
  assert.equal(status, 400, body);
  assert.match(body, /the request has no header x-token/);
  const [later, result] = await call({ 'x-token': 'a-header' });
  assert.equal(later, 200);
  assert.match(result, /a-header/);
});

test('under failClosed, a caller without a claim gets 401 with a challenge from several targets, too', async (t) => {
  const { gateway, users } = await stage(t, 1, { env: { WHO: { claim: 'github_token' } } }, [
    { name: 'other', stdio: { cmd: node, args: [rogue] } },
  ]);
  const missing = await begin(gateway, users[0].token);
  assert.match(await missing.text(), /no text in the claim github_token.*failClosed/);
  assert.deepEqual(
    [missing.status, missing.headers.get('www-authenticate')],
    [401, challenge('lacks a required claim')],
  );
});

test('a caller without a claim, or whose token is not exchanged, gets 401 with a challenge', async (t) => {
  const without = await stage(t, 1, { env: { WHO: { claim: 'github_token' } } });
  const missing = await begin(without.gateway, without.users[0].token);
  assert.match(await missing.text(), /the token of the caller has no text in the claim github_token/);
  assert.deepEqual(
    [missing.status, missing.headers.get('www-authenticate')],
    [401, challenge('lacks a required claim')],
  );
  const refusing = await stage(t, 1);
  const header = { 'x-token': 'a-header' };
  const { users, gateway, issued } = refusing;
  const session = await open(refusing, users[0]);
  issued.instead = (response) => {
    response.statusCode = 400;
    response.end(JSON.stringify({ error: 'invalid_grant' }));
  };
  const refused = await begin(gateway, users[1].token, header);
  await refused.body?.cancel();
  assert.deepEqual(
    [refused.status, refused.headers.get('www-authenticate')],
    [401, challenge('is not accepted for the backend')],
  );
  await session.close();
});

test('a caller without a claim gets 403 on a route that knows no login', async (t) => {
  const idp = await startIdp();
  const gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - policies:
        jwtAuth: ${inline({ mode: 'strict', issuer: idp.issuer, audiences: [audience], jwks: { url: `${idp.issuer}/v1/keys` } })}
      backends:
      - mcp:
          targets: [{ name: own, stdio: ${inline({ cmd: node, args: [rogue], env: { WHO: { claim: 'github_token' } } })} }]
`);
  t.after(async () => {
    await gateway[Symbol.asyncDispose]();
    await idp.close();
  });
  await gateway.keysReady();
  const refused = await begin(gateway, await idp.issueToken({ user: 'alice' }));
  assert.match(await refused.text(), /no text in the claim github_token/);
  assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [403, null]);
});

for (const [route, policies, status, challenged] of [
  ['knows no login', () => ({}), 403, false],
  [
    'lets callers in without a token',
    (issuer: string) => ({
      mcpAuthentication: {
        mode: 'optional',
        issuer,
        audiences: [audience],
        jwks: { url: `${issuer}/v1/keys` },
        resourceMetadata: { resource: 'http://localhost/mcp' },
      },
    }),
    401,
    true,
  ],
] as const)
  test(`scope: user refuses a caller without an identity on a route that ${route}`, async (t) => {
    const idp = await startIdp();
    const gateway = await startGateway(`
config: ${inline({ logging: { level: 'debug' } })}
mcp:
  port: 0
  policies: ${inline(policies(idp.issuer))}
  targets: [{ name: own, stdio: ${inline({ cmd: node, args: [rogue], scope: 'user' })} }]
`);
    t.after(async () => {
      await gateway[Symbol.asyncDispose]();
      await idp.close();
    });
    await gateway.keysReady();
    const refused = await begin(gateway);
    assert.match(await refused.text(), /each user has a program of their own, and the caller has no proven/);
    assert.equal(refused.status, status);
    assert.equal(
      refused.headers.get('www-authenticate')?.includes('resource_metadata='),
      challenged || undefined,
    );
    await until('the access log names the setting', () => gateway.accessLog().includes('scope: user'));
    assert.ok(!gateway.children().some(({ command }) => command.includes(rogue)));
  });
