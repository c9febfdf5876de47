/** The playground of the console on routes that ask for something else than a token. */
import { fileURLToPath } from 'node:url';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { builtConsole } from '../support/builtConsole.ts';
import { browserPath, openConsole } from './console.testing.ts';
import { startGateway } from './gateway.testing.ts';
import { inline } from './stage.testing.ts';

const server = {
  cmd: 'node',
  args: [fileURLToPath(new URL('../../src/mcp/fixtures/server.ts', import.meta.url))],
};

const routeTo = (path: string, policies: object): object => ({
  name: path.slice(1),
  matches: [{ path: { exact: path } }],
  policies,
  backends: [{ mcp: { targets: [{ name: 'target', stdio: server }] } }],
});

test(
  'an MCP route is used with a password, and another one with a key in a header of its own',
  { skip: browserPath === undefined && 'chromium is not installed' },
  async () => {
    builtConsole();
    // bcrypt of "pass-of-carol".
    const hash = '$$2b$$04$$.MLw.aPshArVvslkis2Zius2EHrizcqIN6GwcDj9Pu6VwVAwi8PRi';
    const key = 'key-of-the-partner';
    const routes = [
      routeTo('/password', { basicAuth: { mode: 'strict', htpasswd: `carol:${hash}` } }),
      routeTo('/key', {
        apiKey: { mode: 'strict', location: { header: { name: 'x-api-key' } }, keys: [{ key }] },
      }),
    ];
    await using gateway = await startGateway(inline({ binds: [{ port: 0, listeners: [{ routes }] }] }));
    await using console = await openConsole(gateway);
    const { page, open } = console;
    await open('Playground');
    for (const [route, label, credential] of [
      ['password', 'User and password', 'carol:pass-of-carol'],
      ['key', 'Key', key],
    ] as const) {
      await page.getByLabel('Route').selectOption({ index: route === 'password' ? 0 : 1 });
      const field = page.getByLabel(label, { exact: false }).first();
      await field.fill('wrong:credential');
      await page.getByRole('button', { name: 'Open a session' }).click();
      await page.getByRole('alert').getByText('The gateway answered 401').waitFor();
      await field.fill(credential);
      await page.getByRole('button', { name: 'Open a session' }).click();
      await page.getByLabel('Choose a tool').selectOption('echo');
    }
    assert.deepEqual(await console.findings(), []);
    assert.deepEqual(console.offences, []);
  },
);
