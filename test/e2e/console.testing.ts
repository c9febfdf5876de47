/** A gateway with something to see, and a browser that looks at its console. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import axe from 'axe-core';
import { chromium, type Browser, type Page } from 'playwright-core';
import { firstLinkOf } from './adminApi.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { authentication, group, inline, startEchoApp, startIdp } from './stage.testing.ts';

const program = ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);
/** The program of the browser; undefined where none is installed. */
export const browserPath = program && spawnSync('which', [program], { encoding: 'utf8' }).stdout.trim();

/** The options of a test in a browser. */
export const journey = {
  skip: browserPath === undefined ? 'chromium is not installed' : false,
  timeout: 240_000,
} as const;

/** The gateway runs in the root of the checkout. Pictures of the configuration show no folder of this machine. */
const server = {
  cmd: 'node',
  args: ['node_modules/@modelcontextprotocol/server-everything/dist/index.js', 'stdio'],
};

/** An MCP server behind tokens and rules, an HTTP app, and tokens of two users. */
export interface ConsoleStage extends AsyncDisposable {
  readonly gateway: GatewayProcess;
  readonly mcp: string;
  /** A token of a user who may call the tool `echo`, and of one who may not. */
  readonly tokens: { readonly alice: string; readonly bob: string };
  /** The configuration as it was written. */
  readonly yaml: string;
}

/**
 * Starts a gateway with its identity provider and its servers.
 * @param config settings of the process
 * @param port of the gateway; pictures show it
 */
export async function startConsoleStage(config: object = {}, port = 0): Promise<ConsoleStage> {
  const idp = await startIdp();
  const app = await startEchoApp();
  const yaml = `# The comment of an operator.
config: ${inline(config)}
binds:
- port: ${port}
  listeners:
  - name: public
    routes:
    - name: tools
      matches: [{ path: { pathPrefix: /mcp } }]
      policies:
        mcpAuthentication: ${inline(authentication(idp, { authorization: undefined }))}
        mcpAuthorization:
          rules:
          - name: everyone may list
            allow: mcp.tool.name == "get-sum"
          - name: prompts and resources are open
            allow: has(mcp.prompt) || has(mcp.resource)
          - name: users of tools may echo
            allow: 'mcp.tool.name == "echo" && "${group}" in jwt.groups'
          - name: team blue sees pictures
            allow: 'mcp.tool.name == "get-tiny-image" && "x-team" in request.headers && request.headers["x-team"] == "blue"'
          - name: users of tools may answer questions
            allow: 'mcp.tool.name.startsWith("trigger-") && "${group}" in jwt.groups'
      backends: [{ mcp: { targets: [{ name: everything, stdio: ${inline(server)} }] } }]
    - name: app
      policies:
        authorization:
          rules:
          - name: not eve
            deny: '"x-who" in request.headers && request.headers["x-who"] == "eve"'
      backends: [{ host: '127.0.0.1:${app.port}' }]
`;
  const gateway = await startGateway(yaml);
  await gateway.keysReady();
  return {
    gateway,
    mcp: `${gateway.url}/mcp`,
    yaml,
    tokens: { alice: await idp.issueToken({ user: 'alice' }), bob: await idp.issueToken({ user: 'bob' }) },
    [Symbol.asyncDispose]: async () => {
      await gateway.stop();
      await Promise.all([idp.close(), app.close()]);
    },
  };
}

/** A page of the console that was logged in by the first link, with a record of what must not happen. */
export interface ConsolePage extends AsyncDisposable {
  readonly page: Page;
  /** Violations of the policy, errors in the console of the browser, and requests to other origins. */
  readonly offences: readonly string[];
  /** Opens a page of the console by its name in the menu. */
  open(name: string): Promise<void>;
  /** @returns the findings of axe in both colour schemes, wide and at 390 pixels, a line each */
  findings(): Promise<readonly string[]>;
}

const wide = { width: 1280, height: 800 };
const narrow = { width: 390, height: 844 };

export interface OpenOptions {
  /** Runs before the page loads anything. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** Starts the browser and logs in by the first link. */
export async function openConsole(gateway: GatewayProcess, options: OpenOptions = {}): Promise<ConsolePage> {
  const browser = await chromium.launch({
    executablePath: browserPath ?? assert.fail('there is no browser'),
    args: ['--no-sandbox', '--disable-quic'],
  });
  try {
    return await consolePage(browser, gateway, options);
  } catch (error) {
    await browser.close();
    throw error;
  }
}

async function consolePage(
  browser: Browser,
  gateway: GatewayProcess,
  { prepare }: OpenOptions,
): Promise<ConsolePage> {
  const { origin } = new URL(gateway.admin);
  const context = await browser.newContext({ viewport: wide, reducedMotion: 'reduce' });
  const page = await context.newPage();
  // Tests share their processors with others.
  page.setDefaultTimeout(90_000);
  const offences: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) offences.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => offences.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    const isOwn = url.origin === origin || ['data:', 'blob:', 'about:'].includes(url.protocol);
    if (!isOwn) offences.push(`request: ${request.url()}`);
  });
  await page.addInitScript(
    `addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))`,
  );
  await prepare?.(page);
  await page.goto(firstLinkOf(gateway));
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return {
    page,
    offences,
    open: async (name) => {
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
    },
    findings: async () => {
      const found: string[] = [];
      for (const viewport of [wide, narrow]) {
        await page.setViewportSize(viewport);
        for (const colorScheme of ['light', 'dark'] as const) {
          await showScheme(page, colorScheme);
          found.push(...(await axeFindings(page)).map((line) => `${viewport.width} ${colorScheme}: ${line}`));
        }
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        if (width > viewport.width) found.push(`${viewport.width}: the page is ${width} pixels wide`);
      }
      await page.setViewportSize(wide);
      await page.emulateMedia({ colorScheme: null });
      return found;
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** Shows a page in a colour scheme, without the transition to it: colours in between have less contrast. */
export async function showScheme(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.locator(`html[data-mantine-color-scheme="${colorScheme}"]`).waitFor({ state: 'attached' });
  await page.evaluate(
    `document.getAnimations()
      .filter(({ effect }) => Number.isFinite(effect.getComputedTiming().endTime))
      .forEach((animation) => animation.finish())`,
  );
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResult>(
    // The editor lays itself out anew in the frame after a change of its size.
    `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
      axe.run(document, { resultTypes: ['violations'] }))`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** Pastes a text over the text of the editor. */
export async function write(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Configuration as YAML' }).click();
  await page.keyboard.press('Control+a');
  await page.evaluate(`{
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', ${JSON.stringify(text)});
    document.activeElement.dispatchEvent(
      new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }),
    );
  }`);
}

/** Waits until the page says that the gateway uses a saved file. @throws Error with the text of the page */
export async function savedAndUsed(page: Page): Promise<void> {
  try {
    await page.getByText('The file is saved, and the gateway uses it.').waitFor();
  } catch (cause) {
    const main = await page.getByRole('main').innerText();
    throw new Error(`the page does not say that the file is in use:\n${main.slice(-2_000)}`, { cause });
  }
}
