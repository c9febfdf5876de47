/** The console when something is wrong: servers that cannot start, refused edits, and a gateway that does not answer. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { builtConsole } from '../support/builtConsole.ts';
import { browserPath, openConsole, savedAndUsed, write } from './console.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { openSession } from './session.testing.ts';
import { inline, node, rogue } from './stage.testing.ts';

before(() => void builtConsole());

const journey = {
  skip: browserPath === undefined ? 'chromium is not installed' : false,
  timeout: 240_000,
} as const;

const folder = mkdtempSync(join(tmpdir(), 'portcullis-console-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const yaml = `# The comment of an operator.
config:
  storage: { mode: file }
  audit: { sink: { file: { path: ${join(folder, 'audit.jsonl')} } } }
binds:
- port: 0
  listeners:
  - name: public
    routes:
    - name: tools
      matches: [{ path: { pathPrefix: /mcp } }]
      policies:
        apiKey: { mode: optional, location: { header: { name: x-api-key } }, keys: [{ key: a-key-of-sixteen }] }
        mcpAuthorization: { rules: [{ name: no echo, deny: mcp.tool.name == "hello" }] }
      backends: [{ mcp: { targets: [{ name: rogue, stdio: ${inline({ cmd: node, args: [rogue] })} }] } }]
    - name: broken
      matches: [{ path: { pathPrefix: /broken } }]
      backends: [{ mcp: { targets: [{ name: absent, stdio: { cmd: /nope/x } }] } }]
`;

test(
  'a server that cannot start is failed, and the audit tab names calls, users and rules',
  journey,
  async () => {
    await using gateway = await startGateway(yaml);
    await using console = await openConsole(gateway);
    const { page, open } = console;
    await assert.rejects(openSession(`${gateway.url}/broken`));
    const session = await openSession(`${gateway.url}/mcp`);
    await session.call('hello');
    await page.getByRole('row', { name: /failed 200 POST \/broken · initialize/ }).waitFor();
    await page.getByRole('tab', { name: 'Targets' }).click();
    const target = page.getByRole('region', { name: 'Target absent' });
    await target.getByText('failed', { exact: true }).waitFor();
    await target.getByText(/target "absent"/).waitFor();
    await target.getByText(/of route broken,/).waitFor();

    await page.getByRole('tab', { name: 'Audit' }).click();
    const denied = page.getByRole('row', {
      name: /tools\/call hello .*Denied refused mcpAuthorization · no echo/,
    });
    await denied.getByRole('button').click();
    await page.getByLabel('The whole line').getByText('"mcp.name": "hello"').waitFor();
    assert.deepEqual(await console.findings(), []);
    await page.getByText('Denied', { exact: true }).first().click();
    await page.getByText(/^1 of the last \d+ lines$/).waitFor();

    // A reload keeps the tab and the filter.
    await page.waitForURL(/tab=Audit.*outcome=denied/);
    await page.reload();
    await page.getByText(/^1 of the last \d+ lines$/).waitFor();

    // Clients of a route with keys send them in the header of the route.
    await open('Connect');
    await page.getByText('Authentication: apiKey, in the header x-api-key').waitFor();
    await page.getByRole('tab', { name: 'Claude Code' }).click();
    await page.getByText('--header "x-api-key: $API_KEY"').waitFor();
    await page.getByLabel('Route').selectOption({ label: 'broken · /broken · mcp' });
    await page.getByRole('button', { name: 'Test the route from the gateway' }).click();
    await page.getByRole('list', { name: 'Servers of the route' }).getByText('absent failed').waitFor();
    assert.deepEqual(console.offences, []);
    assert.deepEqual(await console.findings(), []);

    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Menu', expanded: false }).click();
    const menu = page.getByRole('navigation', { name: 'Pages' });
    await menu.getByRole('link', { name: 'Traffic' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Menu', expanded: false }).waitFor();
  },
);

test('an edit that the gateway refuses says so, and an unsaved edit is not lost', journey, async () => {
  await using gateway = await startGateway(yaml);
  await using console = await openConsole(gateway);
  const { page, open } = console;
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await open('Configuration');
  await write(page, yaml.replace('binds:', `binds:\n- { port: ${port}, address: 127.0.0.1, listeners: [] }`));
  await page.getByText('The configuration is valid.').waitFor();

  // The edit outlives a visit of another page, and the browser asks before it leaves.
  await open('Traffic');
  await page.getByRole('navigation', { name: 'Pages' }).getByText('unsaved').waitFor();
  await open('Configuration');
  await page.getByText('Unsaved edit', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'Difference' }).getByText(String(port)).waitFor();
  const [dialog] = await Promise.all([
    page.waitForEvent('dialog'),
    page.reload({ timeout: 5_000 }).catch(() => undefined),
    page.waitForEvent('dialog').then((asked) => asked.dismiss()),
  ]);
  assert.equal(dialog.type(), 'beforeunload');

  await page.getByRole('button', { name: 'Save' }).click();
  const refused = page.getByRole('alert').filter({ hasText: 'the gateway refuses it' });
  await refused.getByText(new RegExp(`${port}.*EADDRINUSE|EADDRINUSE.*${port}|${port}`)).waitFor();
  other.close();
  await write(page, yaml);
  await page.getByText('The configuration is valid.').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await savedAndUsed(page);
  assert.equal(await page.getByText('Unsaved edit', { exact: true }).count(), 0);
  assert.deepEqual(console.offences, []);
});

test('a gateway that does not answer is not shown as ready', journey, async () => {
  await using gateway = await startGateway(yaml);
  await using console = await openConsole(gateway);
  const { page } = console;
  const health = page.getByRole('definition');
  const ready = health.getByText('ready', { exact: true });
  await ready.waitFor();
  // The connections stay open, and nobody reads them.
  gateway.signal('SIGSTOP');
  try {
    await unreachable(page);
  } finally {
    gateway.signal('SIGCONT');
  }
  await ready.waitFor();
  await gateway.stop();
  await unreachable(page);
  assert.deepEqual(await console.findings(), []);
});

/** Waits until the page says that nobody answers, and how old its data is. @throws Error with the text of the page */
async function unreachable(page: Page): Promise<void> {
  try {
    await page
      .getByText(/^The gateway does not answer; data of \d\d:\d\d:\d\d\.$/)
      .first()
      .waitFor();
    await page.getByRole('definition').getByText('not reachable', { exact: true }).waitFor();
  } catch (cause) {
    const text = await page.locator('body').innerText();
    throw new Error(`the page does not say that nobody answers:\n${text.slice(0, 2_000)}`, { cause });
  }
}
