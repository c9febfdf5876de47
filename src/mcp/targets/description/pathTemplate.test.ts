import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { leavesFolder, readTemplate, templatePieces } from './pathTemplate.ts';

test('a template is cut at its parameters, whatever stands between them', () => {
  assert.deepEqual(templatePieces('/a/{b}.{c}/d'), [
    { text: '/a/' },
    { parameter: 'b' },
    { text: '.' },
    { parameter: 'c' },
    { text: '/d' },
  ]);
  assert.deepEqual(readTemplate('/é/{c}'), { path: '/%C3%A9/{c}', names: ['c'] });
});

test('no encoded value that passes the check changes the folder of a URL', () => {
  const awkward = fc.constantFrom(
    '.',
    '..',
    '/',
    '\\',
    '%',
    '2e',
    '2F',
    '%2e',
    '%5c',
    ';',
    '?',
    '#',
    'a',
    'é',
  );
  fc.assert(
    fc.property(fc.array(awkward, { maxLength: 8 }), (pieces) => {
      const path = `/x/${encodeURIComponent(pieces.join(''))}/y`;
      if (leavesFolder(path)) return;
      // Readers that decode the path first, once or twice, and backslashes as slashes.
      let read = path;
      for (let round = 0; round < 3; round++) {
        const { pathname } = new URL(read.replaceAll(/[?#]/g, '_'), 'http://host');
        assert.ok(pathname.startsWith('/x/') && pathname.endsWith('/y'), `${path} is read as ${pathname}`);
        read = read.replaceAll(/%([0-7][0-9a-f])/gi, (_, hex: string) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        );
      }
    }),
    { numRuns: 2_000 },
  );
});
