/** Secrets of the environment: who has them, and where they show. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import { inline, node, rogue } from './stage.testing.ts';
import { until } from '../../src/until.testing.ts';

const names = ['SESSION_KEY', 'BACKEND_KEY', 'API_KEY', 'USERS', 'TENANT', 'OF_ANOTHER'] as const;
const env = {
  SESSION_KEY: 'ab'.repeat(32),
  BACKEND_KEY: 'key-of-the-backend',
  API_KEY: 'key-of-a-caller',
  USERS: '{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=',
  TENANT: 'tenant-hidden-name',
  OF_ANOTHER: 'token-of-another-target',
  LATER: 'named-by-a-reload',
  PLAIN: 'no secret',
};

/** Routes /asked and /other, each with a child, and routes whose policies name secrets. */
const config = (workers: number, more: object = {}): string =>
  inline({
    config: { workers },
    binds: [
      {
        port: 0,
        listeners: [
          {
            routes: [
              route('asked', { env: { OWN: '$OF_ANOTHER' } }, more),
              route('other', { args: [rogue, '--key', '$OF_ANOTHER'] }, {}),
              policies('a', { backendAuth: { key: '$BACKEND_KEY' } }),
              policies('b', { apiKey: { keys: [{ key: '$API_KEY' }] } }),
              policies('c', { basicAuth: { htpasswd: 'alice:$USERS' } }),
              policies('d', { requestHeaderModifier: { set: { 'x-tenant': '$TENANT' } } }),
            ],
          },
        ],
      },
    ],
  });
const route = (name: string, stdio: object, more: object): object => ({
  name,
  matches: [{ path: { pathPrefix: `/${name}` } }],
  policies: more,
  backends: [{ mcp: { targets: [{ name, stdio: { cmd: node, args: [rogue], ...stdio } }] } }],
});
const policies = (name: string, settings: object): object => ({
  name,
  matches: [{ path: { exact: `/${name}` } }],
  policies: settings,
  backends: [{ host: '127.0.0.1:1' }],
});

const block = (pid: number): string => readFileSync(`/proc/${pid}/environ`, 'utf8');

async function inherited(gateway: GatewayProcess, name: string): Promise<string> {
  const session = await openSession(`${gateway.url}/asked`);
  const value = resultText(await session.call('environment', { name }));
  await session.close();
  return value;
}

const skip = process.platform !== 'linux' && 'only Linux shows the environment of a process';

for (const workers of [1, 2])
  test(
    `with ${workers} worker(s) no process has the secrets in its block, and children do not inherit them`,
    { skip },
    async () => {
      await using gateway = await startGateway(config(workers), { env });
      const session = await openSession(`${gateway.url}/asked`);
      const processes = [gateway.pid, ...gateway.children().map(({ pid }) => pid)];
      assert.ok(processes.length > workers);
      for (const pid of processes) {
        const text = block(pid);
        for (const name of names) assert.ok(!text.includes(`\0${name}=`), `${name} in ${pid}`);
        assert.ok(text.includes('\0PLAIN='));
      }
      const read = async (name: string): Promise<string> =>
        resultText(await session.call('environment', { name }));
      for (const name of names) assert.equal(await read(name), '(unset)', name);
      assert.equal(await read('OWN'), env.OF_ANOTHER);
      assert.equal(await read('PLAIN'), env.PLAIN);
      assert.notEqual(await read('PATH'), '(unset)');

      // The gateway has them all the same.
      const key = await fetch(`${gateway.url}/b`, { headers: { authorization: `Bearer ${env.API_KEY}` } });
      assert.equal(key.status, 503);
      const dump = JSON.stringify(await gateway.configDump());
      for (const name of names) assert.ok(!dump.includes(env[name]), name);
      for (const name of names) assert.ok(!gateway.log().includes(env[name]), name);
    },
  );

test(
  'a variable that a reload names is withheld from then on, also when a later one names it no more',
  { skip },
  async () => {
    await using gateway = await startGateway(config(1), { env });
    assert.equal(await inherited(gateway, 'LATER'), env.LATER);
    const before = gateway.pid;
    gateway.rewrite(config(1, { requestHeaderModifier: { set: { 'x-later': '$LATER' } } }));
    await until('the reload', async () => (await inherited(gateway, 'LATER')) === '(unset)');
    const taken = (): number => gateway.log().split('Configuration loaded').length - 1;
    const count = taken();
    gateway.rewrite(config(1, { requestHeaderModifier: { set: { 'x-later': 'plain' } } }));
    await until('the next one', () => taken() > count);
    assert.equal(await inherited(gateway, 'LATER'), '(unset)');
    assert.equal(gateway.pid, before);
  },
);

test('known secrets in the output of a child process are not logged', { skip }, async () => {
  const shown = inline(['-e', 'console.error(process.env.OWN)']);
  await using gateway = await startGateway(config(1).replace(inline([rogue]), shown), { env });
  await assert.rejects(openSession(`${gateway.url}/asked`));
  await until('the line of the child', () => gateway.log().includes('line='));
  assert.ok(!gateway.log().includes(env.OF_ANOTHER));
  await gateway.logged(/line=\[redacted\]/);
});

test('a new program takes the place of the old one without the secrets in its block', { skip }, async () => {
  await using gateway = await startGateway(config(1), { env });
  gateway.signal('SIGUSR2');
  const pid = await until('the new program', () => {
    const found = /the new process serves pid=(\d+)/.exec(gateway.log())?.[1];
    return found === undefined ? undefined : Number(found);
  });
  await until('the end of the old one', () =>
    gateway.log().includes('Upgrade completed: the previous process has exited'),
  );
  for (const name of names) assert.ok(!block(pid).includes(`\0${name}=`), name);
  const key = await fetch(`${gateway.url}/b`, { headers: { authorization: `Bearer ${env.API_KEY}` } });
  assert.equal(key.status, 503);
  const wrong = await fetch(`${gateway.url}/b`, { headers: { authorization: 'Bearer wrong' } });
  assert.equal(wrong.status, 401);
  process.kill(pid, 'SIGTERM');
  await gateway.ended;
  assert.deepEqual(gateway.children(), []);
});
