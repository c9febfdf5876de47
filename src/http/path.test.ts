import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { normalizePath, otherReadings } from './path.ts';

test('spellings of one path become one path', () => {
  for (const [written, normal] of [
    ['/', '/'],
    ['/a/b', '/a/b'],
    ['/a/', '/a/'],
    ['/%61%62', '/ab'],
    ['/%7e%2D%5f', '/~-_'],
    ['/a%2fb', '/a%2Fb'],
    ['/a%2Fb', '/a%2Fb'],
    ['/%c3%a9', '/%C3%A9'],
    ['/%25', '/%25'],
    ['/%2541', '/%2541'],
    ['/a/./b', '/a/b'],
    ['/a/../b', '/b'],
    ['/a/b/..', '/a/'],
    ['/a/b/.', '/a/b/'],
    ['/.', '/'],
    ['/a/%2e%2E/b', '/b'],
    ['/a/.%2e/b', '/b'],
    ['/a/%2e/b', '/a/b'],
    ['//a//b', '//a//b'],
    ['/a/..//b', '//b'],
    ['/.well-known/x', '/.well-known/x'],
    ['/a/...', '/a/...'],
    ['/a/..b', '/a/..b'],
    ['/a;x=1/b', '/a;x=1/b'],
  ] as const) {
    assert.equal(normalizePath(written), normal, written);
  }
});

test('a path that climbs, is malformed or hides something is refused', () => {
  for (const path of [
    '/..',
    '/../a',
    '/a/../..',
    '/%2e%2e/a',
    '/a/%2e%2e/%2e%2e/b',
    '/%',
    '/%4',
    '/%4g',
    '/%%41',
    '/%zz',
    '/%00',
    '/a%0d%0ab',
    '/%7F',
    '/a\\b',
    '/a%5cb',
    '/a/..\\b',
    '/a/..;/b',
    '/a/.;x/b',
    '/a/..%3bx/b',
    '/a/%2e%2e;/b',
    '/a/..%2fb',
    '/a/%2e%2e%2fb',
    '/a%2f../b',
    '/a%2f..',
    '/a%2f.%2fb',
    '/a/.%2fb',
  ]) {
    assert.equal(normalizePath(path), undefined, path);
  }
});

const piece = fc.constantFrom(
  ...[
    '/',
    '.',
    '..',
    '%2e',
    '%2E',
    '%2f',
    '%2F',
    '%5c',
    '%25',
    '%41',
    '%zz',
    '%',
    ';',
    '%3b',
    'a',
    'b',
    '~',
    '//',
  ],
);

test('a normalized path stays below the root for every reader', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const normal = normalizePath(`/${pieces.join('')}`);
      if (normal === undefined) return;
      assert.equal(normalizePath(normal), normal);
      assert.equal(normal.startsWith('/'), true);
      // The readers we know of: slashes decoded, parameters cut, both.
      for (const read of [normal, normal.replaceAll('%2F', '/'), normal.replaceAll(/(;|%3B)[^/]*/g, '')]) {
        assert.equal(
          read.split('/').some((segment) => segment === '.' || segment === '..'),
          false,
          normal,
        );
      }
    }),
    { numRuns: 3_000 },
  );
});

test('a path that all read alike has no other reading', () => {
  for (const path of ['/', '/a/b', '/a%20b', '/%C3%A9', '/a.b', '/%2541', '*'])
    assert.deepEqual(otherReadings(path), [], path);
});

test('every reading that a backend may make is found', () => {
  for (const [path, ...readings] of [
    ['//admin', '/admin'],
    ['/a//b', '/a/b'],
    ['/%2Fadmin', '//admin', '/admin'],
    ['/admin%2Fx', '/admin/x'],
    ['/;/admin', '//admin', '/admin'],
    ['/;x=1%2Fadmin', '/;x=1/admin', '/', '//admin', '/admin'],
    ['/admin;x=1', '/admin'],
    ['/a;b/admin;c/x', '/a/admin/x'],
    ['/a%3Bb/x', '/a/x'],
    ['/repos/group%2Fproject', '/repos/group/project'],
  ] as const) {
    const found = otherReadings(path) ?? [];
    for (const reading of readings) assert.ok(found.includes(reading), `${path}: ${found.join(' ')}`);
    assert.ok(!found.includes(path));
    assert.ok(found.length <= 11);
  }
});

test('readings of a long path are found in linear work and are few', () => {
  const path = '/;%2F'.repeat(10_000);
  assert.ok((otherReadings(path) ?? []).length <= 11);
});
