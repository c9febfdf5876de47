import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestRecords } from './requestFeed.ts';
import { RequestRing, ringLimits } from './requestRing.ts';

test('the ring keeps the newest records within its limits of number and bytes', () => {
  const many = new RequestRing();
  for (let nth = 0; nth < ringLimits.records + 5; nth++) many.add(String(nth));
  assert.equal(many.records.length, ringLimits.records);
  assert.equal(many.records[0], '5');
  const large = new RequestRing();
  const record = 'x'.repeat(1_000_000);
  for (let nth = 0; nth < 20; nth++) large.add(record);
  assert.equal(large.records.length, Math.floor(ringLimits.bytes / record.length));
});

test('processes are told to record all requests only while somebody follows', () => {
  const told: boolean[] = [];
  const records = new RequestRecords((watched) => void told.push(watched));
  records.add('{"path":"/a"}');
  const heard: string[] = [];
  const end = records.follow((json) => void heard.push(json), 'request.path == "/a"');
  const other = records.follow(() => undefined);
  records.add('{"path":"/b"}');
  records.add('{"path":"/a","status":200}');
  assert.deepEqual(heard, ['{"path":"/a"}', '{"path":"/a","status":200}']);
  end();
  assert.deepEqual(told, [true, true]);
  other();
  assert.deepEqual(told, [true, true, false]);
  records.add('{"path":"/a"}');
  assert.equal(heard.length, 2);
});

test('a filter that does not compile is refused', () => {
  const records = new RequestRecords(() => undefined);
  assert.throws(() => records.follow(() => undefined, 'request.secret'), /secret/);
  assert.equal(records.isWatched, false);
});
