/** Backends that change their addresses, or die, under load. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { LookupTools, Target } from '../../upstream/index.ts';
import { startApps, type App } from '../apps.testing.ts';
import { TestPlane } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, post, status } from '../wire.testing.ts';

/** Requests with and without a body on connections that stay, until `stop`. */
async function startLoad(plane: TestPlane, connections: number) {
  const answers: string[] = [];
  let running = true;
  const loops = Array.from({ length: connections }, async (_, i) => {
    const client = await plane.client();
    while (running) {
      const answer = await client.ask(i % 2 === 0 ? get() : post('a body'));
      answers.push(status(answer) === 200 ? answer.body.toString() : answer.start);
    }
    client.close();
  });
  return {
    answers,
    failures: (): string[] => answers.filter((answer) => !answer.startsWith('127.')),
    async more(count: number): Promise<void> {
      const before = answers.length;
      await until('there was more load', () => answers.length >= before + count);
    },
    async stop(): Promise<void> {
      running = false;
      await Promise.all(loops);
    },
  };
}

async function start(t: TestContext, target: Target, lookup?: LookupTools): Promise<TestPlane> {
  const plane = await TestPlane.start({ routes: [{ targets: [target] }] }, lookup);
  t.after(() => plane.close());
  return plane;
}

test('names that change their addresses, and fail, under load cost no request', async (t) => {
  const apps = await startApps(t, '127.0.0.1', '127.0.0.2', '127.0.0.3');
  const [one, two, three] = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
  let found: readonly string[] = [one];
  const lookup: LookupTools = {
    everyMs: 5,
    async lookup() {
      await pause(1);
      if (found.length === 0) throw new Error('SERVFAIL');
      return found.map((address) => ({ address, family: 4 }));
    },
  };
  const plane = await start(t, { host: 'app.test', port: apps[0]?.port ?? 0 }, lookup);
  const load = await startLoad(plane, 6);
  const changes: readonly (readonly string[])[] = [[two], [one, three], [], [two, three], [one], [], [three]];
  for (const next of [...changes, ...changes]) {
    found = next;
    const then = load.answers.length;
    // A name that cannot be found leaves what was known; any other change is seen by where answers come from.
    await until('it is seen', () => {
      const last = new Set(load.answers.slice(Math.max(then, load.answers.length - 12)));
      return (
        last.size > 0 &&
        load.answers.length > then + 30 &&
        [...last].every((at) => next.length === 0 || next.includes(at))
      );
    });
  }
  await load.stop();
  assert.deepEqual(load.failures(), []);
  assert.equal(new Set(load.answers).size, 3);
});

test('an address that dies under load costs the requests that it had, and no other', async (t) => {
  const apps = (await startApps(t, '127.0.0.1', '127.0.0.2')) as [App, App];
  // Long enough that there are always some under way.
  for (const app of apps)
    app.behave = (request, response) =>
      void request.on('end', () => setTimeout(() => response.end(app.host), 5));
  const target = {
    host: 'app.test',
    port: 80,
    addresses: apps.map(({ host, port }) => ({ host, port })),
  };
  const plane = await start(t, target);
  const connections = 8;
  const load = await startLoad(plane, connections);
  const [flapping] = apps;
  const rounds = 2;
  for (let round = 0; round < rounds; round++) {
    await load.more(40);
    await until('it has requests', () => flapping.busy > 0);
    const failed = load.failures().length;
    const busy = flapping.busy;
    await flapping.stop();
    await load.more(60);
    const lost = load.failures().length - failed;
    assert.ok(lost <= connections, `${lost} requests lost, ${busy} were under way`);
    await flapping.restart();
    const { requests } = flapping;
    await until('it is used again', () => flapping.requests > requests);
  }
  await load.stop();
  for (const failure of load.failures()) assert.match(failure, /^HTTP\/1\.1 503 /);
});
