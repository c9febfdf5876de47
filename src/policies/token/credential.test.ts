import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeKey, makeToken } from '../../auth/token.testing.ts';
import { GatewayError, type DecidedBy } from '../../errors.ts';
import type { HeaderLine } from '../../http/index.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { refusedRequestHeaders } from '../headerModifier/facts.ts';
import { credentialReader, tokenReader } from './credential.ts';

const token = makeToken('ES256', makeKey('P-256', 'k1'));

/** The request to the backend after the policy took out the text in `x-proof`, or the refusal. */
function forwarded(
  text: string,
  others: readonly HeaderLine[],
  target = '/',
): { readonly lines: readonly HeaderLine[]; readonly target: string } | GatewayError {
  const reader = tokenReader({ kind: 'expression', expression: 'request.headers["x-proof"]' }, 'jwtAuth');
  const exchange = new FakeExchange({ target, headers: [['x-proof', text], ...others] });
  const found = reader.read(exchange);
  assert.equal(found, text);
  try {
    reader.strip(exchange, found);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error;
  }
  return {
    lines: exchange.requestHeaders.apply(exchange.request.headerLines()),
    target: exchange.forwardTarget,
  };
}

test('a token that an expression finds leaves every header and parameter that holds it', () => {
  const others: HeaderLine[] = [
    ['x-copy', `proof=${token}`],
    ['cookie', `proof=${token}`],
    ['proxy-authorization', `Bearer ${token}`],
    ['x-other', '1'],
  ];
  assert.deepEqual(forwarded(token, others, `/a?t=${token}&b=1`), {
    lines: [['x-other', '1']],
    target: '/a?b=1',
  });
});

test('a token in a cookie leaves with its cookie only, and a text of several cookies with all of them', () => {
  const cookies = `theme=dark; proof=${token}; session=abc`;
  assert.deepEqual(forwarded(token, [['cookie', cookies]]), {
    lines: [['cookie', 'theme=dark; session=abc']],
    target: '/',
  });
  const takeCookies = (expression: string, value: string): readonly HeaderLine[] => {
    const reader = tokenReader({ kind: 'expression', expression }, 'subjectToken', 'any');
    const exchange = new FakeExchange({ headers: [['cookie', value]] });
    reader.strip(exchange, reader.read(exchange) ?? '');
    return exchange.requestHeaders.apply(exchange.request.headerLines());
  };
  for (const opaque of ['opaque-0123456789', 'opaque', '47'])
    for (const written of [`at=${opaque}`, `at="${opaque}"`, `at = ${opaque}`])
      assert.deepEqual(
        takeCookies(`"${opaque}"`, `theme=dark; ${written}; count=1470`),
        [['cookie', 'theme=dark; count=1470']],
        written,
      );
  assert.deepEqual(takeCookies('request.headers["cookie"]', 'a=1;b=2'), []);
  assert.deepEqual(takeCookies('request.headers["cookie"]', 'a=opaque-1;b=opaque-2'), []);
});

test('a cookie that another policy has removed does not come back with the other cookies', () => {
  const expression = 'request.headers["cookie"].split("at=")[1]';
  const reader = tokenReader({ kind: 'expression', expression }, 'subjectToken', 'any');
  const cookies = 'theme=dark; key=k; at=opaque-0123456789';
  const exchange = new FakeExchange({ headers: [['cookie', cookies]] });
  credentialReader({ kind: 'cookie', name: 'key' }).strip(exchange);
  reader.strip(exchange, reader.read(exchange) ?? '');
  assert.deepEqual(exchange.requestHeaders.apply(exchange.request.headerLines()), [['cookie', 'theme=dark']]);
});

test('a token in a field that frames the message or that others write refuses the request', () => {
  const ofProxies = 'for host proto port prefix server uri method scheme ssl client-cert other'.split(' ');
  const forwarding = ['forwarded', 'via', ...ofProxies.map((name) => `x-forwarded-${name}`)];
  for (const name of [...refusedRequestHeaders, ...forwarding, 'x-request-id', 'traceparent', 'origin']) {
    const refused = forwarded(token, [[name, `other, ${token}`]]);
    assert.ok(refused instanceof GatewayError, name);
    assert.equal(refused.code, 'token_misplaced');
    assert.equal(refused.detail, `the token is also in ${name}`);
  }
});

test('a token that a proxy passes on in a field of its own is taken out of that field', () => {
  for (const name of [
    'x-forwarded-access-token',
    'x-forwarded-user',
    'x-forwarded-email',
    'x-forwarded-groups',
    'x-forwarded-preferred-username',
    'x-auth-request-access-token',
  ])
    assert.deepEqual(forwarded(token, [[name, token]]), { lines: [], target: '/' }, name);
});

/** The text that counts as the credential, and the request to the backend where the policy then removes it. */
function readAndStripped(
  location: Parameters<typeof credentialReader>[0],
  headers: readonly HeaderLine[],
): readonly [string | undefined, readonly HeaderLine[]] {
  const reader = credentialReader(location);
  const exchange = new FakeExchange({ headers });
  const found = reader.read(exchange);
  if (found !== undefined) reader.strip(exchange);
  return [found, exchange.requestHeaders.apply(exchange.request.headerLines())];
}

test('a credential that only some servers find in a header counts as a malformed one', () => {
  const location = { kind: 'header', name: 'authorization', prefix: 'Bearer ' } as const;
  for (const lines of [
    ['Bearer\tforged'],
    ['bearer\xa0forged'],
    ['\x85Bearer forged'],
    ['x, \xe2\x80\x83Bearer forged'],
    ['x', 'Bearer forged'],
    ['x, bearer forged'],
    ['x,\tBearer\tforged'],
    ['Basic YTpi,Bearer forged'],
    ['x', 'Bearer'],
  ]) {
    const headers = lines.map((value): HeaderLine => ['authorization', value]);
    assert.deepEqual(readAndStripped(location, headers), ['', []], lines.join(' | '));
  }
  for (const value of [
    'Bearerx y',
    'Basic YTpi',
    'Digest realm="a bearer b", nc=1',
    'x bearer y',
    'x, bearer=y',
  ])
    assert.deepEqual(readAndStripped(location, [['authorization', value]]), [
      undefined,
      [['authorization', value]],
    ]);
  const unspaced = { kind: 'header', name: 'x-proof', prefix: 'token=' } as const;
  assert.deepEqual(readAndStripped(unspaced, [['x-proof', 'a, token=forged']]), ['', []]);
  assert.deepEqual(readAndStripped(unspaced, [['x-proof', 'token=good']]), ['good', []]);
});

test('a credential that only some servers find in a cookie counts as a malformed one', () => {
  const location = { kind: 'cookie', name: 'session' } as const;
  for (const text of ['a=b, session=forged', 'a=b session=forged', 'session\x85=forged'])
    assert.deepEqual(
      readAndStripped(location, [['cookie', `c=d; ${text}`]]),
      ['', [['cookie', 'c=d']]],
      text,
    );
  assert.deepEqual(readAndStripped(location, [['cookie', 'session=good; a=b, session=forged']]), [
    'good',
    [],
  ]);
  for (const text of ['xsession=1', 'a=session', 'SESSION=1', 'url=/?session=1'])
    assert.deepEqual(readAndStripped(location, [['cookie', text]]), [undefined, [['cookie', text]]]);
});

test('a text that is no token removes nothing, whatever fields contain it', () => {
  const encodedHead = (head: string): string => `${Buffer.from(head).toString('base64url')}.a.b`;
  for (const text of ['4', '47', 'chunked', '9.9.9.9', 'e30.evil.test', encodedHead('[]'), 'a.b']) {
    const others: HeaderLine[] = [
      ['content-length', text],
      ['x-forwarded-for', text],
      ['x-real-ip', text],
      ['origin', `https://${text}`],
      ['authorization', `Basic x${text}`],
    ];
    assert.deepEqual(
      forwarded(text, others, `/a?b=${text}`),
      { lines: [['x-proof', text], ...others], target: `/a?b=${text}` },
      text,
    );
  }
});

test('a text in the place of a token is taken out of Authorization, even where it is none', () => {
  for (const value of ['opaque', 'Bearer opaque'])
    assert.deepEqual(forwarded('opaque', [['authorization', value]]), {
      lines: [['x-proof', 'opaque']],
      target: '/',
    });
});

test('the token is taken out by the text that was judged, also where no work is left to find it again', () => {
  const reader = tokenReader({ kind: 'expression', expression: 'request.headers["x-proof"]' }, 'jwtAuth');
  const exchange = new FakeExchange({ headers: [['x-proof', token]] });
  const found = reader.read(exchange);
  exchange.workLeft = 0;
  reader.strip(exchange, found ?? '');
  assert.deepEqual(exchange.requestHeaders.apply(exchange.request.headerLines()), []);
});

test('the text of a token for logs is found without work left, and no failure is reported for it again', () => {
  const reported: string[] = [];
  class Reporting extends FakeExchange {
    expressionFailed(_by: DecidedBy, reason: string): void {
      reported.push(reason);
    }
  }
  const reader = tokenReader({ kind: 'expression', expression: 'request.headers["x-proof"]' }, 'jwtAuth');
  const without = new Reporting();
  assert.equal(reader.read(without), undefined);
  assert.deepEqual(reader.texts(without), []);
  assert.deepEqual(reported, ['field not found: x-proof']);
  const spent = new Reporting({ headers: [['x-proof', ` ${token} `]] });
  spent.workLeft = 0;
  assert.deepEqual(reader.texts(spent), [token]);
  assert.deepEqual([reported.length, spent.annotations], [1, {}]);
});

test('a text of any form that a server has taken leaves the fields that hold it, and none that others write', () => {
  const take = (text: string, others: readonly HeaderLine[], target = '/'): FakeExchange => {
    const location = { kind: 'expression', expression: 'request.headers["x-proof"]' } as const;
    const reader = tokenReader(location, 'subjectToken', 'any');
    const exchange = new FakeExchange({ target, headers: [['x-proof', text], ...others] });
    reader.strip(exchange, reader.read(exchange) ?? '');
    return exchange;
  };
  const left = (exchange: FakeExchange): readonly HeaderLine[] =>
    exchange.requestHeaders.apply(exchange.request.headerLines());
  const opaque = 'opaque-0123456789';
  assert.deepEqual(left(take(opaque, [['x-copy', `key=${opaque}`]])), []);
  assert.throws(() => take(opaque, [['x-forwarded-for', opaque]]), { code: 'token_misplaced' });
  const short = take(
    '47',
    [
      ['content-length', '47'],
      ['x-copy', 'Bearer 47'],
      ['x-named', 'token=47'],
      ['x-count', '1470'],
    ],
    '/a?t=47&b=1474',
  );
  assert.deepEqual(left(short), [
    ['content-length', '47'],
    ['x-count', '1470'],
  ]);
  assert.equal(short.forwardTarget, '/a?b=1474');
});
