/** The console in front of an MCP server whose messages have values of wrong types. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { builtConsole } from '../support/builtConsole.ts';
import { journey, openConsole } from './console.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { inline, node } from './stage.testing.ts';

before(() => void builtConsole());

const tools = [
  {
    name: 'odd',
    title: { x: 1 },
    description: { en: 'hello' },
    inputSchema: {
      type: 'object',
      required: true,
      properties: { a: null, b: { description: { en: 'word' } }, c: { enum: { x: 1 } } },
    },
  },
];
const content = [
  { type: 'text', text: { a: 1 } },
  { type: 'image', data: 5, mimeType: 'image/png' },
  null,
  'x',
];

/** Answers the requests of a session. */
const server = `
const results = ${JSON.stringify({ 'tools/list': { tools }, 'tools/call': { content } })};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const { protocolVersion } = params ?? {};
  const start = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } };
  const result = method === 'initialize' ? start : (results[method] ?? {});
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;

const yaml = `
binds:
- port: 0
  listeners:
  - name: public
    routes:
    - name: tools
      backends: [{ mcp: { targets: [{ name: odd, stdio: ${inline({ cmd: node, args: ['-e', server] })} }] } }]
`;

test('the playground shows tools and results of wrong types, and can call the tools', journey, async () => {
  await using gateway = await startGateway(yaml);
  await using console = await openConsole(gateway);
  const { page, open } = console;
  await open('Playground');
  await page.getByRole('button', { name: 'Open a session' }).click();
  await page.getByText('{"en":"hello"}').waitFor();
  await page.getByText('{"en":"word"}').waitFor();
  await page.getByRole('button', { name: 'Call odd' }).click();
  await page.getByRole('region', { name: 'Result' }).getByText('image/png').first().waitFor();
});

test('a page that cannot be shown says so, and the other pages stay', journey, async () => {
  await using gateway = await startGateway(yaml);
  await using console = await openConsole(gateway);
  const { page, open } = console;
  await page.route('**/api/v1/rules', (route) => route.fulfill({ json: { a: 1 } }));
  await open('Rules');
  await page.getByText('The console cannot show this page.').waitFor();
  await open('Playground');
  await page.getByRole('button', { name: 'Open a session' }).waitFor();
  assert.equal(await page.getByText('The console cannot show this page.').count(), 0);
});
