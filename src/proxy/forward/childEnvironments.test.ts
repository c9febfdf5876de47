import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../errors.ts';
import type { ChildEnvironment } from '../../mcp/index.ts';
import type { InjectedValue, McpBackend, StdioTarget } from '../../model/index.ts';
import { FakeExchange, type FakeRequest } from '../../policies/exchange.testing.ts';
import { compileEnvironments } from './childEnvironments.ts';

const place = { file: 'test', line: 1, column: 1, path: 'backends[0]' };

const backendWith = (injected: StdioTarget['injected']): McpBackend => ({
  kind: 'mcp',
  weight: 1,
  key: 'k',
  place,
  targets: [
    {
      kind: 'stdio',
      name: 'own',
      cmd: 'own',
      args: [],
      env: {},
      clearEnv: false,
      startTimeoutMs: 1_000,
      ...(injected && { injected }),
    },
  ],
  prefixMode: 'conditional',
  dnsRebindingProtection: false,
});

const token: InjectedValue = { kind: 'header', header: 'x-token' };
const who: InjectedValue = { kind: 'claim', claim: 'who' };

function read(
  injected: Readonly<Record<string, InjectedValue>>,
  headers: FakeRequest['headers'] = [],
  claims: Readonly<Record<string, unknown>> = {},
): ChildEnvironment {
  const exchange = new FakeExchange({ headers });
  exchange.identity = { issuer: 'i', subject: 's', claims };
  const found = compileEnvironments(backendWith(injected), () => [])?.(exchange);
  assert.ok(found !== undefined && !(found instanceof Promise));
  const environment = found.environment?.('own');
  assert.ok(environment !== undefined);
  return environment;
}

test('a backend without values of callers needs nothing for its requests', () => {
  assert.equal(
    compileEnvironments(backendWith(undefined), () => []),
    undefined,
  );
});

test('values are claims and headers of the caller, as text', () => {
  const headers: FakeRequest['headers'] = [['X-Token', 'secret']];
  assert.deepEqual(read({ A: token, B: who }, headers, { who: 7 }).values, { A: 'secret', B: '7' });
});

test('a header in UTF-8 is that text, and bytes that are no UTF-8 are latin1', () => {
  const value = (bytes: Buffer): unknown =>
    read({ A: token }, [['x-token', bytes.toString('latin1')]]).values['A'];
  assert.equal(value(Buffer.from('pässword €')), 'pässword €');
  assert.equal(value(Buffer.from('pässword', 'latin1')), 'pässword');
});

test('the digest tells values apart and does not contain them', () => {
  const one = read({ A: token }, [['x-token', 'value-one']]);
  const other = read({ A: token }, [['x-token', 'value-two']]);
  assert.notEqual(one.digest, other.digest);
  assert.equal(one.digest, read({ A: token }, [['x-token', 'value-one']]).digest);
  assert.doesNotMatch(one.digest, /value/);
});

test('the end of the values is that of the first JSON Web Token among them', () => {
  const jwt = (exp: number): string =>
    `e30.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.sig`;
  const values = read({ A: token, B: who }, [['x-token', jwt(2_000)]], { who: jwt(1_000) });
  assert.equal(values.expiresAt, 1_000_000);
  assert.equal(read({ A: token }, [['x-token', 'opaque']]).expiresAt, undefined);
});

for (const [what, injected, claims, reason, code = 'mcp_caller_value_denied'] of [
  [
    'a header',
    { TOKEN: token },
    {},
    /TOKEN: the request has no header x-token: target "own"/,
    'mcp_caller_header_missing',
  ],
  ['a claim', { TOKEN: who }, {}, /TOKEN: the token of the caller has no text in the claim who/],
  ['a text in a claim', { TOKEN: who }, { who: ['secret'] }, /no text in the claim who/],
  ['its own claim', { TOKEN: { kind: 'claim', claim: 'toString' } }, {}, /no text in the claim toString/],
  ['a value without NUL', { TOKEN: who }, { who: 'sec\0ret' }, /TOKEN: the value is too long, or has a NUL/],
] as const)
  test(`a caller without ${what} gets an error that names the variable and no value`, () => {
    assert.throws(
      () => read(injected, [], claims),
      (error: unknown) => {
        assert.ok(error instanceof GatewayError);
        assert.equal(error.code, code);
        assert.deepEqual(error.by, {
          rule: 'env TOKEN',
          place: 'backends[0].mcp.targets[0].stdio.env.TOKEN',
        });
        assert.match(error.message, reason);
        assert.doesNotMatch(error.message, /sec/);
        return true;
      },
    );
  });
