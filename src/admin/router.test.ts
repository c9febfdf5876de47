import assert from 'node:assert/strict';
import { test } from 'node:test';
import { text, type Page } from './page.ts';
import { routerOf } from './router.ts';

const page = (method: Page['method'], path: string): Page => ({
  method,
  path,
  about: '',
  access: 'public',
  answer: () => text(200, ''),
});

const find = routerOf([
  page('GET', '/'),
  page('GET', '/a.b/{label}'),
  page('DELETE', '/a.b/{label}'),
  page('GET', '/a.b/{label}/more'),
  page('GET', '/files/{rest*}'),
]);

const found = (method: string, path: string): unknown => {
  const result = find(method, path);
  if (result === undefined || 'allow' in result) return result?.allow;
  return [result.page.path, result.parameters];
};

test('parameters are one segment, decoded, and literal segments are literal', () => {
  assert.deepEqual(found('GET', '/a.b/x%2Fy%20z'), ['/a.b/{label}', { label: 'x/y z' }]);
  assert.deepEqual(found('DELETE', '/a.b/x'), ['/a.b/{label}', { label: 'x' }]);
  assert.deepEqual(found('GET', '/a.b/x/more'), ['/a.b/{label}/more', { label: 'x' }]);
  assert.deepEqual(found('HEAD', '/'), ['/', {}]);
  assert.deepEqual(found('GET', '/files/a/b.js'), ['/files/{rest*}', { rest: 'a/b.js' }]);
  for (const path of ['/aXb/x', '/a.b/', '/a.b/x/y', '/a.b/%zz', '/other', ''])
    assert.equal(found('GET', path), undefined, path);
});

test('another method gets the methods of the path', () => {
  assert.equal(found('POST', '/a.b/x'), 'GET, HEAD, DELETE');
});
