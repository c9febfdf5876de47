import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeExchange, type FakeRequest } from '../exchange.testing.ts';
import { prepared } from '../tools.testing.ts';
import { csrf } from './index.ts';

type Headers = Readonly<Record<string, string>>;

/** @returns the code of the refusal; undefined where the request passes */
function refusal(headers: Headers, request: FakeRequest = {}, settings: object = {}): string | undefined {
  const exchange = new FakeExchange({
    method: 'POST',
    host: 'app.test',
    scheme: 'https',
    ...request,
    headers: Object.entries(headers),
  });
  try {
    assert.equal(prepared(csrf, settings).onRequest?.(exchange), undefined);
    return undefined;
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

const refused = 'cross_site';

test('a browser that names another site or origin is refused, and so are its values of tomorrow', () => {
  for (const site of ['cross-site', 'same-site', 'other', '', 'same-origin, same-origin'])
    assert.equal(refusal({ 'sec-fetch-site': site }), refused, site);
  for (const site of ['same-origin', 'none'])
    assert.equal(refusal({ 'sec-fetch-site': site }), undefined, site);
});

test('Sec-Fetch-Site decides where it stands, whatever Origin is', () => {
  assert.equal(refusal({ 'sec-fetch-site': 'cross-site', origin: 'https://app.test' }), refused);
  assert.equal(refusal({ 'sec-fetch-site': 'same-origin', origin: 'https://evil.test' }), undefined);
});

test('without Sec-Fetch-Site, Origin must have the host and the port of the request', () => {
  for (const origin of ['https://app.test', 'https://app.test:443', 'HTTPS://APP.TEST'])
    assert.equal(refusal({ origin }), undefined, origin);
  for (const origin of [
    'https://evil.test',
    'https://app.test.evil.test',
    'https://app.test:8443',
    'https://app.test, https://app.test',
    'null',
    '',
  ])
    assert.equal(refusal({ origin }), refused, origin);
  assert.equal(refusal({ origin: 'https://app.test:8443' }, { host: 'app.test:8443' }), undefined);
});

test('a page with http is another origin than an address with https, and not the reverse', () => {
  assert.equal(refusal({ origin: 'http://app.test' }), refused);
  for (const origin of ['http://app.test', 'https://app.test'])
    assert.equal(refusal({ origin }, { scheme: 'http' }), undefined, origin);
});

test('a program that sends neither header passes', () => {
  assert.equal(refusal({}), undefined);
});

test('methods that change nothing pass, and all others are judged', () => {
  const foreign = { 'sec-fetch-site': 'cross-site' };
  for (const method of ['GET', 'HEAD', 'OPTIONS'])
    assert.equal(refusal(foreign, { method }), undefined, method);
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'get', 'PROPFIND'])
    assert.equal(refusal(foreign, { method }), refused, method);
});

test('pages of additional origins pass', () => {
  const settings = {
    additionalOrigins: ['https://Admin.test', 'https://*.partner.test', 'http://localhost:*'],
  };
  for (const origin of ['https://admin.test', 'https://a.partner.test', 'http://localhost:5173'])
    for (const site of [{}, { 'sec-fetch-site': 'cross-site' }])
      assert.equal(refusal({ origin, ...site }, {}, settings), undefined, origin);
  for (const origin of ['http://admin.test', 'https://partner.test', 'null'])
    assert.equal(refusal({ origin }, {}, settings), refused, origin);
  assert.equal(refusal({ 'sec-fetch-site': 'cross-site' }, {}, settings), refused);
});

test('additional origins that a page of any site fits are refused', () => {
  const problems = (additionalOrigins: unknown): string[] =>
    (csrf.schema.safeParse({ additionalOrigins }).error?.issues ?? []).map(({ path }) => path.join('.'));
  for (const pattern of ['*', 'null', 'https://*', 'http://*:8080', 'app.test', 'https://app.test/'])
    assert.deepEqual(problems([pattern]), ['additionalOrigins.0'], pattern);
  assert.deepEqual(problems(['https://*.app.test']), []);
});
