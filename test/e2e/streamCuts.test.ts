/** The stream of models over a line that is cut, or forgets its connections. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { BackendAddress } from '../../src/model/index.ts';
import { endpointsOf, modelWith, names, routeNamed } from '../../src/stream/model.testing.ts';
import { Folder, Proxy, startController, type ControllerOptions } from '../../src/stream/stage.testing.ts';
import { until } from '../../src/until.testing.ts';
import { Relay } from '../support/relay.ts';

/** A controller with a model of many routes, and a proxy that reaches it by a line. */
async function stage(t: TestContext, options: ControllerOptions = {}) {
  const folder = new Folder(t);
  const controller = await startController(t, folder, options);
  const routes = names(200).map((name) => routeNamed(name));
  const keys = routes.map(({ name }) => endpointsOf(name));
  const at = (host: string): ReadonlyMap<string, readonly BackendAddress[]> =>
    new Map(keys.map((key) => [key, [{ host, port: 80 }]]));
  controller.server.publish(
    new Map([['ns/gw', { model: modelWith(routes), endpoints: new Set(keys) }]]),
    at('10.0.0.1'),
  );
  const line = new Relay(controller.server.port);
  await line.mend();
  t.after(async () => await line.cut());
  const proxy = new Proxy(t, {
    controllers: [new URL(`https://127.0.0.1:${String(line.port)}`)],
    caFile: folder.caFile,
    tokenFile: folder.write('token', 'ns.gw.pod'),
  });
  await proxy.source.start();
  await proxy.synchronized();
  return { controller, line, proxy, at };
}

test('after a cut the proxy continues from its parts, and applies nothing twice', async (t) => {
  const { controller, line, proxy, at } = await stage(t);
  const sent = async (): Promise<string | undefined> =>
    /stream_lines_sent_total (\d+)/.exec(await controller.exposed())?.[1];
  const before = await sent();
  for (let cuts = 1; cuts <= 3; cuts++) {
    await line.cut();
    await until('it is missed', () => proxy.source.problems.length > 0);
    await line.mend();
    await proxy.synchronized();
  }
  assert.equal(await sent(), before);
  assert.equal(proxy.models.length, 1);
  // Changes during the cut come with the next stream.
  await line.cut();
  controller.server.publishAddresses(at('10.0.0.2'));
  await line.mend();
  await until('it is there', () => proxy.lists.length === 1);
  assert.deepEqual(proxy.lists[0], at('10.0.0.2'));
});

test('a connection that carries nothing any more is given up by both ends, and another one is made', async (t) => {
  // Three beats of silence end a connection; on a busy machine shorter ones would end healthy connections, too.
  const { controller, line, proxy } = await stage(t, { pace: { beatMs: 300 } });
  const [before, beforeThere] = [proxy.lines.length, controller.lines.length];
  line.freeze();
  await until('the proxy gives it up', () =>
    proxy.lines.slice(before).some(({ fields }) => fields['reason'] === 'nothing was heard for too long'),
  );
  await until('the controller does', () =>
    controller.lines
      .slice(beforeThere)
      .some(
        ({ message, fields }) =>
          message === 'Proxy disconnected' && /heard|again/.test(String(fields['reason'])),
      ),
  );
  await proxy.synchronized();
  assert.equal(proxy.models.length, 1);
});
