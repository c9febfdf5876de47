/** The reaction of a proxy or a controller when the other end, or the network between them, misbehaves. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  connect,
  createSecureServer,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect as connectPlain, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { modelWith, names, routeNamed } from './model.testing.ts';
import { nameOfText, partsOf } from './parts.ts';
import { Folder, Proxy, quickPace, startController } from './stage.testing.ts';
import { until } from '../until.testing.ts';
import { versionOf } from './modelVersion.ts';
import { maxLineBytes, pathOf, written, writtenPart } from './wire.ts';

/** A controller that says what a test wants; `streams` counts those that were asked for. */
async function falseController(
  t: TestContext,
  folder: Folder,
  say: (stream: ServerHttp2Stream, count: number) => void,
) {
  let streams = 0;
  const server = createSecureServer(folder.ca.issue({ names: ['127.0.0.1'] }));
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
  });
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    say(stream as ServerHttp2Stream, ++streams);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return {
    url: new URL(`https://127.0.0.1:${String((server.address() as AddressInfo).port)}`),
    get streams() {
      return streams;
    },
  };
}

const welcome = (beatMs = 1_000): string => written({ type: 'welcome', controller: 'false', beatMs });

/** Every line of a model, the last one among them. */
function linesOf(routes: readonly string[]): string[] {
  const { root, texts } = partsOf(modelWith(routes.map((name) => routeNamed(name))));
  return [
    ...Array.from(texts.values(), writtenPart),
    written({ type: 'complete', version: versionOf(root, []), root }),
  ];
}

async function proxyOf(t: TestContext, folder: Folder, url: URL, pace = {}): Promise<Proxy> {
  const proxy = new Proxy(t, {
    controllers: [url],
    caFile: folder.caFile,
    tokenFile: folder.write('token', 'ns.gw.pod'),
    pace: { backoff: { firstMs: 5, maxMs: 20 }, ...pace },
  });
  await proxy.source.start();
  return proxy;
}

test('a proxy that was cut off in the middle of a line goes on with the parts that it has', async (t) => {
  const folder = new Folder(t);
  const lines = linesOf(names(100));
  const said: string[] = [];
  const controller = await falseController(t, folder, (stream, count) => {
    stream.on('data', (chunk: Buffer) => (said[count] = (said[count] ?? '') + chunk.toString()));
    stream.respond({ ':status': 200 });
    if (count > 1) {
      stream.write(welcome() + lines.join(''));
      return;
    }
    const half = lines.slice(0, 50).join('');
    stream.end(welcome() + half + (lines[50] ?? '').slice(0, 40));
  });
  const proxy = await proxyOf(t, folder, controller.url);
  await proxy.synchronized();
  assert.equal(proxy.models.length, 1);
  assert.ok(proxy.lines.some(({ fields }) => fields['reason'] === 'the stream ended inside a line'));
  await until('it has said what it has', () => said[2]?.includes('"ready"') === true);
  assert.deepEqual(JSON.parse(said[1]?.split('\n')[0] ?? ''), { type: 'ready' });
  const { parts } = JSON.parse(said[2]?.split('\n')[0] ?? '') as { parts: string[] };
  assert.equal(parts.length, 50);
});

test('an invalid message ends the stream without a change, and the proxy asks again from the start', async (t) => {
  const good = linesOf(['a']);
  const other = nameOfText('something else');
  const nonsense: readonly (readonly [string, RegExp])[] = [
    ['}{\n', /not JSON/],
    ['{"type":"dance"}\n', /unknown type/],
    [written({ type: 'complete', version: other, root: other }), /not what was sent/],
    [written({ type: 'complete', version: versionOf(other, []), root: other }), /is missing/],
    [`${good.slice(1).join('')}`, /is missing/],
    [`{"type":"part","value":{"a":"${'x'.repeat(maxLineBytes)}"}}\n`, /a line is longer than/],
  ];
  for (const [text, why] of nonsense) {
    const folder = new Folder(t);
    const controller = await falseController(t, folder, (stream, count) => {
      stream.resume();
      stream.respond({ ':status': 200 });
      stream.write(welcome() + (count === 1 ? text : good.join('')));
    });
    const proxy = await proxyOf(t, folder, controller.url);
    await proxy.synchronized();
    assert.ok(
      proxy.lines.some(({ fields }) => why.test(String(fields['reason']))),
      String(why),
    );
    assert.equal(proxy.models.length, 1);
    assert.equal(controller.streams, 2);
    await proxy.source.close();
  }
});

test('a refusal of any kind, an answer that does not come, and a port that is not there are tried again', async (t) => {
  const folder = new Folder(t);
  const controller = await falseController(t, folder, (stream, count) => {
    stream.resume();
    if (count === 1) stream.respond({ ':status': 500 });
    if (count === 1) stream.end('x'.repeat(100_000));
    if (count === 2) stream.close();
    if (count === 3) stream.session?.destroy();
    // The fourth one gets no answer.
    if (count < 5) return;
    stream.respond({ ':status': 200 });
    stream.write(welcome() + linesOf(['a']).join(''));
  });
  const proxy = await proxyOf(t, folder, controller.url, quickPace);
  await proxy.synchronized();
  assert.equal(controller.streams, 5);
  assert.ok(proxy.lines.some(({ fields }) => /did not answer in time/.test(String(fields['reason']))));
  assert.match(await proxy.exposed(), /stream_connects_total\{result="failed"\} 4/);
});

test('a proxy that is busy for longer than it may be silent is not given up', async (t) => {
  const folder = new Folder(t);
  const controller = await startController(t, folder, { pace: { beatMs: 150 } });
  controller.server.publish(new Map([['ns/gw', { model: modelWith([]), endpoints: new Set() }]]), new Map());
  const tokenFile = folder.write('token', 'ns.gw.pod');
  const proxy = new Proxy(t, { controllers: [controller.url], caFile: folder.caFile, tokenFile });
  let beats = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.hold = promise;
  const timer = setInterval(() => {
    if (++beats > 10) resolve();
  }, 60);
  t.after(() => clearInterval(timer));
  await proxy.source.start();
  await proxy.synchronized();
  assert.deepEqual(
    controller.lines.filter(({ message }) => message === 'Proxy disconnected'),
    [],
  );
});

/** A proxy that says what a test wants. */
async function falseProxy(t: TestContext, folder: Folder, url: URL, authorization = 'Bearer ns.gw.pod') {
  const session = connect(url, { ca: folder.ca.cert });
  session.on('error', () => undefined);
  t.after(() => session.destroy());
  const ask = (headers: Record<string, string> = {}): ClientHttp2Stream => {
    const stream = session.request(
      { ':method': 'POST', ':path': pathOf('ns', 'gw'), authorization, ...headers },
      { endStream: false },
    );
    stream.on('error', () => undefined);
    return stream;
  };
  await once(session, 'connect');
  return { session, ask };
}

/** The end may come with an error, such as a reset while a ping is on its way. */
const closeOf = async (ended: ClientHttp2Stream | ClientHttp2Session): Promise<void> =>
  await new Promise((resolve) => void ended.once('close', () => resolve()));

const statusOf = async (stream: ClientHttp2Stream): Promise<number> => {
  const [head] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
  stream.resume();
  return head[':status'] ?? 0;
};

test('only the stream of a Gateway can be asked for, and only with a bearer token', async (t) => {
  const folder = new Folder(t);
  const { server, url } = await startController(t, folder);
  server.publish(new Map(), new Map());
  const { ask } = await falseProxy(t, folder, url);
  const cases: readonly (readonly [Record<string, string>, number])[] = [
    [{ ':path': '/' }, 404],
    [{ ':path': '/v1/gateways/ns/gw/../other/stream' }, 404],
    [{ ':method': 'GET' }, 405],
    [{ authorization: 'Basic eDp5' }, 401],
    [{ authorization: 'Bearer ' }, 401],
    [{ authorization: 'Bearer a b' }, 401],
    [{ authorization: `Bearer ${'x'.repeat(17_000)}` }, 401],
    [{ authorization: 'Bearer other.gw.pod' }, 401],
    [{ ':path': pathOf('ns', 'other') }, 403],
    [{}, 200],
  ];
  for (const [headers, status] of cases) {
    const stream = ask(headers);
    assert.equal(await statusOf(stream), status, JSON.stringify(headers).slice(0, 80));
    stream.close();
  }
});

test('a proxy that sends invalid or too many messages is disconnected', async (t) => {
  const folder = new Folder(t);
  const { server, url, lines } = await startController(t, folder);
  server.publish(new Map([['ns/gw', { model: modelWith([]), endpoints: new Set() }]]), new Map());
  const version = nameOfText('version');
  const have = written({ type: 'have', parts: [], endpoints: [] });
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['nonsense\n', /not JSON/],
    [written({ type: 'taken', version }), /an unexpected answer/],
    [written({ type: 'ready' }) + have, /came twice/],
    [`{"type":"have","parts":["${'x'.repeat(maxLineBytes)}"],"endpoints":[]}\n`, /a line is longer than/],
    [
      Array.from({ length: 51 }, (_, page) =>
        written({
          type: 'have',
          parts: [],
          endpoints: Array.from({ length: 2_000 }, (_, index) => [`k${page}/${index}`, version] as const),
        }),
      ).join(''),
      /too many lists/,
    ],
  ];
  for (const [text, why] of wrong) {
    const { session, ask } = await falseProxy(t, folder, url);
    const stream = ask();
    assert.equal(await statusOf(stream), 200);
    const closed = closeOf(stream);
    stream.write(text);
    await closed;
    await until('it is known why', () => lines.some(({ fields }) => why.test(String(fields['reason']))));
    session.destroy();
  }
  await until('nobody is left', () => server.proxies.length === 0);
});

test('a proxy that does not list its parts or does not answer is disconnected', async (t) => {
  const folder = new Folder(t);
  const { server, url, lines } = await startController(t, folder, { pace: { answerMs: 50 } });
  server.publish(new Map([['ns/gw', { model: modelWith([]), endpoints: new Set() }]]), new Map());
  for (const text of ['', written({ type: 'ready' })]) {
    const { ask } = await falseProxy(t, folder, url);
    const stream = ask();
    const closed = closeOf(stream);
    if (text !== '') stream.write(text);
    stream.resume();
    await closed;
  }
  const reasons = (): unknown[] =>
    lines.filter(({ message }) => message === 'Proxy disconnected').map(({ fields }) => fields['reason']);
  await until('both are gone', () => reasons().length === 2);
  assert.deepEqual(reasons(), ['the proxy does not answer', 'the proxy does not answer']);
});

test('a proxy that does not read is disconnected, with little memory in use for it', async (t) => {
  const folder = new Folder(t);
  const { server, url, lines } = await startController(t, folder, { pace: { beatMs: 250 } });
  const model = modelWith(names(20_000).map((name) => routeNamed(name)));
  server.publish(new Map([['ns/gw', { model, endpoints: new Set() }]]), new Map());
  const { ask } = await falseProxy(t, folder, url);
  const stream = ask();
  // It gives signs of life all the same.
  const beats = setInterval(() => stream.write(written({ type: 'beat' })), 20);
  t.after(() => clearInterval(beats));
  stream.write(written({ type: 'ready' }));
  await once(stream, 'response');
  stream.pause();
  await until('it is cut off', () =>
    lines.some(({ fields }) => fields['reason'] === 'what is sent is not taken'),
  );
  assert.deepEqual(server.proxies, []);
  clearInterval(beats);
});

/** A connection from another address of this machine that says nothing. */
async function silent(t: TestContext, url: URL, localAddress: string): Promise<Socket> {
  const socket = connectPlain({ port: Number(url.port), host: '127.0.0.1', localAddress });
  socket.on('error', () => undefined);
  socket.resume();
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

test('connections that prove nothing keep no proxy out, and their own address loses its oldest', async (t) => {
  const folder = new Folder(t);
  const limits = { perAddress: 50, waitingPerAddress: 10, waiting: 15 };
  const { server, url, exposed } = await startController(t, folder, { limits });
  server.publish(new Map([['ns/gw', { model: modelWith([]), endpoints: new Set() }]]), new Map());
  const quiet = await silent(t, url, '127.0.0.3');
  let ended = 0;
  for (let i = 0; i < 60; i++) (await silent(t, url, '127.0.0.2')).once('close', () => ended++);
  await until('all but ten of the crowd are gone', () => ended === 50);
  assert.equal(quiet.destroyed, false);
  const proxy = await proxyOf(t, folder, url);
  await proxy.synchronized();
  assert.match(await exposed(), /stream_requests_total\{result="crowded"\} 50/);
});

test('with too many unproven connections, the addresses that hold most lose theirs', async (t) => {
  const folder = new Folder(t);
  const limits = { perAddress: 50, waitingPerAddress: 10, waiting: 15 };
  const { url } = await startController(t, folder, { limits });
  const quiet = await silent(t, url, '127.0.0.9');
  const crowd: Socket[] = [];
  for (let i = 0; i < 10; i++)
    for (const address of ['127.0.0.2', '127.0.0.3', '127.0.0.4']) crowd.push(await silent(t, url, address));
  await until('there are no more than may be', () => crowd.filter(({ closed }) => !closed).length === 14);
  assert.equal(quiet.closed, false);
});

test('an address with too many connections gets no more, also where proxies have them', async (t) => {
  const folder = new Folder(t);
  const { server, url } = await startController(t, folder, { limits: { perAddress: 3 } });
  server.publish(new Map([['ns/gw', { model: modelWith([]), endpoints: new Set() }]]), new Map());
  for (let i = 0; i < 3; i++) {
    const { ask } = await falseProxy(t, folder, url, `Bearer ns.gw.pod${i}`);
    assert.equal(await statusOf(ask()), 200);
  }
  const fourth = await silent(t, url, '127.0.0.1');
  await once(fourth, 'close');
  assert.equal((await silent(t, url, '127.0.0.2')).closed, false);
});

test('pings, and tokens that are not good, give a connection no more time to prove whose it is', async (t) => {
  const folder = new Folder(t);
  const { server, url } = await startController(t, folder, { pace: { helloMs: 60, beatMs: 10_000 } });
  server.publish(new Map(), new Map());
  const { session, ask } = await falseProxy(t, folder, url);
  const pings = setInterval(() => {
    if (!session.destroyed) session.ping(() => undefined);
    if (!session.destroyed) ask({ authorization: 'Bearer other.gw.pod' }).resume();
  }, 5);
  t.after(() => clearInterval(pings));
  await closeOf(session);
});

test('a proxy whose stream has ended has to prove again whose its connection is', async (t) => {
  const folder = new Folder(t);
  const { server, url } = await startController(t, folder, { pace: { helloMs: 60, beatMs: 10_000 } });
  server.publish(new Map([['ns/gw', { model: modelWith([]), endpoints: new Set() }]]), new Map());
  const { session, ask } = await falseProxy(t, folder, url);
  const stream = ask();
  assert.equal(await statusOf(stream), 200);
  stream.close();
  await closeOf(session);
  assert.equal(server.proxies.length, 0);
});

test('a connection that asks for nothing, or speaks no TLS, is ended', async (t) => {
  const folder = new Folder(t);
  const { url } = await startController(t, folder, { pace: { helloMs: 50, beatMs: 10 } });
  const { session } = await falseProxy(t, folder, url);
  await closeOf(session);
  await once(await silent(t, url, '127.0.0.1'), 'close');
});
