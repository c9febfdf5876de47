import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import type { HttpRequest, ReplyStream } from '../../http/index.ts';
import type { ServerTls } from '../../model/index.ts';
import { policySchemas } from '../../policies/index.ts';
import { authority, listenerTls } from '../certificates.testing.ts';
import type { LocalHandler, ModelInShort, RouteInShort } from '../dataPlane.testing.ts';
import { secret, TwoWorkers } from './relay.testing.ts';
import { until } from '../../until.testing.ts';
import { writeRelayHeader } from './relayHeader.ts';
import { field, fields, get, RawClient, status } from '../wire.testing.ts';

const mine = 'mcp-session-id: here:1';
const theirs = 'mcp-session-id: there:1';

/** Says who served, and with what body. */
const echoing =
  (who: string): LocalHandler =>
  (request, reply) =>
    void request.readBody(10_000_000).then(
      (body) => reply.send({ status: 200, body: `${who} ${request.method} ${body.length}` }),
      (error: unknown) => reply.fail(error),
    );

const both = (handler: (who: string) => LocalHandler, more: Omit<RouteInShort, 'handler'> = {}) =>
  ['here', 'there'].map((who): ModelInShort => ({ routes: [{ ...more, handler: handler(who) }] })) as [
    ModelInShort,
    ModelInShort,
  ];

/** The same, where only the one who holds the sessions does anything. */
const only = (
  handler: LocalHandler,
  more: Omit<ModelInShort, 'routes'> = {},
): [ModelInShort, ModelInShort] => [
  { ...more, routes: [{ handler: () => assert.fail('it was for the other') }] },
  { ...more, routes: [{ handler }] },
];

const post = (body: string, ...lines: string[]): string =>
  `POST / HTTP/1.1\r\nhost: app.test\r\ncontent-length: ${body.length}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;

const outcomes = async ({ here }: TwoWorkers): Promise<Record<string, number>> =>
  Object.fromEntries(
    Array.from(
      (await here.metricsText()).matchAll(
        /^portcullis_mcp_forwarded_requests_total\{result="(\w+)"\} (\d+)$/gm,
      ),
      ([, result = '', count]) => [result, Number(count)],
    ),
  );

test('a request goes where its session is, and all others stay', async (t) => {
  const { here } = await TwoWorkers.start(t, both(echoing));
  const client = await here.client();
  assert.equal((await client.ask(post('body', theirs))).body.toString(), 'there POST 4');
  assert.equal((await client.ask(post('body', mine))).body.toString(), 'here POST 4');
  assert.equal((await client.ask(post('body'))).body.toString(), 'here POST 4');
  assert.equal((await client.ask(get('/', theirs))).body.toString(), 'there GET 0');
  const stranger = await client.ask(get('/', 'mcp-session-id: nobody:1'));
  assert.equal(stranger.body.toString(), 'here GET 0', 'of no worker there is');
  const large = await client.ask(post('x'.repeat(3_000_000), theirs));
  assert.equal(large.body.toString(), 'there POST 3000000');
  const chunked = `POST / HTTP/1.1\r\nhost: a.test\r\n${theirs}\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`;
  client.send(chunked);
  assert.equal((await client.ask('3\r\nyou\r\n0\r\n\r\n')).body.toString(), 'there POST 8');
});

test('sessions of a worker that is gone are shared out, each to one of those that are left', async (t) => {
  const { here, there } = await TwoWorkers.start(t, both(echoing));
  const clients = [await here.client(), await there.client()] as const;
  const heirs = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const answers = [];
    for (const client of clients)
      answers.push((await client.ask(get('/', `mcp-session-id: gone:${i}`))).body.toString());
    assert.equal(answers[0], answers[1], 'wherever it comes in');
    heirs.add(answers[0]!);
  }
  assert.deepEqual([...heirs].sort(), ['here GET 0', 'there GET 0']);
});

test('every policy runs once, where the session is, and so do log and metrics', async (t) => {
  const policies = {
    localRateLimit: policySchemas.localRateLimit.parse([
      { maxTokens: 5, tokensPerFill: 1, fillInterval: '1h' },
    ]),
    responseHeaderModifier: policySchemas.responseHeaderModifier.parse({ add: { 'x-seen': 'once' } }),
  };
  const two = await TwoWorkers.start(t, both(echoing, { policies }));
  const { here, there } = two;
  const client = await here.client();
  for (let left = 4; left >= 0; left--) {
    const answer = await client.ask(post('body', theirs, 'x-request-id: given'));
    assert.equal(field(answer, 'x-ratelimit-remaining'), String(left));
    assert.deepEqual(fields(answer, 'x-seen'), ['once']);
    assert.deepEqual([fields(answer, 'date').length, fields(answer, 'server').length], [1, 1]);
  }
  assert.equal(status(await client.ask(post('body', theirs))), 429);
  assert.equal(status(await client.ask(post('body', mine))), 200, 'the buckets here are untouched');
  await until('all is logged', () => there.access.length === 6 && here.access.length === 1);
  assert.equal(there.access[0]?.requestId, 'given');
  assert.equal(there.access[0]?.client, '127.0.0.1');
  assert.match(await there.metricsText(), /^portcullis_requests_total\{.*status="200"\} 5$/m);
  assert.match(await here.metricsText(), /^portcullis_requests_total\{.*status="200"\} 1$/m);
  for (const plane of [here, there]) {
    const text = await plane.metricsText();
    assert.match(text, /^portcullis_requests_in_flight 0$/m);
    assert.match(
      text,
      plane === here ? /^portcullis_downstream_connections 1$/m : /^portcullis_downstream_connections 0$/m,
    );
  }
  assert.deepEqual(await outcomes(two), { answered: 6 });
});

const describe = (request: HttpRequest): string =>
  JSON.stringify({
    version: request.version,
    scheme: request.scheme,
    client: `${request.remoteAddress}:${request.remotePort}`,
    local: `${request.localAddress}:${request.localPort}`,
    peer: request.peer?.address,
    serverName: request.serverName,
    certificate: request.clientCertificate?.subjectCn,
  });

const described = both(
  (who): LocalHandler =>
    (request, reply) =>
      reply.send({ status: 200, headers: [['x-served-by', who]], body: describe(request) }),
);

test('another worker refuses a connection from before its listener demanded client certificates', async (t) => {
  const ca = authority();
  const open = listenerTls(ca.issue({ names: ['app.test'] }));
  const strict: ServerTls = { ...open, root: { inline: ca.cert } };
  const [first, second] = described.map(({ routes = [] }, nth): ModelInShort => ({
    listeners: [{ tls: nth === 0 ? open : strict, hostname: 'app.test', routes }],
  }));
  const { here } = await TwoWorkers.start(t, [first, second] as [ModelInShort, ModelInShort]);
  const client = await RawClient.secure(here.port, { servername: 'app.test' });
  const [near, far] = [await client.ask(get('/', mine)), await client.ask(get('/', theirs))];
  assert.deepEqual([status(near), status(far)], [200, 421]);
  client.close();
});

test('the client looks the same from there as from here: addresses, handshake, version', async (t) => {
  const ca = authority();
  const tls: ServerTls = { ...listenerTls(ca.issue({ names: ['app.test'] })), root: { inline: ca.cert } };
  const models = described.map(({ routes = [] }): ModelInShort => ({
    listeners: [{ tls, hostname: 'app.test', routes }],
  }));
  const { here } = await TwoWorkers.start(t, models as [ModelInShort, ModelInShort]);
  const own = ca.issue({ name: 'the client' });
  const client = await RawClient.secure(here.port, { servername: 'app.test', cert: own.cert, key: own.key });
  const [near, far] = [await client.ask(get('/', mine)), await client.ask(get('/', theirs))];
  assert.deepEqual(
    [near, far].map((answer) => field(answer, 'x-served-by')),
    ['here', 'there'],
  );
  assert.equal(far.body.toString(), near.body.toString());
  assert.match(far.body.toString(), /"scheme":"https".*"serverName":"app\.test","certificate":"the client"/);
  client.close();

  const session = connectHttp2(`https://app.test:${here.port}`, {
    lookup: (_name, _options, found) => found(null, [{ address: '127.0.0.1', family: 4 }]),
    rejectUnauthorized: false,
    servername: 'app.test',
    cert: own.cert,
    key: own.key,
  });
  t.after(() => session.destroy());
  const answers = await Promise.all(
    ['here:1', 'there:1', 'there:2'].map(async (id) => {
      const stream = session.request({ ':path': '/', 'mcp-session-id': id });
      const [headers] = (await once(stream, 'response')) as [Record<string, string>];
      return [headers['x-served-by'], (await buffer(stream)).toString()] as const;
    }),
  );
  assert.deepEqual(
    answers.map(([who]) => who),
    ['here', 'there', 'there'],
  );
  assert.equal(answers[1]?.[1], answers[0]?.[1]);
  assert.match(answers[1]?.[1] ?? '', /^\{"version":"HTTP\/2\.0","scheme":"https"/);
});

test('the version is that of each request, also where a client changes it on one connection', async (t) => {
  const { here, there } = await TwoWorkers.start(t, described);
  const client = await here.client();
  const versions: unknown[] = [];
  for (const version of ['1.0', '1.1', '1.0', '1.1']) {
    const answer = await client.ask(
      `GET / HTTP/${version}\r\nhost: a.test\r\nconnection: keep-alive\r\n${theirs}\r\n\r\n`,
    );
    assert.equal(field(answer, 'x-served-by'), 'there');
    versions.push((JSON.parse(answer.body.toString()) as { version: string }).version);
  }
  assert.deepEqual(versions, ['HTTP/1.0', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/1.1']);
  client.close();
  await until('nothing is left of it there', () => there.connections === 0);
});

test('a relayed request keeps the client address that a proxy in front reported', async (t) => {
  const proxied = described.map((model) => ({
    ...model,
    proxyProtocol: { version: 'all', mode: 'strict' } as const,
  }));
  const { here } = await TwoWorkers.start(t, proxied as [ModelInShort, ModelInShort]);
  const client = await here.client();
  client.send('PROXY TCP4 192.0.2.7 198.51.100.1 40000 443\r\n');
  const near = await client.ask(get('/', mine));
  const far = await client.ask(get('/', theirs));
  assert.equal(far.body.toString(), near.body.toString());
  assert.match(
    far.body.toString(),
    /"client":"192\.0\.2\.7:40000","local":"198\.51\.100\.1:443","peer":"127\.0\.0\.1"/,
  );
});

test('a stream comes piece by piece, and ends there when the client leaves here', async (t) => {
  let stream: ReplyStream | undefined;
  let left = false;
  const two = await TwoWorkers.start(
    t,
    only((_request, reply) => {
      reply.onClose(() => (left = true));
      stream = reply.open(200, [['content-type', 'text/event-stream']]);
    }),
  );
  const client = await two.here.client();
  client.send(get('/', theirs));
  await until('the stream is open', () => stream !== undefined);
  for (const piece of ['one', 'two', 'three']) {
    stream?.write(`data: ${piece}\n\n`);
    await client.find(piece, () => (client.text.includes(`data: ${piece}\n\n`) ? true : undefined));
  }
  assert.match(client.text, /^HTTP\/1\.1 200 OK\r\ncontent-type: text\/event-stream\r\n/);
  client.close();
  await until('it is known there', () => left);
  await until('all is logged', () => two.there.access.length === 1);
  assert.equal(two.here.access.length, 0);
});

test('a slow client slows down the relayed response', async (t) => {
  let stream: ReplyStream | undefined;
  const { here } = await TwoWorkers.start(
    t,
    only((_request, reply) => (stream = reply.open(200, [])) as unknown as undefined),
  );
  const client = await here.client();
  client.send(get('/', theirs));
  await until('the stream is open', () => stream !== undefined);
  client.socket.pause();
  const piece = Buffer.alloc(262_144, 120);
  let written = 0;
  const most = 400 * piece.length;
  const fill = (): Promise<void> =>
    new Promise((resolve) => {
      const go = (): void => {
        while (written < most) {
          written += piece.length;
          if (stream?.write(piece) !== false) continue;
          resolve();
          return;
        }
        resolve();
      };
      stream?.onDrain(go);
      go();
    });
  await fill();
  // The flow stops at the size of the buffers of three connections until the client reads.
  let still = -1;
  await until('nothing more is taken', () => {
    const stands = written === still;
    still = written;
    return stands && (stream?.pendingBytes ?? 0) > 0;
  });
  assert.ok(written < most, `${written} bytes were taken of a client that reads none`);
  const before = written;
  client.socket.resume();
  await until('it goes on', () => written > before);
  client.close();
});

test('a client that waits for leave to send its body gets it from there, or a refusal', async (t) => {
  const { here } = await TwoWorkers.start(
    t,
    only((request, reply) => {
      if (request.header('x-refuse') !== undefined) reply.send({ status: 403, body: 'no' });
      else echoing('there')(request, reply, { principal: undefined });
    }),
  );
  const client = await here.client();
  const head = (more = ''): string =>
    `POST / HTTP/1.1\r\nhost: a.test\r\n${theirs}\r\n${more}expect: 100-continue\r\ncontent-length: 5\r\n\r\n`;
  assert.equal(status(await client.ask(head())), 100);
  assert.equal((await client.ask('hello')).body.toString(), 'there POST 5');
  const refused = await client.ask(head('x-refuse: yes\r\n'));
  assert.equal(status(refused), 403);
  assert.equal(field(refused, 'connection'), 'close');
});

test('a client of HTTP/1.0 gets the end of a stream as the end of its connection', async (t) => {
  const two = await TwoWorkers.start(
    t,
    only((request, reply) => {
      const stream = reply.open(200, []);
      stream.write(request.version);
      stream.end();
    }),
  );
  const client = await two.here.client();
  const answer = await client.ask(`GET / HTTP/1.0\r\nhost: a.test\r\n${theirs}\r\n\r\n`);
  assert.equal(answer.body.toString(), 'HTTP/1.0');
  assert.equal(field(answer, 'transfer-encoding'), undefined);
  assert.equal(await client.closed(), 'fin');
});

test('an answer that is cut off there is cut off here', async (t) => {
  let stream: ReplyStream | undefined;
  const two = await TwoWorkers.start(
    t,
    only((_request, reply) => (stream = reply.open(200, [])) as unknown as undefined),
  );
  for (const version of ['1.1', '1.0']) {
    stream = undefined;
    const client = await two.here.client();
    client.send(`GET / HTTP/${version}\r\nhost: a.test\r\n${theirs}\r\n\r\n`);
    await until('the stream is open', () => stream !== undefined);
    (stream as ReplyStream | undefined)?.write('the beginning');
    await client.find('the beginning', () => (client.text.includes('the beginning') ? true : undefined));
    (stream as ReplyStream | undefined)?.destroy();
    const ending = await client.closed();
    if (version === '1.0') assert.equal(ending, 'reset');
    assert.doesNotMatch(client.text, /\r\n0\r\n\r\n$/);
  }
  await until('the loss is logged where it was seen', () => two.here.access.length === 2);
  assert.deepEqual(
    two.here.access.map(({ status: code, error }) => [code, error]),
    [
      [200, 'mcp_owner_lost'],
      [200, 'mcp_owner_lost'],
    ],
  );
});

test('the receiving worker serves a request whose worker is gone, with its policies and body', async (t) => {
  const two = await TwoWorkers.start(t, both(echoing));
  two.there.plane.relays?.close();
  const client = await two.here.client();
  assert.equal((await client.ask(post('body', theirs))).body.toString(), 'here POST 4');
  assert.equal((await client.ask(get('/', theirs))).body.toString(), 'here GET 0');
  assert.equal((await client.ask(post('x'.repeat(200_000), theirs))).body.toString(), 'here POST 200000');
  await until('all is logged', () => two.here.access.length === 3);
  assert.deepEqual(await outcomes(two), { unreachable: 3 });
  two.here.plane.relays?.usePeers([]);
  assert.equal((await client.ask(post('body', theirs))).body.toString(), 'here POST 4');
  assert.deepEqual(await outcomes(two), { unreachable: 3 }, 'nobody was asked');
});

test('a worker that ends in the middle of a request leaves an answer that says so, for JSON-RPC', async (t) => {
  let came = 0;
  const two = await TwoWorkers.start(
    t,
    only(() => void came++),
  );
  const client = await two.here.client();
  client.send(post('{}', theirs));
  await until('the request is there', () => came === 1);
  two.there.plane.close();
  const answer = await client.answer();
  assert.equal(status(answer), 502);
  assert.deepEqual(JSON.parse(answer.body.toString()), {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32603, message: 'session lost' },
  });
  await until('it is logged', () => two.here.access.length === 1);
  assert.deepEqual([two.here.access[0]?.status, two.here.access[0]?.error], [502, 'mcp_owner_lost']);
  assert.deepEqual(await outcomes(two), { lost: 1 });
  assert.match(await two.here.metricsText(), /^portcullis_requests_in_flight 0$/m);
});

test('the receiving worker counts a request that it refuses, once', async (t) => {
  const two = await TwoWorkers.start(
    t,
    only(echoing('there'), { limits: { maxBodyBytes: 1_000, bodyTimeoutMs: 700 } }),
  );
  const client = await two.here.client();
  const chunked = `POST / HTTP/1.1\r\nhost: a.test\r\n${theirs}\r\ntransfer-encoding: chunked\r\n\r\n`;
  client.send(chunked);
  client.send(`400\r\n${'x'.repeat(1_024)}\r\n`);
  assert.equal(status(await client.answer()), 413);
  const slow = await two.here.client();
  slow.send(`${chunked}5\r\nhel`);
  assert.equal(status(await slow.answer()), 408);
  await until('both are logged', () => two.here.access.length === 2);
  assert.deepEqual(
    two.here.access.map(({ status: code }) => code),
    [413, 408],
  );
  assert.deepEqual(two.there.access, []);
});

test('a configuration without the port there is an answer without a listener', async (t) => {
  const two = await TwoWorkers.start(t, both(echoing));
  const client = await two.here.client();
  assert.equal((await client.ask(get('/', theirs))).body.toString(), 'there GET 0');
  await two.there.apply({ binds: [] });
  assert.equal(status(await client.ask(get('/', theirs))), 404);
  const other = await two.here.client();
  assert.equal(status(await other.ask(get('/', theirs))), 404);
});

test('the end waits for requests that others have brought', async (t) => {
  let answer: (() => void) | undefined;
  const two = await TwoWorkers.start(
    t,
    only((_request, reply) => (answer = () => reply.send({ status: 200, body: 'at last' }))),
  );
  const client = await two.here.client();
  const answered = client.ask(get('/', theirs));
  await until('the request is there', () => answer !== undefined);
  let over = false;
  const drained = Promise.all([two.here.plane.drain(), two.there.plane.drain()]).then(() => (over = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(over, false);
  answer?.();
  const { body, lines } = await answered;
  client.close();
  assert.equal(body.toString(), 'at last');
  assert.ok(lines.some(([name, value]) => name === 'connection' && value === 'close'));
  await drained;
});

test('many concurrent clients each get their own response', async (t) => {
  const { here, there } = await TwoWorkers.start(
    t,
    both((who) => (request, reply) => reply.send({ status: 200, body: `${who} ${request.header('x-n')}` })),
  );
  await Promise.all(
    Array.from({ length: 20 }, async (_, of) => {
      const client = await here.client();
      for (let i = 0; i < 20; i++) {
        const n = `${of}.${i}`;
        const far = (of + i) % 2 === 1;
        const answer = await client.ask(get('/', far ? theirs : mine, `x-n: ${n}`));
        assert.equal(answer.body.toString(), `${far ? 'there' : 'here'} ${n}`);
      }
      client.close();
    }),
  );
  await until('every connection has ended', () => here.connections === 0);
  await until('all is logged', () => there.access.length === 200);
});

test('the relay port refuses connections without the secret', async (t) => {
  const two = await TwoWorkers.start(t, both(echoing));
  const path = two.peers[1]?.path ?? '';
  const header = {
    bind: '0#0',
    version: 'HTTP/1.1',
    address: '192.0.2.1',
    port: 1,
    localAddress: '',
    localPort: 2,
  };
  const enter = async (bytes: Buffer): Promise<string> => {
    const socket = connect(path);
    let told = '';
    socket.on('data', (data: Buffer) => (told += data.toString()));
    socket.on('error', () => undefined);
    socket.write(bytes);
    socket.write(get('/', 'connection: close'));
    await once(socket, 'close');
    return told;
  };
  assert.match(await enter(writeRelayHeader(secret, header)), /^HTTP\/1\.1 200 OK/);
  assert.equal(await enter(writeRelayHeader('cd'.repeat(32), header)), '');
  assert.equal(await enter(Buffer.from([0xff, 0xff, 0xff, 0xff])), '', 'as long as memory');
  assert.equal(await enter(Buffer.from([0, 0, 0, 3, 1, 2, 3])), '');
  assert.equal(await enter(Buffer.from('')), '', 'a request without a word before it');
  const cut = writeRelayHeader(secret, header).subarray(0, 100);
  const socket = connect(path);
  socket.write(cut);
  socket.end();
  await once(socket, 'close');
});
