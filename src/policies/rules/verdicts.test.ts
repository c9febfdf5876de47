import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { McpItem } from '../../mcp/contract.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { mcpAuthorization } from '../mcpAuthorization/index.ts';
import { allowsItem, prepared } from '../tools.testing.ts';
import { mostVerdictBytes, Verdicts, verdictBytes } from './verdicts.ts';

const refused = { policy: 'mcpAuthorization', rule: 'test rule' };

const named = (name: string): McpItem => ({ kind: 'tool', target: 't', name });

test('answers of all tokens together are bounded in bytes', () => {
  const allows = allowsItem(prepared(mcpAuthorization, { rules: ['mcp.tool.name.endsWith("yes")'] }));
  const padding = 'x'.repeat(990);
  let most = 0;
  // 40 tokens of one subject, 1 000 names of a kilobyte each: 80 MB of names.
  for (let token = 0; token < 40; token += 1) {
    const identity = { issuer: 'i', subject: 's', claims: { jti: String(token) } };
    const exchange = (): FakeExchange => new FakeExchange({ identity });
    for (let i = 0; i < 1000; i += 1) {
      assert.equal(allows(exchange(), named(`${padding}${i}yes`)), true);
      assert.equal(allows(exchange(), named(`${padding}${i}no`)), false);
      most = Math.max(most, verdictBytes());
    }
  }
  assert.ok(most > mostVerdictBytes / 2 && most <= mostVerdictBytes, `${most}`);
});

test('the oldest cached verdicts are evicted and computed again', () => {
  const first = new Verdicts();
  first.add('a', 'allowed');
  const others: Verdicts[] = [];
  for (let i = 0; first.get('a') !== undefined; i += 1) {
    const other = new Verdicts();
    other.add(`${'x'.repeat(1000)}${i}`, refused);
    others.push(other);
    assert.ok(verdictBytes() <= mostVerdictBytes);
  }
  assert.equal(others.at(-1)?.get(`${'x'.repeat(1000)}${others.length - 1}`), refused);
  first.add('a', refused);
  assert.equal(first.get('a'), refused);
});

test('a caller alone may fill the whole memory and no more', () => {
  const one = new Verdicts();
  for (let i = 0; i < 20_000; i += 1) one.add(`${'x'.repeat(1000)}${i}`, 'allowed');
  assert.ok(verdictBytes() <= mostVerdictBytes);
});
