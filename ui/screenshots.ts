/**
 * Makes the pictures of docs/console.md: each page in light and dark, of a gateway with some traffic.
 *
 *   npm run build:console && node ui/screenshots.ts
 */
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import {
  openConsole,
  showScheme,
  startConsoleStage,
  type ConsoleStage,
} from '../test/e2e/console.testing.ts';
import { openSession, type RawSession } from '../test/e2e/session.testing.ts';

const folder = fileURLToPath(new URL('../docs/images/', import.meta.url));
const size = { width: 1080, height: 860 };

/** The charts show the traffic of this time, in milliseconds. */
const trafficMs = 40_000;

/** Calls that are allowed and refused, so that there is something to see. */
async function makeTraffic({ gateway, mcp, tokens }: ConsoleStage): Promise<readonly RawSession[]> {
  const alice = await openSession(mcp, tokens.alice);
  const bob = await openSession(mcp, tokens.bob);
  const app = async (who: string): Promise<void> => {
    const response = await fetch(`${gateway.url}/anything/orders`, { headers: { 'x-who': who } });
    await response.text();
  };
  const until = performance.now() + trafficMs;
  for (let nth = 0; performance.now() < until; nth++) {
    await alice.call('echo', { message: 'hello' });
    await app('ada');
    if (nth % 7 === 3) await bob.call('echo', { message: 'hello' });
    if (nth % 11 === 5) await app('eve');
    // More traffic in the middle.
    await pause(60 + 50 * Math.cos(nth / 15));
  }
  await bob.call('echo', { message: 'hello' });
  await app('eve');
  return [alice, bob];
}

/** The pages, with the steps that lead to something to show. */
const scenes: Readonly<Record<string, (page: Page, stage: ConsoleStage) => Promise<void>>> = {
  Traffic: async (page) => {
    await page
      .getByRole('row', { name: /denied.*echo/ })
      .first()
      .waitFor();
    await page.locator('.uplot').first().waitFor();
  },
  Why: async (page) => {
    await page
      .getByRole('row', { name: /denied.*echo/ })
      .first()
      .getByRole('button')
      .click();
    await page.getByRole('dialog', { name: 'Why' }).getByText('policies', { exact: true }).waitFor();
  },
  Playground: async (page, { tokens }) => {
    await page.getByLabel('Token').fill(tokens.alice);
    await page.getByRole('button', { name: 'Open a session' }).click();
    await page.getByLabel('Choose a tool').selectOption('echo');
    await page.getByRole('textbox', { name: 'message' }).fill('hello');
    await page.getByRole('button', { name: 'Call echo' }).click();
    await page.getByText('Echo: hello', { exact: true }).waitFor();
  },
  Rules: async (page) => {
    await page
      .getByLabel('Rule in use', { exact: true })
      .selectOption({ label: 'tools · mcpAuthorization: allow users of tools may echo (lists and calls)' });
    const expression = page.getByRole('textbox', { name: 'Expression (CEL)' });
    await expression.getByText('mcp.tool.name == "echo"').waitFor();
    await expression.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' || jwt.sub == "bob"');
    await page.getByLabel('Claims of caller 1').fill('{"sub": "bob", "groups": []}');
    await page.getByRole('textbox', { name: 'Tools' }).fill('echo, get-sum');
    // The page reads recent requests first.
    await page.getByLabel('Add a recent caller').getByText('choose one of').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Fill the matrix' }).click();
    await page.getByRole('table', { name: 'Values for callers and tools' }).scrollIntoViewIfNeeded();
  },
  Configuration: async (page) => {
    await page.getByRole('textbox', { name: 'Configuration as YAML' }).click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('# A further comment.\n');
    await page.getByText('The configuration is valid.').waitFor();
    // The difference and the effect matter more than the whole text.
    await page.evaluate(`Object.assign(document.querySelector('.editor').style, { height: '300px' })`);
  },
  Connect: async (page) => {
    await page.getByLabel('settings for VS Code', { exact: true }).waitFor();
  },
  Login: async (page) => {
    await page.getByText('Log in at the issuer').click();
    await page.getByRole('button', { name: 'Begin the login' }).click();
    const link = page.getByRole('link', { name: /^Go to localhost:/ });
    const [tab] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
    await tab.getByRole('button', { name: /^alice/ }).click();
    await tab.getByText('Close this tab').waitFor();
    await tab.close();
    await page.getByText(/^Token received/).waitFor();
    await page.getByText('Authorization request with PKCE').first().click();
    await page.getByRole('list', { name: 'Steps of the login' }).scrollIntoViewIfNeeded();
  },
};

/** The pages of scenes that have other names; undefined where the page before stays open. */
const pageOf: Readonly<Record<string, string | undefined>> = { Why: undefined, Login: 'Playground' };

mkdirSync(folder, { recursive: true });
await using stage = await startConsoleStage({ storage: { mode: 'file' } }, 8080);
await using console = await openConsole(stage.gateway);
const { page, open } = console;
await page.setViewportSize(size);
const sessions = await makeTraffic(stage);
for (const [name, show] of Object.entries(scenes)) {
  const menu = name in pageOf ? pageOf[name] : name;
  if (menu !== undefined) await open(menu);
  await show(page, stage);
  for (const colorScheme of ['light', 'dark'] as const) {
    await showScheme(page, colorScheme);
    await page.screenshot({ path: `${folder}console-${name.toLowerCase()}-${colorScheme}.png` });
  }
  await page.keyboard.press('Escape');
  // The menu of the next pictures shows no unsaved edit.
  const discard = page.getByRole('button', { name: 'Discard the edit' });
  if (await discard.isVisible()) await discard.click();
}
for (const session of sessions) await session.close();
if (console.offences.length > 0) throw new Error(console.offences.join('\n'));
