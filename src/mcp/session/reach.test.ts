import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Caller, Reach } from '../contract.ts';
import { mcpBackend, remoteTarget, startHarness } from '../harness.testing.ts';
import { RawClient } from '../rawClient.testing.ts';
import { RemoteServer } from '../remoteServer.testing.ts';
import { reachOf } from '../targets/conversation/server.testing.ts';

/** A session with a server, whose requests carry the header `x-way` of the newest way to it. */
async function begin(t: TestContext, reachesAlike: boolean) {
  const server = await RemoteServer.start();
  const { port, pathname } = new URL(server.url);
  const { reach } = reachOf(t, { host: '127.0.0.1', port: Number(port) });
  let asked = 0;
  const way = (name: string) => (): Reach => {
    asked++;
    return { ...reach, path: pathname, headers: [['x-way', name]] };
  };
  let caller: Caller = { principal: undefined, reach: way('first'), reachesAlike };
  const harness = await startHarness({
    backend: mcpBackend({ targets: [remoteTarget(server.url)] }),
    caller: () => caller,
  });
  t.after(async () => {
    await harness.close();
    await server.close();
  });
  const client = new RawClient(harness.url);
  await client.initialize();
  /** Sends a request. @returns the way on which it came to the server, and how often the way was asked for */
  const ping = async () => {
    asked = 0;
    const { status } = await client.post(client.request('tools/list'));
    assert.equal(status, 200);
    return { way: server.of('tools/list').at(-1)?.headers['x-way'], asked };
  };
  const use = (name: string): void => {
    caller = { ...caller, reach: way(name) };
  };
  return { ping, use };
}

test('a way to the servers that is the same for all callers is asked for once, until another one takes its place', async (t) => {
  const { ping, use } = await begin(t, true);
  assert.equal((await ping()).way, 'first');
  assert.deepEqual(await ping(), { way: 'first', asked: 0 });
  use('second');
  assert.deepEqual(await ping(), { way: 'second', asked: 1 });
  assert.deepEqual(await ping(), { way: 'second', asked: 0 });
});

test('a way that depends on the caller is asked for with each request, for the session and for the call', async (t) => {
  const { ping, use } = await begin(t, false);
  await ping();
  assert.deepEqual(await ping(), { way: 'first', asked: 2 });
  use('second');
  assert.deepEqual(await ping(), { way: 'second', asked: 2 });
});
