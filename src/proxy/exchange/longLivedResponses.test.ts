/** Event streams under configurations that change: nobody listens on who would no longer be let in. */
import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { issuerName, makeKey, makeToken } from '../../auth/token.testing.ts';
import type { Caller } from '../../mcp/index.ts';
import type { OpenApiTarget } from '../../model/index.ts';
import { policySchemas } from '../../policies/index.ts';
import { TestPlane, type LocalHandler, type ModelInShort, type RouteInShort } from '../dataPlane.testing.ts';
import { until } from '../../until.testing.ts';
import { get, ok, RawBackend, type RawClient } from '../wire.testing.ts';

const callers: Caller[] = [];

/** Answers with a stream that lasts: to a GET, or to a POST such as `subscriptions/listen`. */
const listening: LocalHandler = (request, reply, caller) => {
  callers.push(caller);
  const stream = reply.open(200, [['content-type', 'text/event-stream']]);
  const release = request.query === 'call' ? undefined : caller.whileAllowed?.(() => stream.end());
  reply.onClose(() => release?.());
  stream.write('data: hello\n\n');
};

const rule = (text: string) => ({ authorization: policySchemas.authorization.parse({ rules: [text] }) });
const route = (more: Partial<RouteInShort> = {}): RouteInShort => ({
  name: 'mcp',
  prefix: '/mcp',
  handler: listening,
  target: 'server',
  policies: rule('request.path == "/mcp"'),
  ...more,
});
const model = (mcp: RouteInShort, ...others: readonly RouteInShort[]): ModelInShort => ({
  routes: [...others, mcp],
});

const post = (path: string): string => `POST ${path} HTTP/1.1\r\nhost: app.test\r\ncontent-length: 0\r\n\r\n`;

async function listen(plane: TestPlane, request = get('/mcp')): Promise<RawClient> {
  const client = await plane.client();
  client.send(request);
  await client.find('the first event', () => client.text.includes('hello') || undefined);
  return client;
}

const isOver = (client: RawClient): boolean => client.text.endsWith('0\r\n\r\n');

/** The new configuration, and whether the stream outlives it. */
const cases: readonly (readonly [what: string, next: ModelInShort, lives: boolean])[] = [
  ['nothing that concerns it', model(route(), { name: 'other', prefix: '/other', to: 9 }), true],
  ['nothing but limits', { ...model(route()), limits: { maxHeaders: 20 } }, true],
  ['a rule of the route', model(route({ policies: rule('request.path == "/none"') })), false],
  [
    'a policy more',
    model(route({ policies: { ...rule('request.path == "/mcp"'), timeout: { requestTimeout: 60_000 } } })),
    false,
  ],
  ['a policy of the listener', { ...model(route()), policies: rule('request.path.startsWith("/")') }, false],
  [
    'a route that comes before',
    model(route(), {
      name: 'closed',
      prefix: '/mcp',
      hostnames: ['app.test'],
      policies: rule('request.path == "/none"'),
      to: 9,
    }),
    false,
  ],
  ['the prefix of the route', model(route({ prefix: '/elsewhere' })), false],
  ['the host of the listener', { ...model(route()), hostname: 'other.test' }, false],
  ['the name of the target', model(route({ target: 'renamed' })), false],
  ['the name of the route', model(route({ name: 'renamed' })), false],
  ['everything: there is no route left', { routes: [] }, false],
];

async function reviewed(request: string, next: ModelInShort, lives: boolean): Promise<void> {
  const plane = await TestPlane.start(model(route()));
  const client = await listen(plane, request);
  await plane.apply(next);
  // The reload ends the streams before it is complete.
  const { access } = plane;
  if (lives) {
    assert.equal(access.length, 0);
    assert.equal(client.ending, 'open');
    assert.ok(!isOver(client));
  } else {
    await client.find('the end of the stream', () => isOver(client) || undefined);
    assert.equal(access.length, 1);
    assert.equal(access[0]?.status, 200);
    assert.equal(access[0]?.reason, 'the new configuration may not serve it in the same way');
  }
  client.close();
  await until('nobody is left', () => plane.connections === 0);
  plane.close();
}

for (const [what, next, lives] of cases) {
  test(`a stream that is open ${lives ? 'goes on' : 'ends'} when a reload changes ${what}`, () =>
    reviewed(get('/mcp'), next, lives));
  test(`a stream that answers a POST ${lives ? 'goes on' : 'ends'} when a reload changes ${what}`, () =>
    reviewed(post('/mcp'), next, lives));
}

test('a stream ends when a reload changes the operations of an API that are tools', async () => {
  const api = (operations: readonly string[]): OpenApiTarget => ({
    kind: 'openapi',
    name: 'api',
    host: 'api.test',
    port: 80,
    path: '/',
    source: {
      kind: 'url',
      url: 'https://api.test/openapi.json',
      choice: { exclude: { tags: [], paths: [], operations } },
      references: [],
    },
  });
  const plane = await TestPlane.start(model(route({ target: api([]) })));
  const client = await listen(plane);
  await plane.apply(model(route({ target: api([]) })));
  assert.ok(!isOver(client));
  await plane.apply(model(route({ target: api(['remove']) })));
  await client.find('the end of the stream', () => isOver(client) || undefined);
  client.close();
  plane.close();
});

test('streams end when their user or their key is removed from its file, and others go on', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-streams-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [users, keys] = [join(folder, 'users'), join(folder, 'keys.json')];
  const [removed, kept] = [makeKey('P-256', 'removed'), makeKey('P-256', 'kept')];
  const write = (file: string, text: string): void => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  const writeBoth = (names: readonly string[], jwks: readonly { readonly jwk: object }[]): void => {
    write(users, names.map((name) => `${name}:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n`).join(''));
    write(keys, JSON.stringify({ keys: jwks.map(({ jwk }) => jwk) }));
  };
  writeBoth(['ada', 'bob'], [removed, kept]);
  const { basicAuth, jwtAuth } = policySchemas;
  const of = (policies: Record<string, unknown>, prefix: string) => route({ name: prefix, prefix, policies });
  const plane = await TestPlane.start(
    model(
      of({ basicAuth: basicAuth.parse({ mode: 'strict', htpasswd: { file: users } }) }, '/users'),
      of({ jwtAuth: jwtAuth.parse({ mode: 'strict', issuer: issuerName, jwks: { file: keys } }) }, '/keys'),
    ),
  );
  t.after(() => plane.close());
  const basic = (name: string) =>
    `authorization: Basic ${Buffer.from(`${name}:password`).toString('base64')}`;
  const bearer = (key: typeof kept) =>
    `authorization: Bearer ${makeToken('ES256', key, { claims: { iat: 0, exp: 4_000_000_000 } })}`;
  const [ada, bob] = [
    await listen(plane, get('/users', basic('ada'))),
    await listen(plane, get('/users', basic('bob'))),
  ];
  const [first, second] = [
    await listen(plane, get('/keys', bearer(removed))),
    await listen(plane, get('/keys', bearer(kept))),
  ];
  writeBoth(['bob'], [kept]);
  for (const client of [ada, first])
    await client.find('the end of the stream', () => isOver(client) || undefined);
  assert.deepEqual([bob, second].map(isOver), [false, false]);
  assert.deepEqual(
    plane.access.map(({ reason }) => reason),
    Array(2).fill('the user or the key of the caller was removed or changed'),
  );
});

test('a finished stream is not ended again, and a snapshot without streams is released', async () => {
  const plane = await TestPlane.start(model(route()));
  const client = await listen(plane);
  client.close();
  await until('the stream has ended', () => plane.access.length === 1);
  await plane.apply(model(route({ policies: rule('request.path == "/none"') })));
  await plane.apply({ routes: [] });
  assert.equal(plane.access.length, 1);
  plane.close();
});

test('a stream whose policies waited while the configuration changed ends at once', async () => {
  const plane = await TestPlane.start(
    model(route({ policies: { delay: policySchemas.delay.parse({ duration: '300ms' }) } })),
  );
  const client = await plane.client();
  client.send(get('/mcp'));
  while (!/^portcullis_requests_in_flight 1$/m.test(await plane.metricsText())) await turn();
  await plane.apply(model(route({ policies: rule('request.path == "/none"') })));
  await client.find('the end of the stream', () => isOver(client) || undefined);
  client.close();
  plane.close();
});

test('the answer of a call ends on the rules it began with', async () => {
  const backend = await RawBackend.start({ onRequest: (_request, connection) => connection.send(ok('x')) });
  const plane = await TestPlane.start(model(route({ policies: {} })));
  const client = await listen(plane, post('/mcp?call'));
  await plane.apply({ routes: [{ to: backend.port }] });
  assert.equal((await plane.ask(get())).body.toString(), 'x');
  assert.equal(client.ending, 'open');
  assert.ok(!isOver(client));
  client.close();
  plane.close();
  await backend.close();
});

test('the rules judge each item of a stream on a budget of its own, and all items of a call on one', async (t) => {
  const digits = '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]';
  const costly = `request.path == "/mcp" && mcp.resource.name != "" && ${digits}.all(a, ${digits}.all(b, ${digits}.all(c, a + b + c < 99)))`;
  const mcpAuthorization = policySchemas.mcpAuthorization.parse({ rules: [costly] });
  const plane = await TestPlane.start(model(route({ policies: { mcpAuthorization } })));
  t.after(() => plane.close());
  for (const [request, isRefused] of [
    [get('/mcp'), false],
    [post('/mcp'), false],
    [post('/mcp?call'), true],
  ] as const) {
    const client = await listen(plane, request);
    const caller = callers.at(-1)!;
    const refusals = Array.from({ length: 200 }, (_, nth) =>
      caller.refusalOf?.({ kind: 'resource', target: 'server', name: `file:///${nth}` }),
    );
    assert.equal(refusals[0], undefined);
    assert.equal(
      refusals.some((refusal) => refusal !== undefined),
      isRefused,
      request,
    );
    client.close();
  }
});
