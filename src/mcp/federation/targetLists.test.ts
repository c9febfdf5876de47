import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryLog } from '../../auth/log.testing.ts';
import { collect } from '../../oldObjects.testing.ts';
import { until } from '../../until.testing.ts';
import { stdioTarget } from '../harness.testing.ts';
import { listShape } from '../items/items.ts';
import { Naming } from '../items/naming.ts';
import { readEnvelope } from '../json/envelope.ts';
import type { TargetConnection } from '../targets/kind/target.ts';
import { readList, type ListedItem } from './targetLists.ts';

/** Counts the items that are read. */
class CountingNaming extends Naming {
  count = 0;

  override shown(...item: Parameters<Naming['shown']>): string {
    this.count++;
    return super.shown(...item);
  }
}

const namingOf = (): CountingNaming =>
  new CountingNaming({ targets: [stdioTarget({ name: 'big' })], prefixMode: 'conditional' });

/** Reads a list whose pages have so many items each. */
async function listOf(naming: Naming, ...counts: readonly number[]): Promise<readonly ListedItem[]> {
  let page = 0;
  const call: TargetConnection['call'] = (_out, waiter) => {
    const tools = Array.from({ length: counts[page]! }, () => '{"name":"x"}').join(',');
    const more = ++page < counts.length ? `,"nextCursor":"${page}"` : '';
    const response = readEnvelope(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools}]${more}}}`);
    assert.ok(typeof response === 'object');
    waiter.answered(response);
    return 1;
  };
  const connection = { call } as TargetConnection;
  const { log } = memoryLog();
  const reader = { target: 'big', connection, naming, limit: { ms: 1_000 }, by: {}, log };
  return await readList(reader, 'tools/list', listShape('tools/list')!);
}

test('a list has as many items as the limit allows, on one page or on several', async () => {
  assert.equal((await listOf(namingOf(), 20_000)).length, 20_000);
  assert.equal((await listOf(namingOf(), 15_000, 5_000)).length, 20_000);
  await assert.rejects(listOf(namingOf(), 15_000, 5_001), /a list that is too long/);
});

test('the items of a page over the limit are not read', async () => {
  const naming = namingOf();
  await assert.rejects(listOf(naming, 100_000), /a list that is too long/);
  assert.equal(naming.count, 20_000);
});

test('the name of an item does not keep the item', async () => {
  const names: unknown[] = [];
  const used = (): number => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const start = used();
  for (let i = 0; i < 50; i++) {
    const call: TargetConnection['call'] = (_out, waiter) => {
      const tool = { name: `a tool with a long name ${i}`, description: 'x'.repeat(2_000_000) };
      const message = { jsonrpc: '2.0', id: 1, result: { tools: [tool] } };
      const response = readEnvelope(Buffer.from(JSON.stringify(message)).toString());
      assert.ok(typeof response === 'object');
      waiter.answered(response);
      return 1;
    };
    const connection = { call } as TargetConnection;
    const { log } = memoryLog();
    const reader = { target: 'big', connection, naming: namingOf(), limit: { ms: 1_000 }, by: {}, log };
    const [item] = await readList(reader, 'tools/list', listShape('tools/list')!);
    names.push(item?.name);
  }
  await until('the 100 MB of the items are given back', () => used() - start < 20_000_000);
  assert.equal(names[7], 'a tool with a long name 7');
});
