/** The page Rules of the console: expressions, rules before they are saved, callers and tools. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { until } from '../../src/until.testing.ts';
import { builtConsole } from '../support/builtConsole.ts';
import { operatorOf } from './adminApi.testing.ts';
import { journey, openConsole, savedAndUsed, startConsoleStage } from './console.testing.ts';
import { openSession } from './session.testing.ts';
import { group } from './stage.testing.ts';

before(() => void builtConsole());

test(
  'a request is explained, and a rule shows its effect for callers and tools before it is saved',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    await open('Rules');
    await page.getByLabel('Claims', { exact: true }).fill('{"sub": "bob", "groups": []}');
    await page.getByRole('button', { name: 'Explain the request' }).click();
    const explanation = page.getByRole('region', { name: 'Explanation' });
    await explanation.getByText('users of tools may echo').first().waitFor();
    await explanation.getByText('groups = []').first().waitFor();

    const expression = page.getByRole('textbox', { name: 'Expression (CEL)' });
    await expression.click();
    await page.keyboard.insertText(`mcp.tool.name == "echo" && "${group}" in jwt.groups`);
    await page
      .getByLabel('Request', { exact: true })
      .fill((await page.getByLabel('Request', { exact: true }).inputValue()).replace('NAME', 'echo'));
    await page.getByRole('button', { name: 'Evaluate' }).click();
    await page.getByRole('status', { name: 'Value' }).getByText('false (bool)').waitFor();
    await page.getByLabel('Claims', { exact: true }).fill(`{"sub": "alice", "groups": ["${group}"]}`);
    await page.getByRole('button', { name: 'Evaluate' }).click();
    await page.getByRole('status', { name: 'Value' }).getByText('true (bool)').waitFor();

    await page.getByLabel('Claims of caller 1').fill(`{"sub": "alice", "groups": ["${group}"]}`);
    await page.getByRole('textbox', { name: 'Tools' }).fill('echo, get-sum');
    await page.getByRole('button', { name: 'Fill the matrix' }).click();
    const matrix = page.getByRole('table', { name: 'Values for callers and tools' });
    await matrix.getByRole('row', { name: /alice.* true false$/ }).waitFor();
    await page.getByLabel('Claims of caller 1').fill('{');
    await page.getByRole('button', { name: 'Fill the matrix' }).click();
    await page
      .getByRole('alert')
      .getByText(/Claims of caller 1: /)
      .waitFor();

    // An edit of a rule in use, before it is saved.
    await page.getByText('All rules in use (6)').click();
    const rules = page.getByRole('table', { name: 'Rules and what they decide' });
    await rules.getByRole('row', { name: /^app not eve deny .* whole requests$/ }).waitFor();
    const rule = page.getByLabel('Rule in use', { exact: true });
    await rule.selectOption({
      label: 'tools · mcpAuthorization: allow users of tools may echo (lists and calls)',
    });
    await expression.getByText('mcp.tool.name == "echo"').waitFor();
    await expression.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' || jwt.sub == "bob"');
    const bob = await openSession(stage.mcp, stage.tokens.bob);
    assert.ok((await bob.call('echo', { message: 'hello' })).error);
    await page.getByRole('button', { name: 'Take recent callers' }).click();
    await until('the caller of the refused call', async () => {
      return /"sub":"bob".*"groups":\[\]/.test(await page.getByLabel('Claims of caller 1').inputValue());
    });
    await page.getByRole('button', { name: 'Add a caller' }).click();
    await page.getByLabel('Claims of caller 2').fill(`{"sub": "alice", "groups": ["${group}"]}`);
    await page.getByRole('button', { name: 'Fill the matrix' }).click();
    // Another rule allows get-sum to everybody, so the edit changes nothing there.
    await matrix.getByRole('row', { name: /bob.* denied becomes allowed allowed$/ }).waitFor();
    await matrix.getByRole('row', { name: /alice.* allowed allowed$/ }).waitFor();
    await page.getByText(/^mcpAuthorization in .*, line \d+/).waitFor();
    assert.deepEqual(await console.findings(), []);

    await rule.selectOption('');
    await expression.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('mcp.tool.nam');
    await page.getByRole('option', { name: /^name ?string$/ }).click();
    await page.keyboard.type('.startsW');
    await page.getByRole('option', { name: /^startsWith/ }).click();
    await page.keyboard.type('"ec');
    await expression.getByText('mcp.tool.name.startsWith("ec")').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.type(' || jwt.');
    // The field of claims names them.
    await page.getByRole('option', { name: /^groups/ }).click();
    await page.keyboard.type(' == 1');
    await page.getByRole('button', { name: 'Evaluate' }).click();
    assert.deepEqual(console.offences, []);
    assert.deepEqual(console.offences, []);
  },
);

test(
  'the gateway judges an expression while it is written, and a late answer is dropped',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    await open('Rules');
    const expression = page.getByRole('textbox', { name: 'Expression (CEL)' });
    const mistake = page.getByRole('status', { name: 'Mistake in the expression' });
    const write = async (text: string): Promise<void> => {
      await expression.click();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText(text);
    };
    await write('true &&\n  jwtt.sub == "a"');
    await mistake.getByText('Line 2, column 3: unknown variable jwtt').waitFor();
    assert.equal(await page.locator('.cm-lintRange-error').textContent(), 'jwtt');
    assert.deepEqual(await console.findings(), []);

    // An expression that fails for this caller only has no mistake.
    await write('jwt.sub == "a"');
    await until('the mistake to go', async () => (await mistake.textContent()) === '');
    assert.equal(await page.locator('.cm-lintRange-error').count(), 0);

    // The answer about the first text comes after that about the second.
    const first = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const answers: string[] = [];
    await page.route('**/api/v1/cel', async (route) => {
      const { expression: text } = route.request().postDataJSON() as { readonly expression: string };
      if (text === 'first(') {
        asked.resolve();
        await first.promise;
      }
      await route.continue().catch(() => undefined);
      answers.push(text);
    });
    await write('first(');
    await asked.promise;
    await write('second(');
    await mistake.getByText('Line 1, column 7').waitFor();
    first.resolve();
    await until('the late answer', () => answers.includes('first('));
    assert.match((await mistake.textContent()) ?? '', /column 7/);
    assert.equal(await page.locator('.cm-lintRange-error').textContent(), '(');
    await page.unrouteAll({ behavior: 'wait' });
    assert.deepEqual(console.offences, []);
  },
);

test(
  'an edited rule goes into the draft of the configuration at its place, and to no draft with another edit',
  journey,
  async () => {
    await using stage = await startConsoleStage({ storage: { mode: 'file' } });
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    const expression = page.getByRole('textbox', { name: 'Expression (CEL)' });
    const edit = page.getByRole('button', { name: 'Edit in Configuration' });
    const choose = async (rule: string): Promise<void> => {
      await open('Rules');
      await page
        .getByLabel('Rule in use', { exact: true })
        .selectOption({ label: `tools · mcpAuthorization: allow ${rule} (lists and calls)` });
      await expression.getByText('mcp.').first().waitFor();
    };
    const selected = (): Promise<string> => page.evaluate<string>('document.getSelection().toString()');

    await choose('users of tools may echo');
    await edit.click();
    await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor();
    await until(
      'the selection',
      async () => (await selected()) === `'mcp.tool.name == "echo" && "${group}" in jwt.groups'`,
    );
    assert.equal(await page.getByText('Unsaved edit').count(), 0);

    await choose('everyone may list');
    await expression.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(`mcp.tool.name == "it's"`);
    await edit.click();
    await page.getByText('The configuration is valid. Routes changed:').waitFor();
    assert.equal(await selected(), `mcp.tool.name == "it's"`);
    assert.deepEqual(await console.findings(), []);

    await choose('users of tools may echo');
    await expression.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('mcp.tool.name == "other"');
    await edit.click();
    await page.getByRole('status').getByText('The page has an unsaved edit.').waitFor();
    await page.getByLabel('the expression', { exact: true }).getByText('mcp.tool.name == "other"').waitFor();
    await until('the selection', async () => (await selected()).includes('in jwt.groups'));
    assert.deepEqual(await console.findings(), []);
    await page.getByRole('button', { name: 'Save' }).click();
    await savedAndUsed(page);
    const expected = stage.yaml.replace(
      'allow: mcp.tool.name == "get-sum"',
      `allow: mcp.tool.name == "it's"`,
    );
    assert.equal(readFileSync(stage.gateway.file, 'utf8'), expected);
    assert.deepEqual(console.offences, []);
  },
);

test(
  'the matrix offers the tools that a route lists for a caller, and callers of recent requests',
  journey,
  async () => {
    await using stage = await startConsoleStage();
    const bob = await openSession(stage.mcp, stage.tokens.bob);
    assert.ok((await bob.call('echo', { message: 'hello' })).error);
    await using console = await openConsole(stage.gateway);
    const { page, open } = console;
    const tool = page.getByLabel('Add a tool');
    const tools = page.getByRole('textbox', { name: 'Tools' });
    const offered = (): Promise<string[]> => tool.locator('option').allTextContents();
    await open('Rules');
    await until('the tool of the refused call', async () => (await offered()).includes('echo'));
    assert.ok(!(await offered()).includes('get-sum'));

    const list = page.getByRole('button', { name: 'List the tools of tools' });
    await list.click();
    await page.getByRole('alert').getByText('Listing the tools failed.').waitFor();
    await page.getByLabel('Token of a caller').fill(stage.tokens.alice);
    await list.click();
    await page.getByText(/^The route lists \d+ tools\.$/).waitFor();
    await tool.selectOption('get-sum');
    await tool.selectOption('echo');
    assert.equal(await tools.inputValue(), 'get-sum, echo');
    assert.ok(!(await offered()).includes('echo'), 'a tool is offered once');
    await page.getByLabel('Add a recent caller').selectOption({ index: 1 });
    assert.match(await page.getByLabel('Claims of caller 2').inputValue(), /"sub":"bob"/);
    assert.deepEqual(await console.findings(), []);
    const sessions = await operatorOf(stage.gateway)('GET', '/api/v1/sessions');
    assert.equal((sessions.json as readonly object[]).length, 1, 'only the session of bob stays');
    assert.deepEqual(console.offences, []);
  },
);
