/** `portcullis why` and the data plane agree on random requests over random configurations. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { encode, makeKey, makeToken } from '../../src/auth/token.testing.ts';
import { createKeySets } from '../../src/auth/index.ts';
import { loadText } from '../../src/config/index.ts';
import type { Model } from '../../src/model/index.ts';
import { LocalTokens } from '../../src/policies/index.ts';
import type { Decision } from '../../src/proxy/contract.ts';
import { DataPlane } from '../../src/proxy/index.ts';
import { RawClient } from '../../src/proxy/wire.testing.ts';
import { createMetrics, type AccessRecord, type Logger } from '../../src/telemetry/index.ts';
import { explainOffline } from '../../src/workers/index.ts';

const configurations = 100;
const requestsEach = 10;

const key = makeKey('Ed25519', 'k1');
const other = makeKey('Ed25519', 'k1');
const issuer = 'https://issuer.test';
const seconds = Math.floor(Date.now() / 1000);
const claims = {
  iss: issuer,
  aud: 'api',
  sub: 'ada',
  iat: seconds - 10,
  exp: seconds + 3_600,
  groups: ['dev'],
};
const tokens: Readonly<Record<string, string>> = {
  good: makeToken('EdDSA', key, { claims }),
  otherGroup: makeToken('EdDSA', key, { claims: { ...claims, sub: 'bob', groups: [] } }),
  late: makeToken('EdDSA', key, { claims: { ...claims, exp: seconds - 100 } }),
  otherAudience: makeToken('EdDSA', key, { claims: { ...claims, aud: 'others' } }),
  otherIssuer: makeToken('EdDSA', key, { claims: { ...claims, iss: 'https://evil.test' } }),
  otherKey: makeToken('EdDSA', other, { claims }),
  unknownKey: makeToken('EdDSA', key, { claims, header: { kid: 'k2', alg: 'EdDSA' } }),
  rubbish: `a.${encode('{}')}.c`,
};

const oneOf = fc.constantFrom;
const some = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const segments = ['/', '/a', '/a/b', '/a/b/c', '/b', '/ab', '/c'] as const;

const path = fc.oneof(
  fc.record({ exact: oneOf(...segments) }),
  fc.record({ pathPrefix: oneOf(...segments) }),
  fc.record({ regex: oneOf('/a/.*', '/(a|b)/?.*', '/[a-c]+', '.*c') }),
);
const header = fc.record({
  name: oneOf('x-env', 'x-app'),
  value: fc.oneof(fc.record({ exact: oneOf('one', 'two') }), fc.record({ regex: fc.constant('t.*') })),
});
const parameter = fc.record({ name: oneOf('q', 'r'), value: fc.record({ exact: oneOf('1', '2') }) });
const match = fc.record(
  {
    path,
    method: oneOf('GET', 'POST'),
    headers: fc.uniqueArray(header, { maxLength: 2, selector: ({ name }) => name }),
    query: fc.array(parameter, { maxLength: 1 }),
  },
  { requiredKeys: ['path'] },
);

const rule = fc.oneof(
  oneOf(
    'request.method == "GET"',
    'jwt.sub == "ada"',
    '"dev" in jwt.groups',
    'request.headers["x-env"] == "one"',
    'request.path.startsWith("/a")',
    'apiKey.team == "blue"',
    'source.address == "127.0.0.1"',
  ),
  fc.record({ deny: oneOf('request.path == "/b"', 'jwt.sub == "bob"', 'request.headers["x-app"] == "two"') }),
  fc.record({ require: oneOf('jwt.sub != ""', 'request.host == "a.test"'), name: oneOf('first', 'second') }),
);

/** Few routes have each of them, so that all kinds of requests come through. */
const judging = fc.record(
  {
    jwtAuth: fc.record({
      mode: oneOf('strict', 'optional', 'permissive'),
      issuer: fc.constant(issuer),
      audiences: oneOf(['api'], ['others', 'more']),
      jwks: fc.constant({ inline: JSON.stringify({ keys: [key.jwk] }) }),
    }),
    apiKey: fc.record({
      mode: oneOf('strict', 'optional', 'permissive'),
      location: fc.constant({ header: { name: 'x-key' } }),
      keys: fc.constant([{ key: 'the-key-of-blue', metadata: { team: 'blue' } }]),
    }),
    authorization: fc.record({ rules: fc.array(rule, { minLength: 1, maxLength: 3 }) }),
    cors: fc.record({ allowOrigins: oneOf(['https://app.test'], ['*']) }),
    requestHeaderModifier: fc.constant({ set: { 'x-added': 'yes' } }),
    responseHeaderModifier: fc.constant({ set: { 'x-answered': 'yes' } }),
  },
  { requiredKeys: [] },
);

const answering: fc.Arbitrary<RouteChoice['policies']> = fc.oneof(
  fc.record({
    requestRedirect: fc.record({ path: fc.constant({ full: '/there' }), status: oneOf(301, 302) }),
  }),
  fc.record({ directResponse: fc.record({ status: oneOf(200, 403, 418), body: fc.constant('direct') }) }),
);

const sometimes = <T extends object>(value: fc.Arbitrary<T>, part: number): fc.Arbitrary<Partial<T>> =>
  fc.oneof({ weight: part, arbitrary: value }, { weight: 10 - part, arbitrary: fc.constant<Partial<T>>({}) });

interface RouteChoice {
  readonly hostnames: readonly string[] | undefined;
  readonly matches: readonly unknown[];
  readonly policies: { readonly requestRedirect?: unknown; readonly directResponse?: unknown };
  readonly backend: boolean;
}

const route: fc.Arbitrary<RouteChoice> = fc.record({
  hostnames: some(fc.uniqueArray(oneOf('a.test', 'b.test', '*.test'), { minLength: 1, maxLength: 2 })),
  matches: fc.array(match, { minLength: 1, maxLength: 2 }),
  policies: fc
    .tuple(sometimes(judging, 6), sometimes(answering, 4))
    .map(([judges, answers]) => ({ ...judges, ...answers })),
  backend: fc.boolean(),
});

const request = fc.record({
  method: oneOf('GET', 'GET', 'POST', 'OPTIONS', 'DELETE'),
  path: oneOf(...segments, '/a/b/', '/%61', '/a//b', '/a%2Fb', '/x', '/.well-known/oauth-protected-resource'),
  query: oneOf('', '?q=1', '?q=2&r=1', '?q=1&q=2'),
  host: oneOf('a.test', 'b.test', 'c.test', 'other.example'),
  token: some(oneOf(...Object.keys(tokens))),
  key: some(oneOf('the-key-of-blue', 'another-key-here')),
  env: some(oneOf('one', 'two')),
  app: some(oneOf('one', 'two')),
  origin: some(oneOf('https://app.test', 'https://evil.test')),
  asks: some(oneOf('GET')),
});

function textOf(r: typeof request extends fc.Arbitrary<infer T> ? T : never): string {
  const lines = [
    ['host', r.host],
    ['authorization', r.token === undefined ? undefined : `Bearer ${tokens[r.token] ?? ''}`],
    ['x-key', r.key],
    ['x-env', r.env],
    ['x-app', r.app],
    ['origin', r.origin],
    ['access-control-request-method', r.asks],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [`${r.method} ${r.path}${r.query} HTTP/1.1`, ...lines, '', ''].join('\r\n');
}

const app = createServer((incoming, answer) => {
  incoming.resume();
  answer.end('served');
});
const records: AccessRecord[] = [];
const log: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, child: () => log };
const keySets = createKeySets({ log });
const absent = (): never => {
  throw new Error('no route has an MCP backend');
};
const plane = new DataPlane({
  log,
  metrics: createMetrics({ process: false }),
  policyTools: { log, keySets, now: Date.now, tokens: new LocalTokens(Date.now) },
  mcp: { backend: absent, retire: () => {}, ownerElsewhere: absent, isMovable: absent },
  openAccessLog: () => ({ write: (record) => void records.push(record), close: () => {} }),
});

before(async () => {
  app.listen(0, '127.0.0.1');
  await once(app, 'listening');
});
after(() => {
  plane.close();
  keySets.close();
  app.closeAllConnections();
  app.close();
});

function modelOf(routes: readonly RouteChoice[]): Model {
  const { port } = app.address() as AddressInfo;
  const written = routes.map((one, index) => {
    const answers = one.policies.requestRedirect !== undefined || one.policies.directResponse !== undefined;
    return {
      name: `route${index}`,
      ...(one.hostnames === undefined ? {} : { hostnames: one.hostnames }),
      matches: one.matches,
      policies: one.policies,
      ...(answers || (!one.backend && index % 3 === 2) ? {} : { backends: [{ host: `127.0.0.1:${port}` }] }),
    };
  });
  const result = loadText(
    JSON.stringify({
      config: { logging: { accessLog: 'json' } },
      binds: [{ port: 0, listeners: [{ routes: written }] }],
    }),
    { file: 'test', env: {} },
  );
  if (!result.ok) assert.fail(result.problems.map(({ path: at, message }) => `${at}: ${message}`).join('\n'));
  return result.model;
}

/** The parts of the record of a request on which both must agree. */
const served = (record: AccessRecord) => ({
  status: record.status,
  route: record.route,
  error: record.error,
  policy: record.decidedBy?.policy,
  rule: record.decidedBy?.rule,
  place: record.decidedBy?.place,
});

/** The same of a decision. The backend answers 200. */
const explained = ({ route: name, outcome }: Decision) => ({
  status: outcome.kind === 'forwarded' ? 200 : outcome.status,
  route: name,
  error: outcome.error,
  policy: outcome.policy,
  rule: outcome.rule,
  place: outcome.place,
});

test('the explanation of a request agrees with the data plane on status, route, policy and rule', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(route, { minLength: 1, maxLength: 5 }),
      fc.array(request, { minLength: requestsEach, maxLength: requestsEach }),
      async (routes, requests) => {
        const model = modelOf(routes);
        await plane.apply(model);
        const client = await RawClient.connect(plane.binds[0]?.port ?? 0);
        try {
          for (const one of requests) {
            const text = textOf(one);
            records.length = 0;
            const answer = await client.ask(text);
            const [record] = records;
            assert.ok(record !== undefined);
            assert.ok(answer.start.startsWith(`HTTP/1.1 ${record.status} `));
            assert.deepEqual(explained(await plane.explain({ request: text })), served(record));
            assert.deepEqual(explained(await explainOffline(model, { request: text }, log)), served(record));
            assert.equal(records.length, 1, 'an explained request is not logged');
            const what = record.decidedBy?.policy ?? record.error ?? 'forwarded';
            seen.set(what, (seen.get(what) ?? 0) + 1);
          }
        } finally {
          client.close();
        }
      },
    ),
    { numRuns: configurations, seed: 12 },
  );
  for (const what of [
    'forwarded',
    'route_not_found',
    'jwtAuth',
    'apiKey',
    'authorization',
    'cors',
    'requestRedirect',
    'directResponse',
  ])
    assert.ok((seen.get(what) ?? 0) > 0, `${what} decided ${seen.get(what) ?? 0} requests`);
});
