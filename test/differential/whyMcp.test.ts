/** `portcullis why` and the data plane agree on random MCP calls over random rules. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { createKeySets } from '../../src/auth/index.ts';
import { makeKey, makeToken } from '../../src/auth/token.testing.ts';
import { loadText } from '../../src/config/index.ts';
import { McpRuntime } from '../../src/mcp/index.ts';
import { RemoteServer } from '../../src/mcp/remoteServer.testing.ts';
import { defaults, type Model } from '../../src/model/index.ts';
import { LocalTokens } from '../../src/policies/index.ts';
import type { Decision } from '../../src/proxy/contract.ts';
import { DataPlane } from '../../src/proxy/index.ts';
import { RawClient } from '../../src/proxy/wire.testing.ts';
import { createMetrics, type AccessRecord, type Logger } from '../../src/telemetry/index.ts';
import { explainOffline } from '../../src/workers/index.ts';

const configurations = 60;
const requestsEach = 7;

const key = makeKey('Ed25519', 'k1');
const issuer = 'https://issuer.test';
const seconds = Math.floor(Date.now() / 1000);
const claims = {
  iss: issuer,
  aud: 'api',
  sub: 'ada',
  iat: seconds - 10,
  exp: seconds + 3_600,
  groups: ['dev'],
  scope: 'read',
};
const tokens: Readonly<Record<string, string>> = {
  reader: makeToken('EdDSA', key, { claims }),
  writer: makeToken('EdDSA', key, { claims: { ...claims, scope: 'admin' } }),
  otherGroup: makeToken('EdDSA', key, { claims: { ...claims, sub: 'bob', groups: [], scope: undefined } }),
  late: makeToken('EdDSA', key, { claims: { ...claims, exp: seconds - 100 } }),
};
const jwks = { inline: JSON.stringify({ keys: [key.jwk] }) };

const oneOf = fc.constantFrom;
const some = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

const condition = oneOf(
  'mcp.tool.name == "echo"',
  'mcp.tool.name in ["echo", "sum"]',
  'mcp.tool.target == "two"',
  'mcp.prompt.name == "greet" || mcp.tool.name != ""',
  'mcp.resource.name.startsWith("file:///a")',
  'mcp.tool.name != "sum" || mcp.tool.arguments.a < 5',
  'mcp.tool.arguments.message.contains("secret")',
  'has(mcp.tool.arguments.force) && mcp.tool.arguments.force',
  'mcp.tool.name == "echo" && "dev" in jwt.groups',
  'mcp.methodName == "tools/call"',
  'jwt.sub == "ada"',
  'request.headers["x-env"] == "one"',
);
const effects = ['allow', 'deny', 'require'] as const;
/** A rule before it has its form for one answer to refusals. */
const rule = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ effect: oneOf(...effects), condition, text: some(oneOf('no', 'ask')) }),
  },
  {
    weight: 1,
    arbitrary: fc.record(
      { if: condition, requireScopes: oneOf(['read'], ['write'], ['read', 'write']), name: oneOf('scopes') },
      { requiredKeys: ['requireScopes'] },
    ),
  },
);
const rules = fc
  .record({
    refusal: some(oneOf('hidden', 'explained')),
    written: fc.array(rule, { minLength: 1, maxLength: 2 }),
  })
  .map(({ refusal, written }) => ({
    ...(refusal === undefined ? {} : { refusal }),
    scopes: { admin: ['write'], write: ['read'] },
    rules: written.map((one) => {
      if (!('effect' in one)) return one;
      const named = one.text === undefined ? {} : { name: one.text };
      const message = one.text !== undefined && refusal === 'explained' ? { message: one.text } : {};
      return { [one.effect]: one.condition, ...named, ...message };
    }),
  }));

const authentication = fc.record(
  {
    mode: oneOf('strict', 'optional', 'permissive'),
    issuer: fc.constant(issuer),
    audiences: fc.constant(['api']),
    jwks: fc.constant(jwks),
    authorization: rules,
  },
  { requiredKeys: ['mode', 'issuer', 'audiences', 'jwks'] },
);
const ofListener = fc.record(
  {
    cors: fc.record({ allowOrigins: oneOf(['https://app.test'], ['*']) }),
    apiKey: fc.constant({
      mode: 'strict',
      location: { header: { name: 'x-key' } },
      keys: [{ key: 'the-key-of-blue' }],
    }),
    authorization: fc.record({
      rules: fc.array(oneOf('request.method == "POST"', 'request.headers["x-env"] == "one"'), {
        minLength: 1,
        maxLength: 1,
      }),
    }),
  },
  { requiredKeys: [] },
);
const configuration = fc.record({
  listener: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: ofListener }),
  route: fc
    .record({ mcpAuthentication: authentication, mcpAuthorization: rules }, { requiredKeys: [] })
    // A route has one set of rules.
    .filter(
      (one) => one.mcpAuthentication?.authorization === undefined || one.mcpAuthorization === undefined,
    ),
  backend: some(rules),
  prefix: oneOf('always', 'conditional'),
});

const args = oneOf(
  '{}',
  '{"a":1,"message":"hello"}',
  '{"a":7}',
  '{"message":"a secret"}',
  '{"force":true,"message":"x"}',
  '{"a":1,"a":9}',
  '{"A":1}',
  '{"a":1e40}',
  '[]',
  '"text"',
);
const tool = oneOf('one_echo', 'one_sum', 'two_echo', 'two_drop', 'three_echo', 'echo', 'one_', '');
const message = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(tool, some(args))
      .map(([name, given]) => [
        'tools/call',
        `{"name":"${name}"${given === undefined ? '' : `,"arguments":${given}`}}`,
      ]),
  },
  {
    weight: 1,
    arbitrary: oneOf('one_greet', 'two_greet', 'greet').map((name) => ['prompts/get', `{"name":"${name}"}`]),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        oneOf('resources/read', 'resources/subscribe'),
        oneOf('one+file:///a', 'two+file:///b', 'file:///a'),
      )
      .map(([method, uri]) => [method, `{"uri":"${uri}"}`]),
  },
  {
    weight: 1,
    arbitrary: oneOf(
      ['tools/list', '{}'],
      ['ping', '{}'],
      ['own/method', '{}'],
      ['tools/call', '{}'],
      ['tools/call', '{"name":7}'],
      ['tools/call', '{"name":"one_echo","name":"two_drop"}'],
      [
        'completion/complete',
        '{"ref":{"type":"ref/prompt","name":"one_greet"},"argument":{"name":"a","value":""}}',
      ],
    ),
  },
);
const call = fc.record({
  message,
  token: some(oneOf('reader', ...Object.keys(tokens))),
  key: oneOf('the-key-of-blue', 'another-key-here', undefined),
  env: some(oneOf('one', 'two')),
  origin: some(oneOf('https://app.test', 'https://evil.test')),
  method: fc.oneof(
    { weight: 12, arbitrary: fc.constant('POST') },
    { weight: 1, arbitrary: oneOf('GET', 'DELETE', 'PUT', 'PATCH') },
  ),
  accept: fc.oneof(
    { weight: 12, arbitrary: fc.constant('application/json, text/event-stream') },
    { weight: 1, arbitrary: oneOf('text/html', 'application/json') },
  ),
  version: fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 3, arbitrary: oneOf('2025-11-25', '1999-01-01', '2026-07-28', ' 2026-07-28 ') },
  ),
  meta: fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    {
      weight: 2,
      arbitrary: oneOf(
        '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}',
        '{"io.modelcontextprotocol/protocolVersion":"2027-01-01","io.modelcontextprotocol/clientCapabilities":{}}',
      ),
    },
  ),
  framing: fc.oneof(
    { weight: 6, arbitrary: fc.constant('length' as const) },
    { weight: 4, arbitrary: oneOf('chunked', 'chunks', 'badChunk', 'behind') },
  ),
  batch: fc.oneof({ weight: 12, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});

type Valued<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** The framing header of a body, and the bytes behind the head. */
function framed(body: string, framing: Valued<typeof call>['framing']): readonly [string, string] {
  const half = Math.floor(body.length / 2);
  const chunked = 'transfer-encoding: chunked';
  const length = `content-length: ${Buffer.byteLength(body)}`;
  switch (framing) {
    case 'length':
      return [length, body];
    case 'behind':
      return [length, `${body}\r\n\r\n{}`];
    case 'chunked':
      return [chunked, `${chunk(body)}0\r\n\r\n`];
    case 'chunks':
      return [chunked, `${chunk(body.slice(0, half))}${chunk(body.slice(half))}0\r\n\r\n`];
    case 'badChunk':
      return [chunked, `${chunk(body)}-1\r\n\r\n`];
  }
}

function textOf({
  message: [method = '', params = ''],
  token,
  key: given,
  env,
  origin,
  meta,
  ...one
}: Valued<typeof call>): string {
  const comma = params === '{}' ? '' : ',';
  const all = meta === undefined ? params : `${params.slice(0, -1)}${comma}"_meta":${meta}}`;
  const single = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${all}}`;
  const [framing, body] = framed(one.batch ? `[${single}]` : single, one.framing);
  const lines = [
    ['host', 'a.test'],
    ['content-type', 'application/json'],
    ['accept', one.accept],
    ['mcp-protocol-version', one.version],
    ['authorization', token === undefined ? undefined : `Bearer ${tokens[token] ?? ''}`],
    ['x-key', given],
    ['x-env', env],
    ['origin', origin],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [`${one.method} /mcp HTTP/1.1`, ...lines, framing, '', body].join('\r\n');
}

const servers: RemoteServer[] = [];
const records: AccessRecord[] = [];
const log: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => log };
const keySets = createKeySets({ log });
const metrics = createMetrics({ process: false });
const mcp = new McpRuntime({
  sessionTtlMs: 60_000,
  sessionResumableMs: 0,
  limits: () => defaults.limits,
  log,
  metrics,
  secrets: new Set(),
});
const plane = new DataPlane({
  log,
  metrics,
  policyTools: { log, keySets, now: Date.now, tokens: new LocalTokens(Date.now) },
  mcp,
  openAccessLog: () => ({ write: (record) => void records.push(record), close: () => {} }),
});

before(async () => {
  for (let at = 0; at < 2; at++) {
    const server = await RemoteServer.start();
    server.stateful = false;
    server.methods['tools/call'] = (x) => x.json(x.result('served'));
    servers.push(server);
  }
});
after(async () => {
  plane.close();
  keySets.close();
  await mcp.close(0);
  await Promise.all(servers.map((server) => server.close()));
});

function modelOf({ listener, route, backend, prefix }: Valued<typeof configuration>): Model {
  const targets = servers.map(({ url }, at) => ({ name: ['one', 'two'][at], mcp: { host: url } }));
  const mcpBackend = { statefulMode: 'stateless', prefixMode: prefix, targets };
  const policies = backend === undefined ? {} : { policies: { mcpAuthorization: backend } };
  const routes = [{ name: 'mcp', policies: route, backends: [{ mcp: mcpBackend, ...policies }] }];
  const result = loadText(
    JSON.stringify({
      config: { logging: { accessLog: 'json' } },
      binds: [{ port: 0, listeners: [{ policies: listener, routes }] }],
    }),
    { file: 'test', env: {} },
  );
  if (!result.ok)
    assert.fail(result.problems.map(({ path: at, message: why }) => `${at}: ${why}`).join('\n'));
  return result.model;
}

/** The parts of the record of a request on which both must agree. */
const served = ({ status, error, decidedBy, extra }: AccessRecord) => ({
  kind: error !== undefined || extra?.['mcp.outcome'] === 'refused' ? 'refused' : 'forwarded',
  status,
  error,
  policy: decidedBy?.policy,
  rule: decidedBy?.rule,
  place: decidedBy?.place,
});

/** The same of a decision. The servers answer 200, and so does the gateway where a refusal has no status of its own. */
const explained = ({ outcome }: Decision) => ({
  // A request of a chosen backend that the gateway refuses has failed.
  kind: outcome.kind === 'failed' ? 'refused' : outcome.kind,
  status: outcome.status ?? 200,
  error: outcome.error,
  policy: outcome.policy,
  rule: outcome.rule,
  place: outcome.place,
});

test('the explanation of an MCP call agrees with the data plane on outcome, status, policy and rule', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      configuration,
      fc.array(call, { minLength: requestsEach, maxLength: requestsEach }),
      async (chosen, calls) => {
        const model = modelOf(chosen);
        await plane.apply(model);
        for (const one of calls) {
          const text = textOf(one);
          records.length = 0;
          const client = await RawClient.connect(plane.binds[0]?.port ?? 0);
          try {
            const answer = await client.ask(text);
            assert.match(answer.start, /^HTTP\/1\.1 \d{3} /);
          } finally {
            client.close();
          }
          const [record] = records;
          assert.ok(record !== undefined);
          // A policy that reads a broken body and then refuses the request leaves both errors; the log has the first.
          const isBroken = one.framing === 'badChunk' && record.decidedBy !== undefined;
          const told = (decision: Decision) => ({
            ...explained(decision),
            ...(isBroken && { error: record.error }),
          });
          assert.deepEqual(told(await plane.explain({ request: text })), served(record), text);
          assert.deepEqual(told(await explainOffline(model, { request: text }, log)), served(record), text);
          const what = `${record.decidedBy?.policy ?? record.error ?? served(record).kind} ${record.status}`;
          seen.set(what, (seen.get(what) ?? 0) + 1);
        }
      },
    ),
    { numRuns: configurations, seed: 12 },
  );
  for (const what of [
    'forwarded 200',
    'refused 200',
    'bad_chunk 400',
    'mcp_header_mismatch 400',
    'mcp_meta_invalid 400',
    'mcp_method_not_allowed 405',
    'mcp_not_acceptable 406',
    'mcp_version_unsupported 400',
    'apiKey 401',
    'authorization 403',
    'mcpAuthentication 200',
    'mcpAuthentication 401',
    'mcpAuthentication 403',
    'mcpAuthorization 200',
    'mcpAuthorization 401',
    'mcpAuthorization 403',
  ])
    assert.ok((seen.get(what) ?? 0) > 0, `${what}: ${seen.get(what) ?? 0} requests`);
});
