/** The admin port serves the console: its files, its policy, its size, and the work that people do in it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { until } from '../../src/until.testing.ts';
import { usedSecret } from '../../src/usedSecrets.testing.ts';
import type { Page } from 'playwright-core';
import { builtConsole } from '../support/builtConsole.ts';
import { journey, openConsole, savedAndUsed, startConsoleStage, write } from './console.testing.ts';
import { operatorOf } from './adminApi.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { openSession, resultText } from './session.testing.ts';
import { group } from './stage.testing.ts';

let built = '';
let gateway: GatewayProcess;

before(async () => {
  built = builtConsole();
  gateway = await startGateway(`
binds:
- port: 0
  listeners:
  - routes:
    - policies: { directResponse: { status: 204 } }
`);
});
after(async () => await gateway?.stop());

/** The files that the first page loads before it shows something. */
const firstFiles = (): string[] =>
  [...readFileSync(join(built, 'index.html'), 'utf8').matchAll(/(?:src|href)="\/ui\/([^"]+)"/g)].map(
    ([, path = '']) => path,
  );

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.admin}${path}`, { headers, redirect: 'manual' });

test('the first page of the console needs at most 250 kB', () => {
  const files = ['index.html', ...firstFiles()];
  assert.ok(files.length >= 3, files.join(' '));
  const bytes = files.map((path) => gzipSync(readFileSync(join(built, path))).length);
  const sum = bytes.reduce((total, each) => total + each, 0);
  assert.ok(sum <= 250_000, `${sum} bytes`);
});

test('each page of the console has a policy with a nonce of its own', async () => {
  const nonces = new Set<string>();
  for (const path of ['/ui/', '/ui/', '/ui/connect']) {
    const response = await get(path);
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    const policy = response.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    const [, nonce = ''] = /'nonce-([^']{22,})'/.exec(policy) ?? [];
    const page = await response.text();
    assert.ok(page.includes(`nonce="${nonce}"`));
    assert.doesNotMatch(page, /__CSP_NONCE__/);
    nonces.add(nonce);
  }
  assert.equal(nonces.size, 3);
});

test('the files of the console are compressed, and a browser keeps those whose names have a hash', async () => {
  for (const path of firstFiles()) {
    const response = await get(`/ui/${path}`, { 'accept-encoding': 'gzip' });
    assert.equal(response.status, 200, path);
    assert.equal(response.headers.get('content-encoding'), 'gzip');
    assert.match(response.headers.get('cache-control') ?? '', /immutable/);
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(await response.text(), readFileSync(join(built, path), 'utf8'));
    const plain = await get(`/ui/${path}`, { 'accept-encoding': 'identity' });
    assert.equal(plain.headers.get('content-encoding'), null);
    assert.equal(await plain.text(), readFileSync(join(built, path), 'utf8'));
  }
  assert.match(await (await get('/ui/licenses.txt')).text(), /react/);
});

test('paths that are no file of the console are not found, and lead nowhere else', async () => {
  for (const path of ['/ui/assets/none.js', '/ui/%2e%2e/package.json', '/ui/..%2fpackage.json'])
    assert.equal((await get(path)).status, 404, path);
  const post = await fetch(`${gateway.admin}/ui/`, { method: 'POST' });
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD']);
});

test('a browser is led from the root to the console, and other programs get the list of pages', async () => {
  for (const path of ['/', '/ui']) {
    const response = await get(path, { accept: 'text/html,*/*;q=0.8' });
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/ui/']);
  }
  assert.match(await (await get('/')).text(), /^portcullis .*\n\nGET {2}/);
});

test('the console is refused to foreign hosts and sites', async () => {
  const statusOf = async (headers: Record<string, string>): Promise<number | undefined> => {
    const asked = request(`${gateway.admin}/ui/`, { headers, agent: false }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  assert.equal(await statusOf({ host: 'rebound.example' }), 403);
  assert.equal(await statusOf({ origin: 'http://other.example' }), 403);
  assert.equal(await statusOf({ 'sec-fetch-site': 'cross-site' }), 403);
  assert.equal(await statusOf({}), 200);
});

test('an operator sees a denied call with its rule, sessions and servers', journey, async () => {
  await using stage = await startConsoleStage();
  await using console = await openConsole(stage.gateway);
  const { page, open } = console;
  const requests = page.getByRole('table', { name: 'Requests' });
  const drawer = page.getByRole('dialog', { name: 'Why' });

  const alice = await openSession(stage.mcp, stage.tokens.alice);
  const bob = await openSession(stage.mcp, stage.tokens.bob);
  assert.equal(resultText(await alice.call('echo', { message: 'hello' })), 'Echo: hello');
  assert.ok((await bob.call('echo', { message: 'hello' })).error);
  await fetch(`${stage.gateway.url}/app`, { headers: { 'x-who': 'eve' } });

  const denied = requests.getByRole('row', { name: /denied.*tools\/call echo.*bob/ });
  await denied.waitFor();
  await page.getByText('Denied', { exact: true }).click();
  await page.getByLabel('User').fill('bob');
  await until('the other rows to go', async () => (await requests.getByRole('row').count()) === 2);
  await denied.getByRole('button').press('Enter');
  await drawer.getByText('users of tools may echo').first().waitFor();
  assert.match((await drawer.textContent()) ?? '', /mcpAuthorization/);
  await drawer.getByRole('button', { name: 'Try in Rules' }).click();
  await page.getByRole('heading', { level: 1, name: 'Rules' }).waitFor();
  assert.match(await page.getByLabel('Request').inputValue(), /^POST \/mcp HTTP[^]*"name":"echo"/);
  await open('Traffic');
  await page.getByLabel('Path, tool, route or rule').waitFor();

  await page.getByLabel('User').fill('');
  await page.getByText('All', { exact: true }).click();
  await page.getByLabel('Filter (CEL)').fill('nonsense(');
  await page
    .getByRole('alert')
    .getByText(/Following the requests failed/)
    .waitFor();
  await page.getByLabel('Filter (CEL)').fill('response.code == 403');
  await requests.getByRole('row', { name: /not eve/ }).waitFor();
  // The refusal of the wrong filter is no fault of the page.
  const refused = console.offences.filter((line) => !/status of 400/.test(line));
  assert.deepEqual(refused, []);
  assert.deepEqual(await console.findings(), []);

  await page.getByRole('tab', { name: 'Sessions' }).click();
  await page.getByRole('row', { name: /alice.*everything/ }).waitFor();
  assert.deepEqual(await console.findings(), []);
  await page.route('**/api/v1/targets', async (route) => {
    const response = await route.fetch();
    const [target] = (await response.json()) as readonly object[];
    const hidden = [{ kind: 'tool', name: 'read', owner: 'files' }];
    const circuit = { retryAt: new Date().toISOString(), reason: 'is dead' };
    await route.fulfill({ response, json: [{ ...target, hidden, hiddenCount: 1, circuit }] });
  });
  await page.getByRole('tab', { name: 'Targets' }).click();
  const target = page.getByRole('region', { name: 'Target everything' });
  await target.getByText(/New sessions try it again at/).waitFor();
  await target.getByText('1 hidden item: another target owns the name').click();
  await target.getByText('tool read, owned by files').waitFor();
  assert.deepEqual(await console.findings(), []);
  await open('Traffic');
});

test(
  'settings for clients name the route and its authentication, and a read-only file cannot be saved',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    await open('Connect');
    await page.getByText('Authentication: mcpAuthentication').waitFor();
    const address = page.getByLabel('Address that clients use');
    assert.match(await address.inputValue(), /^http:\/\/localhost:\d+\/mcp$/);
    const settings = async (): Promise<string> =>
      (await page.getByLabel('settings for VS Code', { exact: true }).textContent()) ?? '';
    assert.equal(JSON.parse(await settings()).servers.tools.url, await address.inputValue());
    await address.fill('https://mcp.example.com/mcp');
    assert.equal(JSON.parse(await settings()).servers.tools.url, 'https://mcp.example.com/mcp');
    await page.getByRole('tab', { name: 'Claude Code' }).press('Enter');
    await page.getByText('claude mcp add --transport http tools https://mcp.example.com/mcp').waitFor();
    await page.getByLabel('Route').selectOption({ index: 1 });
    await page.getByText(/^curl -i /).waitFor();

    await open('Configuration');
    await page.getByText('The configuration is read-only here:').waitFor();
    await write(page, `${stage.yaml}# more\n`);
    await page.getByText('The configuration is valid.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Save' }).count(), 0);
    await open('Connect');
    assert.deepEqual(console.offences, []);
    assert.deepEqual(await console.findings(), []);
  },
);

test(
  'an edit is checked, saved with its comments, and refused where another edit came first',
  journey,
  async () => {
    await using stage = await startConsoleStage({ storage: { mode: 'file' } });
    await using console = await openConsole(stage.gateway);
    const { gateway, yaml } = stage;
    const { page, open } = console;
    const save = page.getByRole('button', { name: 'Save' });
    await open('Configuration');

    await write(page, yaml.replace('mcpAuthorization:', 'mcpAuthorisation:'));
    const line = yaml.split('\n').findIndex((text) => text.includes('mcpAuthorization:')) + 1;
    await page.getByRole('alert').getByText(`Line ${line}, column 9:`).waitFor();
    assert.match(
      (await page.getByRole('alert').textContent()) ?? '',
      /mcpAuthorization/,
      'it names the nearest field',
    );
    assert.equal(await save.isDisabled(), true);
    await page.getByRole('button', { name: 'Discard the edit' }).click();

    const edited = yaml.replace('name: not eve', 'name: nobody named eve # a new comment');
    await write(page, edited);
    await page.getByText('The configuration is valid. Routes changed:').waitFor();
    await page.getByRole('region', { name: 'Difference' }).getByText('a new comment').waitFor();
    assert.deepEqual(await console.findings(), []);
    await save.click();
    await savedAndUsed(page);
    assert.equal(readFileSync(gateway.file, 'utf8'), edited);
    await until('the new rule', async () => {
      await fetch(`${gateway.url}/app`, { headers: { 'x-who': 'eve' } });
      return gateway.accessLog().includes('nobody named eve');
    });

    const other = yaml.replace('name: not eve', 'name: the rule of another');
    await write(page, edited.replace('name: app', 'name: renamed'));
    await page.getByText('The configuration is valid.').waitFor();
    gateway.rewrite(other);
    await save.click();
    await page.getByRole('alert').getByText('nothing was saved').waitFor();
    assert.equal(readFileSync(gateway.file, 'utf8'), other);
    await page.getByRole('button', { name: 'Compare with the newest version' }).click();
    await page.getByRole('region', { name: 'Difference' }).getByText('the rule of another').waitFor();
    await save.click();
    await page.getByText('The file is saved').waitFor();
    assert.match(readFileSync(gateway.file, 'utf8'), /name: renamed/);
    assert.deepEqual(
      console.offences.filter((each) => !/status of 412/.test(each)),
      [],
    );

    await page.getByRole('tab', { name: 'In use' }).click();
    const inUse = page.getByRole('list', { name: 'Configuration in use' });
    await inUse
      .getByRole('listitem')
      .filter({ hasText: /^mode: "file" config\.yaml:2:/ })
      .waitFor();
    await inUse.getByText('limits', { exact: false }).first().waitFor();
    await inUse
      .getByRole('listitem')
      .filter({ hasText: /^adminAddr: .*variable ADMIN_ADDR/ })
      .waitFor();
    await inUse.getByText('protocol:').first().waitFor({ state: 'attached' });
    assert.deepEqual(await console.findings(), []);
  },
);

test(
  'a tool is called in the playground, and a route can be tested with and without a token',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    const token = page.getByLabel('Token');
    await open('Playground');
    await token.fill('no.token.at-all');
    await page.getByRole('button', { name: 'Open a session' }).click();
    await page.getByRole('alert').getByText('The gateway answered 401').waitFor();
    await page.getByText('The route demands a valid token.').waitFor();
    await page.getByRole('button', { name: 'Begin the login' }).waitFor();

    await token.fill(stage.tokens.alice);
    await page.getByRole('button', { name: 'Open a session' }).click();
    const tools = page.getByLabel('Choose a tool');
    await tools.selectOption('echo');
    await page.getByRole('textbox', { name: 'message' }).fill('hello');
    await page.getByRole('textbox', { name: 'message' }).press('Enter');
    await page.getByRole('region', { name: 'Result' }).getByText('Echo: hello', { exact: true }).waitFor();
    await page
      .getByRole('region', { name: 'Protocol' })
      .getByText(/sent tools\/call$/)
      .waitFor();
    assert.deepEqual(await console.findings(), []);

    await tools.selectOption('get-sum');
    await page.getByRole('textbox', { name: 'a', exact: true }).fill('two');
    await page.getByRole('textbox', { name: 'b', exact: true }).fill('3');
    await page.getByRole('button', { name: 'Call get-sum' }).click();
    await page.getByRole('alert').getByText('a: expected a number').waitFor();
    await page.getByRole('textbox', { name: 'a', exact: true }).fill('2');
    await page.getByRole('button', { name: 'Call get-sum' }).click();
    await page.getByRole('region', { name: 'Result' }).getByText(/is 5/).first().waitFor();

    await page.getByRole('tab', { name: 'Prompts' }).click();
    await page.getByLabel('Choose a prompt').selectOption('simple-prompt');
    await page.getByRole('button', { name: 'Get simple-prompt' }).click();
    await page.getByRole('tabpanel', { name: 'Prompts' }).locator('pre').first().waitFor();
    await page.getByRole('tab', { name: 'Resources' }).click();
    await page.getByRole('button', { name: /^Read / }).click();
    await page.getByRole('tabpanel', { name: 'Resources' }).locator('pre').first().waitFor();
    const resources = page.getByLabel('Choose a resource');
    await resources.selectOption('demo://resource/dynamic/text/{resourceId}');
    await page.getByRole('textbox', { name: 'resourceId' }).fill('1');
    await page.getByRole('button', { name: /^Read demo/ }).click();
    await page
      .getByText(/^demo:\/\/resource\/dynamic\/text\/1 · /)
      .first()
      .waitFor();
    await page.getByRole('tab', { name: 'Tools' }).click();
    const longRunning = 'trigger-long-running-operation';
    await tools.selectOption(longRunning);
    await page.getByRole('textbox', { name: 'duration' }).fill('60');
    await page.getByRole('textbox', { name: 'steps' }).fill('120');
    await page.getByRole('button', { name: `Call ${longRunning}` }).click();
    await page.getByText(/[1-9]\d* of 120/).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('alert').getByText('You cancelled the request.').waitFor();
    await page
      .getByRole('region', { name: 'Protocol' })
      .getByText(/sent notifications\/cancelled$/)
      .waitFor();

    // The rules hide the tool from a user of no group.
    await token.fill(stage.tokens.bob);
    await page.getByRole('button', { name: 'Open a new session' }).click();
    await until('the tools of bob', async () => (await tools.locator('option').count()) === 2);

    await page.getByLabel('Route').selectOption({ index: 1 });
    await page.getByLabel('Headers').fill('x-who: eve');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('403', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Why' }).click();
    const drawer = page.getByRole('dialog', { name: 'Why' });
    await drawer.getByText('request.headers["x-who"] == "eve"').waitFor();
    await drawer.getByRole('button', { name: 'Close' }).click();
    assert.deepEqual(await console.findings(), []);
    await open('Traffic');
    await page.getByRole('row', { name: /denied 403.*not eve/ }).waitFor();

    await open('Connect');
    const run = page.getByRole('button', { name: 'Test the route from the gateway' });
    const sessionCount = async (): Promise<number> =>
      ((await operatorOf(stage.gateway)('GET', '/api/v1/sessions')).json as readonly object[]).length;
    const sessions = await sessionCount();
    await run.click();
    await page.getByText('It demands a credential, so clients must log in.').waitFor();
    await token.fill(stage.tokens.alice);
    await run.click();
    await page.getByText(/The route answered 200 in .* It lists \d+ tools/).waitFor();
    await page.getByRole('list', { name: 'Servers of the route' }).getByText('everything ready').waitFor();
    assert.equal(await sessionCount(), sessions, 'the test leaves no session behind');
    assert.deepEqual(console.offences, []);
  },
);

/** Logs a user in at the issuer, in another tab, as the playground leads there. */
async function logIn(page: Page, user: string): Promise<void> {
  const begin = page.getByRole('button', { name: 'Begin the login' });
  if (!(await begin.isVisible())) await page.getByText('Log in at the issuer').click();
  await begin.click();
  const link = page.getByRole('link', { name: /^Go to localhost:/ });
  const [tab] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
  await tab.getByRole('button', { name: new RegExp(`^${user}`) }).click();
  await tab.getByText('Close this tab, and go back to the console.').waitFor();
  await tab.close();
  await page.getByText(/^Token received/).waitFor();
  // The issuer remembers its user.
  await page.context().clearCookies({ domain: 'localhost' });
}

test(
  'a user logs in at the issuer and calls a tool; the denied call of another is in Traffic with its rule, and is replayed',
  journey,
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-console-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    await using stage = await startConsoleStage({
      audit: { sink: { file: { path: join(folder, 'audit.jsonl') } }, arguments: 'full' },
    });
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    await open('Playground');
    await logIn(page, 'alice');
    const steps = page.getByRole('list', { name: 'Steps of the login' });
    for (const rfc of ['9728', '8414', '7591', '7636']) await steps.getByText(`(RFC ${rfc})`).waitFor();
    await page.getByRole('list', { name: 'Header and claims' }).getByText(group).waitFor();
    assert.deepEqual(await console.findings(), []);
    await page.getByRole('button', { name: 'Open a session' }).click();
    const tools = page.getByLabel('Choose a tool');
    await tools.selectOption('echo');
    await page.getByRole('textbox', { name: 'message' }).fill('hello');
    await page.getByRole('button', { name: 'Call echo' }).click();
    await page.getByRole('region', { name: 'Result' }).getByText('Echo: hello', { exact: true }).waitFor();

    await logIn(page, 'bob');
    await page.getByRole('button', { name: 'Open a new session' }).click();
    await tools.selectOption({ label: 'a tool that the route does not list' });
    await page.getByLabel('Name of the tool').fill('echo');
    await page.getByLabel('Arguments').fill('{"message": "let me in"}');
    await page.getByRole('button', { name: 'Call echo' }).click();
    await page
      .getByRole('alert')
      .getByText(/The tool failed/)
      .waitFor();

    await open('Traffic');
    const denied = page.getByRole('row', { name: /denied.*tools\/call echo.*bob/ });
    await denied.waitFor();
    await denied.getByRole('button').click();
    const drawer = page.getByRole('dialog', { name: 'Why' });
    await drawer.getByText('users of tools may echo').first().waitFor();
    await drawer.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('The form has the recorded values.').waitFor();
    await page.getByLabel('Token').fill(stage.tokens.alice);
    await page.getByRole('button', { name: 'Open a session' }).click();
    assert.equal(await tools.inputValue(), 'echo');
    await page.getByRole('button', { name: 'Call echo' }).click();
    await page
      .getByRole('region', { name: 'Result' })
      .getByText('Echo: let me in', { exact: true })
      .waitFor();
    assert.deepEqual(console.offences, []);
    const token = await page.getByLabel('Token').inputValue();
    assert.ok(!stage.gateway.log().includes(token));
  },
);

test('a person answers the questions of a server, in both eras of MCP', journey, async () => {
  await using stage = await startConsoleStage();
  await using console = await openConsole(stage.gateway);
  const { page, open } = console;
  await open('Playground');
  await page.getByLabel('Token').fill(stage.tokens.alice);
  const question = page.getByRole('region', { name: /^Question/ });
  const tools = page.getByLabel('Choose a tool');
  const result = page.getByRole('region', { name: 'Result' });
  for (const revision of ['2025-11-25', '2026-07-28']) {
    await page.getByLabel('Revision of MCP').selectOption(revision);
    await page.getByRole('button', { name: /^Open a (?:new )?session$/ }).click();
    await tools.selectOption('trigger-elicitation-request');
    await page.getByRole('button', { name: 'Call trigger-elicitation-request' }).click();
    await question.getByRole('textbox', { name: 'name', exact: true }).fill('Ada');
    await question.getByRole('combobox', { name: 'check' }).selectOption('true');
    if (revision === '2025-11-25') assert.deepEqual(await console.findings(), []);
    await question.getByRole('button', { name: 'Send the answer' }).click();
    await result
      .getByText(/Name: Ada/)
      .first()
      .waitFor();
    assert.equal(await question.count(), 0);

    await page.getByRole('button', { name: 'Call trigger-elicitation-request' }).click();
    await question.getByRole('button', { name: 'Decline' }).click();
    await result
      .getByText(/declined/)
      .first()
      .waitFor();

    await tools.selectOption('trigger-sampling-request');
    await page.getByRole('textbox', { name: 'prompt' }).fill('a rhyme');
    await page.getByRole('button', { name: 'Call trigger-sampling-request' }).click();
    await question.getByText(/context: a rhyme/).waitFor();
    await question.getByLabel('Answer in place of the model').fill('no rhyme today');
    await question.getByRole('button', { name: 'Send the answer' }).click();
    await result
      .getByText(/no rhyme today/)
      .first()
      .waitFor();
  }
  assert.deepEqual(console.offences, []);
  assert.deepEqual(await console.findings(), []);
});

test(
  'headers of a person go with each request of an MCP session, and the page does not keep them',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    const alert = page.getByRole('alert');
    const secret = usedSecret('a-secret-in-a-header-of-a-person');
    const withoutHeader: string[] = [];
    await page.route('**/api/v1/playground/**', async (route) => {
      const sent = route.request().postDataJSON() as {
        readonly headers: Readonly<Record<string, string>>;
        readonly body?: string;
      };
      if (sent.headers['x-note'] !== secret) withoutHeader.push(sent.body ?? '');
      await route.continue();
    });
    const header = async (name: string, value: string): Promise<void> => {
      await page.getByLabel('Name of header 1').fill(name);
      await page.getByLabel('Value of header 1').fill(value);
    };
    await open('Playground');
    await page.getByLabel('Token', { exact: true }).fill(stage.tokens.bob);
    await page.getByText('Headers (0)').click();
    await page.getByRole('button', { name: 'Add a header' }).click();
    const begin = page.getByRole('button', { name: /^Open a (?:new )?session$/ });
    for (const [name, refusal] of [
      ['Mcp-Session-Id', 'mcp-session-id: the session writes this header itself.'],
      ['authorization', 'authorization: write the credential of the route into its own field.'],
      ['Transfer-Encoding', 'headers.transfer-encoding: the gateway writes this header itself'],
    ] as const) {
      await header(name, 'x');
      await begin.click();
      await alert.getByText(refusal).waitFor();
    }
    withoutHeader.length = 0;
    await header('X-Note', secret);
    await page.getByRole('button', { name: 'Add a header' }).click();
    await page.getByLabel('Name of header 2').fill('x-team');
    await page.getByLabel('Value of header 2').fill('blue');
    assert.deepEqual(await console.findings(), []);
    for (const revision of ['2025-11-25', '2026-07-28']) {
      await page.getByLabel('Revision of MCP').selectOption(revision);
      await begin.click();
      // A rule shows this tool to requests with the header only.
      await page.getByLabel('Choose a tool').selectOption('get-tiny-image');
      await page.getByRole('button', { name: 'Call get-tiny-image' }).click();
      await page.getByRole('region', { name: 'Result' }).getByRole('img').first().waitFor();
    }
    await page.getByRole('button', { name: 'Remove header 2' }).click();
    await begin.click();
    await until('the tools without the header', async () => {
      const names = await page.getByLabel('Choose a tool').locator('option').allTextContents();
      return names.includes('get-sum') && !names.includes('get-tiny-image');
    });
    assert.deepEqual(withoutHeader, []);
    assert.ok(!(await page.getByRole('region', { name: 'Protocol' }).textContent())?.includes(secret));
    await open('Traffic');
    await open('Playground');
    await page.getByText('Headers (0)').waitFor();
    const kept = await page.evaluate<string>(
      'JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }, history.state])',
    );
    assert.ok(!kept.includes(secret));
    const faults = console.offences.filter((line) => !/status of 422/.test(line));
    assert.deepEqual(faults, []);
  },
);
