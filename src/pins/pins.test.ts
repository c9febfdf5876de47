import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { changesBetween, definitionOf, PinFolder, type ChangedItem, type PinnedItem } from './index.ts';

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-pins-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const item: PinnedItem = { backend: 'b', target: 'files', kind: 'tool', name: 'read' };

async function changedIn(folder: PinFolder): Promise<ChangedItem[]> {
  const items: ChangedItem[] = [];
  for await (const one of folder.changed()) items.push(one);
  return items;
}

test('a definition has the members that an agent reads, and no order or white space', () => {
  const one = '{"name":"x","description":"d","inputSchema":{"b":1,"a":[{"d":1,"c":2}]},"_meta":{"n":1}}';
  const other = '{ "inputSchema": {"a":[{"c":2,"d":1}],"b":1}, "description":"d", "icons":[], "name":"x" }';
  assert.equal(definitionOf('tool', one), definitionOf('tool', other));
  for (const text of [
    one.replace('"d"', '"e"'),
    one.replace('"b":1', '"b":2'),
    one.replace('{"name"', '{"annotations":{},"name"'),
  ])
    assert.notEqual(definitionOf('tool', text), definitionOf('tool', one));
  assert.notEqual(
    definitionOf('prompt', '{"name":"p","arguments":[1,2]}'),
    definitionOf('prompt', '{"name":"p","arguments":[2,1]}'),
  );
});

test('the first definition is remembered, another one is a change until it is approved', async (t) => {
  const path = folderOf(t);
  const folder = new PinFolder(path);
  assert.equal(await folder.check(item, '{"description":"a"}'), 'new');
  assert.equal(await folder.check(item, '{"description":"a"}'), 'same');
  assert.equal(await folder.check(item, '{"description":"b"}'), 'changed');
  const [change, ...others] = await changedIn(folder);
  assert.deepEqual(
    [change, others],
    [{ ...item, pinned: '{"description":"a"}', found: '{"description":"b"}', seenAt: change?.seenAt }, []],
  );
  // Another process, such as the command line.
  await new PinFolder(path).approve(change!);
  assert.equal(await folder.check(item, '{"description":"b"}'), 'same');
  assert.deepEqual(await changedIn(folder), []);
});

test('a change stays known when a server takes it back, until it is rejected', async (t) => {
  const path = folderOf(t);
  const folder = new PinFolder(path);
  await folder.check(item, '{"description":"a"}');
  await folder.check(item, '{"description":"b"}');
  assert.equal(await new PinFolder(path).check(item, '{"description":"a"}'), 'same');
  assert.equal((await changedIn(folder)).length, 1);
  await folder.reject(item);
  assert.deepEqual(await changedIn(folder), []);
  assert.equal(await folder.check(item, '{"description":"b"}'), 'changed');
});

test('of several processes, one pins the definition and all others compare with it', async (t) => {
  const path = folderOf(t);
  const verdicts = await Promise.all(
    Array.from({ length: 20 }, (_, i) => new PinFolder(path).check(item, `{"description":"${i % 2}"}`)),
  );
  assert.equal(verdicts.filter((verdict) => verdict === 'new').length, 1);
  assert.equal(verdicts.filter((verdict) => verdict === 'changed').length, 10);
  const [group = ''] = readdirSync(path);
  assert.equal(readdirSync(join(path, group)).length, 2);
  assert.equal(statSync(join(path, group)).mode & 0o777, 0o700);
});

test('items of two backends, targets and kinds are not mixed up', async (t) => {
  const folder = new PinFolder(folderOf(t));
  const others: PinnedItem[] = [
    item,
    { ...item, backend: 'c' },
    { ...item, target: 'other' },
    { ...item, kind: 'prompt' },
    { ...item, name: 'write' },
  ];
  for (const [i, one] of others.entries())
    assert.equal(await folder.check(one, `{"description":"${i}"}`), 'new');
});

test('the names of a target are those that were pinned for it', async (t) => {
  const path = folderOf(t);
  await new PinFolder(path).check(item, '"a"');
  const names = await new PinFolder(path).names(item);
  assert.deepEqual(
    [names.has('tool', 'read'), names.has('prompt', 'read'), names.has('tool', 'write')],
    [true, false, false],
  );
  assert.equal((await new PinFolder(path).names({ ...item, target: 'c' })).has('tool', 'read'), false);
});

test('a file that is no pin is an error and no permission', async (t) => {
  const path = folderOf(t);
  await new PinFolder(path).check(item, '{"description":"a"}');
  const [group = ''] = readdirSync(path);
  const [file = ''] = readdirSync(join(path, group));
  writeFileSync(join(path, group, file), '{');
  await assert.rejects(
    new PinFolder(path).check(item, '{"description":"a"}'),
    /no file of a pinned definition/,
  );
});

test('the changes between two definitions are told by the path of each value', () => {
  assert.deepEqual(
    changesBetween(
      '{"description":"a","inputSchema":{"properties":{"x":{"type":"string"}}}}',
      '{"description":"b","inputSchema":{"properties":{"x":{"type":"string"},"y":{}}}}',
    ),
    [
      { path: 'description', before: '"a"', after: '"b"' },
      { path: 'inputSchema.properties.y', before: undefined, after: '{}' },
    ],
  );
});

test('an approval is for the definition that was shown, not for one that has come since', async (t) => {
  const folder = new PinFolder(folderOf(t));
  for (const text of ['a', 'b']) await folder.check(item, text);
  const [shown] = await changedIn(folder);
  assert.equal(await folder.check(item, 'c'), 'changed');
  await folder.approve(shown!);
  assert.equal(await folder.check(item, 'c'), 'changed');
  assert.equal(await folder.check(item, 'b'), 'same');
});

test('an approval counts at once in a process that remembers the old definition', async (t) => {
  const path = folderOf(t);
  const [one, other] = [new PinFolder(path), new PinFolder(path)];
  for (const folder of [one, one, other, other]) await folder.check(item, 'old');
  assert.equal(await one.check(item, 'new'), 'changed');
  const before = await other.approvals();
  const [change] = await changedIn(one);
  await one.approve(change!);
  // The server may take its change back: nobody has approved that.
  for (const folder of [one, other]) {
    assert.equal(await folder.check(item, 'old'), 'changed');
    assert.equal(await folder.check(item, 'new'), 'same');
  }
  const after = await other.approvals();
  assert.notEqual(after, before);
  assert.equal(await one.approvals(), after);
  await one.reject(item);
  assert.deepEqual([await other.approvals(), await changedIn(one)], [after, []]);
});
