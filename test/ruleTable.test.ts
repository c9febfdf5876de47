/** The tables of docs/mcp/authorization.md: the real rules and limits judge the example of each row. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { GatewayError } from '../src/errors.ts';
import type { ItemCall, McpItem } from '../src/mcp/contract.ts';
import { unknownItemError } from '../src/mcp/items/itemFilters.ts';
import { refusalError } from '../src/mcp/items/itemRefusal.ts';
import { readPlain } from '../src/mcp/json/plainValue.ts';
import { policyTable, type Steps } from '../src/policies/index.ts';
import { decisionsOf } from '../src/policies/facts.ts';
import { FakeExchange } from '../src/policies/exchange.testing.ts';
import { prepared } from '../src/policies/tools.testing.ts';

const page = readFileSync(new URL('../docs/mcp/authorization.md', import.meta.url), 'utf8');

/** The rows of the table whose first column has this heading, without the heading. */
function rowsOf(heading: string): string[][] {
  const lines = page.split('\n');
  const first = lines.findIndex((line) => line.startsWith(`| ${heading} `));
  assert.ok(first >= 0, `there is no table of ${heading}`);
  const rows = lines.slice(first + 2);
  return rows.slice(0, rows.indexOf('')).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}

const codesIn = (cell = ''): string[] => Array.from(cell.matchAll(/`([^`]*)`/g), ([, code = '']) => code);

/** An example of a cell, such as `tool: echo, jwt: {sub: alice}`. */
interface Example extends Partial<Record<McpItem['kind'], string>> {
  readonly target?: string;
  readonly arguments?: object;
  readonly method?: string;
  readonly session?: string;
  readonly task?: string;
  readonly jwt?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  readonly source?: string;
}

const usualMethods = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' };

function stage(cell: string): {
  readonly exchange: FakeExchange;
  readonly item: McpItem;
  readonly call: ItemCall;
} {
  const [code = ''] = codesIn(cell);
  const example = parse(`{${code}}`) as Example;
  const kind = (['tool', 'prompt', 'resource'] as const).find((one) => example[one] !== undefined);
  assert.ok(kind !== undefined, `${code} names no item`);
  const {
    target = 'files',
    method = usualMethods[kind],
    task,
    jwt,
    source: remoteAddress,
    headers,
  } = example;
  const text = JSON.stringify(example.arguments ?? {});
  return {
    exchange: new FakeExchange({
      ...(jwt && { identity: { issuer: 'i', subject: String(jwt['sub'] ?? ''), claims: jwt } }),
      ...(headers && { headers: Object.entries(headers) }),
      ...(remoteAddress && { remoteAddress }),
    }),
    item: { kind, target, name: example[kind] ?? '' },
    call: {
      method,
      sessionId: example.session,
      ...(task && { task: { name: task, target } }),
      ...(method === 'tools/call' && {
        readArguments: (reading) => readPlain(text, { start: 0, end: text.length }, reading),
      }),
    },
  };
}

/** The fate of a request with a call, in the words of the table; undefined where the rules permit it. */
async function fate(steps: Steps, cell: string): Promise<string | undefined> {
  const { exchange, item, call } = stage(cell);
  try {
    await steps.onRequest?.(exchange);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    if (error.code === 'scope_missing') return 'gets 403 with the scopes for every request';
    assert.equal(error.code, 'authorization_denied');
    return 'gets 403 for every request';
  }
  const refusal = steps.refuseMcpItem?.(exchange, item, call);
  if (refusal === undefined) return undefined;
  const sees =
    steps.refuseMcpItem?.(exchange, item) === undefined ? 'sees the item' : 'does not see the item';
  const hidden = unknownItemError({ kind: item.kind, name: item.name });
  const { code, message } = refusalError(hidden, refusal);
  if (code === 'mcp_scope_missing') return `${sees}, and gets 403 with the scopes`;
  if (code !== 'mcp_item_refused') return `${sees}, and gets the answer for an unknown one`;
  assert.equal(message, refusal.message);
  return `${sees}, and gets the message with the code 403`;
}

const preparedPolicy = (name: string, settings: unknown): Steps => {
  const policy = policyTable.get(name);
  assert.ok(policy !== undefined, `there is no policy ${name}`);
  return prepared(policy, settings);
};

const rules = rowsOf('rule');

for (const [written = '', decides = '', permits = '', refuses = '', outcome] of rules)
  test(`rule ${written} decides ${decides}`, async () => {
    const { refusal, ...rule } = Object.assign(
      {},
      ...codesIn(written).map((code) => parse(code) as object),
    ) as {
      refusal?: string;
    };
    const settings = { rules: [rule], ...(refusal && { refusal }) };
    const schema = policyTable.get('mcpAuthorization')?.schema;
    const place = { file: 'page', line: 1, column: 1, path: 'policies' };
    const [decision] = decisionsOf({ name: 'mcpAuthorization', settings: schema?.parse(settings), place });
    assert.equal(decision?.decides ?? 'whole requests', decides);
    const steps = preparedPolicy('mcpAuthorization', settings);
    assert.equal(await fate(steps, permits), undefined, permits);
    assert.equal(await fate(steps, refuses), outcome, refuses);
  });

test('the table has a rule about each variable of items and calls, of each effect and each outcome', () => {
  const text = rules.flat().join('\n');
  for (const part of [
    ...[
      'allow: ',
      'deny: ',
      'require: ',
      '`requireScopes: ',
      'if: ',
      'refusal: hidden',
      'refusal: explained',
    ],
    ...['mcp.tool.name', 'mcp.tool.target', 'mcp.tool.arguments', 'mcp.prompt.name', 'mcp.resource.name'],
    ...['mcp.methodName', 'mcp.sessionId', 'mcp.task', 'jwt.', 'request.headers', 'source.address'],
  ])
    assert.ok(text.includes(part), part);
  for (const decides of ['lists and calls', 'calls', 'whole requests'])
    assert.ok(
      rules.some(([, cell]) => cell === decides),
      decides,
    );
});

/** Is the second of two uses at a time refused, or the time of a use limited? */
async function isLimited(steps: Steps, cell: string): Promise<boolean> {
  const { exchange, item, call } = stage(cell);
  if (steps.mcpCallTime !== undefined) return steps.mcpCallTime(exchange, item, call) !== undefined;
  const use = async (): Promise<boolean> => {
    try {
      await steps.countMcpCall?.(exchange, item, call);
      return true;
    } catch (error) {
      assert.ok(error instanceof GatewayError);
      return false;
    }
  };
  assert.equal(await use(), true);
  return !(await use());
}

for (const [written = '', limited = '', ignored = ''] of rowsOf('setting'))
  test(`the limit ${written} counts or limits the uses that it names`, async () => {
    const [code = ''] = codesIn(written);
    const [[name, settings] = ['', undefined]] = Object.entries(parse(code) as object);
    assert.equal(await isLimited(preparedPolicy(name, settings), limited), true, limited);
    assert.equal(await isLimited(preparedPolicy(name, settings), ignored), false, ignored);
  });
