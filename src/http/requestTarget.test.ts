import assert from 'node:assert/strict';
import test from 'node:test';
import { readTarget, withoutParameters } from './requestTarget.ts';

const read = (text: string, method = 'GET'): unknown => {
  const target = readTarget(text, method);
  return target && [target.target, target.path, target.query, target.authority?.authority];
};

test('the origin form is split and normalised, its query left alone', () => {
  assert.deepEqual(read('/a/b'), ['/a/b', '/a/b', '', undefined]);
  assert.deepEqual(read('/a?b=c'), ['/a?b=c', '/a', 'b=c', undefined]);
  assert.deepEqual(read('/a?'), ['/a?', '/a', '', undefined]);
  assert.deepEqual(read('/a?b?c'), ['/a?b?c', '/a', 'b?c', undefined]);
  assert.deepEqual(read('/%61/../b?%61/../c'), ['/b?%61/../c', '/b', '%61/../c', undefined]);
  assert.deepEqual(read('//host/a'), ['//host/a', '//host/a', '', undefined]);
});

test('the absolute form names its own host', () => {
  assert.deepEqual(read('http://A.example:80/b?c'), ['/b?c', '/b', 'c', 'a.example:80']);
  assert.deepEqual(read('HTTPS://a'), ['/', '/', '', 'a']);
  assert.deepEqual(read('http://a?b'), ['/?b', '/', 'b', 'a']);
  assert.deepEqual(read('http://[::1]:8/'), ['/', '/', '', '[::1]:8']);
});

test('the asterisk form belongs to OPTIONS', () => {
  assert.deepEqual(read('*', 'OPTIONS'), ['*', '*', '', undefined]);
  assert.equal(read('*'), undefined);
});

test('other forms and malformed paths are refused', () => {
  for (const text of [
    'a',
    'example.com:80',
    'http:/a',
    'http:a',
    'http://',
    'http:///a',
    'http://user@a/',
    'http://a:99999/',
    'ftp://a/',
    'file:///etc/passwd',
    'http://a\\b/',
    '/../a',
    '/%zz',
    'http://a/../../b',
    '**',
    '?a',
  ]) {
    assert.equal(read(text), undefined, text);
  }
});

test('a target without some parameters keeps all others as they are written', () => {
  const isToken = (pair: string): boolean => pair.startsWith('t=');
  assert.equal(withoutParameters('/a?b=%20&t=1&&c?=2', isToken), '/a?b=%20&&c?=2');
  assert.equal(withoutParameters('/a?t=1&t=2', isToken), '/a');
  for (const same of ['/a', '*', '/a?b=1']) assert.equal(withoutParameters(same, isToken), same);
});
