import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cookiesOf, cookieValues, editCookies } from './cookies.ts';
import { HeaderEdits } from './edits.ts';
import type { HttpRequest } from './exchange.ts';

/** The Cookie line for the backend, after edits of other policies and of this one. */
function edited(sent: string | undefined, before: (edits: HeaderEdits) => void, added?: string): string[] {
  const edits = new HeaderEdits();
  before(edits);
  const request = { header: () => sent } as Pick<HttpRequest, 'header'> as HttpRequest;
  editCookies(request, edits, (name) => name === 'sid', added);
  const lines = sent === undefined ? [] : [['cookie', sent] as const];
  return edits.apply(lines).map(([, value]) => value);
}
const nothing = (): void => undefined;

test('only a semicolon parts cookies, and blanks around names and values do not count', () => {
  assert.deepEqual(cookiesOf('a={"x":1,"y":2}; sid =1;;b; c=d=e'), [
    ['a', '{"x":1,"y":2}'],
    ['sid', '1'],
    ['c', 'd=e'],
  ]);
  assert.deepEqual(cookieValues('sid=1; xsid=2; sid = 3', 'sid'), ['1', '3']);
  assert.deepEqual(cookieValues(undefined, 'sid'), []);
});

test('a cookie is removed in every spelling that a server may read as its name', () => {
  for (const own of [
    'sid=1',
    'sid =1',
    'sid\t= 1',
    'x=1, sid=2',
    'x=1 sid=2',
    'sid\xc2\xa0=1',
    '\xc2\x85sid=1',
  ])
    assert.deepEqual(edited(`a=1; ${own}; b=2`, nothing), ['a=1; b=2'], own);
  for (const other of ['SID=1', 'xsid=1', 'sid-2=1', 'sid', 'a=sid', 'url=/?sid=1', 'a;b=x , y'])
    assert.deepEqual(edited(other, nothing), [other], other);
});

test('edits of other policies stay: removed cookies do not come back, and added cookies are kept', () => {
  assert.deepEqual(
    edited('tok=secret; a=1', (edits) => edits.set('cookie', 'a=1'), 'sid=ours'),
    ['a=1; sid=ours'],
  );
  assert.deepEqual(
    edited('tok=secret', (edits) => edits.remove('cookie'), 'sid=ours'),
    ['sid=ours'],
  );
  assert.deepEqual(
    edited('a=1; sid=2', (edits) => edits.add('cookie', 'b=3')),
    ['a=1; b=3'],
  );
});

test('a header of many blanks and names is read in time that grows with its length only', () => {
  const began = process.cpuUsage().user;
  edited(`${'a '.repeat(30_000)}; ${' '.repeat(60_000)}=; ${'b'.repeat(60_000)}`, nothing, 'sid=ours');
  assert.ok(process.cpuUsage().user - began < 1_000_000);
});
