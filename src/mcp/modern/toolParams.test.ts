import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEnvelope, type Envelope } from '../json/envelope.ts';
import { ToolParams } from './toolParams.ts';

const inputSchema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    place: { type: 'object', properties: { floor: { type: 'integer', 'x-mcp-header': 'Floor' } } },
    list: { type: 'array', items: { type: 'string' } },
  },
};
const params = new ToolParams();
params.learn(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'find', inputSchema }] } }));

const call = (args: object, name = 'find'): Envelope => {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
  const read = readEnvelope(JSON.stringify(message));
  assert.ok(typeof read !== 'string');
  return read;
};
const headers = (lines: Readonly<Record<string, string>>) => ({
  header: (name: string) => lines[name.toLowerCase()],
});

const cases: readonly [string, object, Readonly<Record<string, string>>, boolean][] = [
  ['equal values agree', { region: 'eu' }, { 'mcp-param-region': 'eu' }, true],
  ['base64 agrees with its text', { region: 'é' }, { 'mcp-param-region': '=?base64?w6k=?=' }, true],
  ['numbers agree by value', { place: { floor: 42 } }, { 'mcp-param-floor': '42.0' }, true],
  ['an absent argument needs no header', { list: ['x'] }, {}, true],
  ['a null argument needs no header', { region: null }, {}, true],
  ['another value is refused', { region: 'eu' }, { 'mcp-param-region': 'us' }, false],
  ['a missing header is refused', { region: 'eu' }, {}, false],
  ['a header without an argument is refused', {}, { 'mcp-param-region': 'eu' }, false],
  ['broken base64 is refused', { region: 'eu' }, { 'mcp-param-region': '=?base64?!?=' }, false],
  ['characters that are not visible are refused', { region: 'é' }, { 'mcp-param-region': 'é' }, false],
];

for (const [name, args, lines, agrees] of cases)
  test(`headers of parameters: ${name}`, () => {
    assert.equal(params.mismatch(headers(lines), call(args)) === undefined, agrees);
  });

test('a tool that the client has not listed is not judged', () => {
  assert.equal(params.mismatch(headers({}), call({ region: 'eu' }, 'other')), undefined);
});

test('a tool that a later list shows without parameters for headers is not judged any more', () => {
  const lists = new ToolParams();
  const learn = (schema: object): void =>
    lists.learn(
      JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'find', inputSchema: schema }] } }),
    );
  learn(inputSchema);
  assert.notEqual(lists.mismatch(headers({}), call({ region: 'eu' })), undefined);
  learn({ type: 'object' });
  assert.equal(lists.mismatch(headers({}), call({ region: 'eu' })), undefined);
});

test('a schema with lists within lists without end has no parameters for headers', () => {
  const deep = `${'['.repeat(50_000)}{"x-mcp-header":"A"}${']'.repeat(50_000)}`;
  const known = new ToolParams();
  known.learn(`{"result":{"tools":[{"name":"find","inputSchema":{"type":"object","allOf":${deep}}}]}}`);
  assert.equal(known.size, 0);
});

test('a list that is no JSON has no parameters for headers', () => {
  const known = new ToolParams();
  known.learn('{"result":{"tools":[{"name":"find","inputSchema":{"x-mcp-header":NaN}}]}}');
  assert.equal(known.size, 0);
});
