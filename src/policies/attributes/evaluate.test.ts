import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile, isProblem } from '../../cel/index.ts';
import type { DecidedBy } from '../../errors.ts';
import { FakeExchange } from '../exchange.testing.ts';
import { itemAttributes } from './declared.ts';
import { evaluate } from './evaluate.ts';

class LoggedExchange extends FakeExchange {
  readonly reasons: string[] = [];

  expressionFailed(_by: DecidedBy, reason: string): void {
    this.reasons.push(reason);
  }
}

/** The reasons that are logged where a rule is asked about a prompt. */
function reasonsOf(rule: string): readonly string[] {
  const program = compile(rule, itemAttributes);
  assert.ok(!isProblem(program), rule);
  const exchange = new LoggedExchange({});
  const context = { mcp: { prompt: { name: 'greet', target: 'files' } }, jwt: {} };
  evaluate(program, context, exchange, 'mcpAuthorization');
  return exchange.reasons;
}

test('a rule about tools is no failure where the item is a prompt', () => {
  assert.deepEqual(reasonsOf('mcp.tool.name == "echo"'), []);
  assert.deepEqual(reasonsOf('mcp.resource.name.startsWith("file:")'), []);
});

test('a rule that reads what the caller lacks is a failure, whatever the item is', () => {
  assert.equal(reasonsOf('jwt.team == "a" && mcp.prompt.name == "greet"').length, 1);
  assert.equal(reasonsOf('jwt.tool == "a"').length, 1);
});
