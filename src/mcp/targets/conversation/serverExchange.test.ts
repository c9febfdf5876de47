import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { defaults } from '../../../model/index.ts';
import { startApps, type App } from '../../../proxy/apps.testing.ts';
import { Endpoints, type Destination, type LookupTools } from '../../../upstream/index.ts';
import { recordingLog } from '../../harness.testing.ts';
import { newPinnedSession, type PinnedSession } from './pinnedSession.ts';
import { ServerExchange } from './serverExchange.ts';

/** Two addresses of one server, and a destination with both. */
async function start(t: TestContext, lookup?: LookupTools) {
  const apps = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  const { port } = apps[0];
  const endpoints = new Endpoints({ log: recordingLog().log, ...(lookup && { lookup }) });
  t.after(() => endpoints.close());
  const addresses =
    lookup === undefined ? apps.map(({ host }) => ({ host, port })) : [{ host: 'app.test', port }];
  const target = { host: 'app.test', port, addresses };
  return { apps, port, destination: endpoints.use(target, defaults.upstream, defaults.limits) };
}

/** The body of the answer, or the failure. */
const ask = (destination: Destination, session: PinnedSession): Promise<string> =>
  new Promise((resolve) => {
    let body = '';
    const head = 'GET / HTTP/1.1\r\nhost: app.test\r\n\r\n';
    new ServerExchange(
      { destination, session, head, repeatable: true, patient: true },
      {
        onHead: () => undefined,
        onBytes: (bytes, from, to) => (body += bytes.toString('latin1', from, to)),
        onEnd: () => resolve(body),
        onFailure: (code, detail) => resolve(`${code}: ${detail}`),
      },
    ).begin();
  });

test('every request of a session goes to the one address that knows the session', async (t) => {
  const { apps, port, destination } = await start(t);
  for (const app of apps)
    for (let i = 0; i < 5; i++) {
      const endpoint = destination.known.find(({ name }) => name === `${app.host}:${port}`);
      assert.equal(await ask(destination, { ...newPinnedSession(), endpoint }), app.host);
      assert.equal(
        await ask(destination, { ...newPinnedSession(), address: `${app.host}:${port}` }),
        app.host,
      );
    }
});

test('requests of a new session go to any address', async (t) => {
  const { destination } = await start(t);
  const seen = new Set<string>();
  for (let i = 0; i < 200 && seen.size < 2; i++) seen.add(await ask(destination, newPinnedSession()));
  assert.deepEqual(seen, new Set(['127.0.0.1', '127.0.0.2']));
});

test('an address that is gone or does not work takes its sessions along: another one is asked', async (t) => {
  const { destination } = await start(t);
  const [one, two] = [destination.known[0]!, destination.known[1]!];
  one.health.judge(false);
  assert.equal(await ask(destination, { ...newPinnedSession(), endpoint: one }), two.host);
  one.health.judge(true);
  assert.equal(await ask(destination, { ...newPinnedSession(), endpoint: one }), one.host);
  destination.target = { ...destination.target, addresses: [{ host: two.host, port: two.port }] };
  destination.configure(defaults.upstream, defaults.limits);
  assert.equal(await ask(destination, { ...newPinnedSession(), endpoint: one }), two.host);
});

test('a session at an address of a name waits until the name is known, and is not asked for elsewhere', async (t) => {
  const found = Promise.withResolvers<{ address: string; family: number }[]>();
  const { apps, port, destination } = await start(t, { everyMs: 60_000, lookup: () => found.promise });
  const cancelled = new ServerExchange(
    {
      destination,
      session: { ...newPinnedSession(), address: `127.0.0.2:${port}` },
      head: 'GET / HTTP/1.1\r\nhost: app.test\r\n\r\n',
      repeatable: true,
      patient: true,
    },
    {
      onHead: () => assert.fail('a request that was given up was sent'),
      onBytes: () => undefined,
      onEnd: () => undefined,
      onFailure: () => assert.fail('a request that was given up failed'),
    },
  );
  cancelled.begin();
  cancelled.abandon();
  const answer = ask(destination, { ...newPinnedSession(), address: `127.0.0.2:${port}` });
  assert.equal(apps[0].requests + apps[1].requests, 0);
  found.resolve([
    { address: '127.0.0.1', family: 4 },
    { address: '127.0.0.2', family: 4 },
  ]);
  assert.equal(await answer, '127.0.0.2');
  assert.deepEqual([apps[0].requests, apps[1].requests], [0, 1]);
});
