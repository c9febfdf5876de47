import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../src/until.testing.ts';
import { freePorts } from '../support/loopback.ts';

const inspector = fileURLToPath(new URL('../../node_modules/.bin/mcp-inspector', import.meta.url));

/**
 * Calls the tool `echo` with the command line of the Inspector, which listens for the code of its login.
 * @param logIn gets the address of the login page, and resolves to the parameters of the redirect to the client
 * @returns the result of the tool
 */
export async function inspect(
  t: TestContext,
  url: string,
  logIn: (url: string, redirectUri: string) => Promise<URLSearchParams>,
): Promise<unknown> {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-inspector-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const [port = 0] = await freePorts(1);
  const callback = `http://127.0.0.1:${port}/oauth/callback`;
  const call = ['--method', 'tools/call', '--tool-name', 'echo', '--tool-arg', 'text=inspected'];
  const child = spawn(
    process.execPath,
    [inspector, '--cli', url, '--transport', 'http', '--callback-url', callback, ...call],
    {
      // It asks a desktop to open the login page, and there is none.
      env: { PATH: '', HOME: home, MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'memory' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const said = { out: '', err: '' };
  child.stdout.on('data', (data: Buffer) => (said.out += String(data)));
  child.stderr.on('data', (data: Buffer) => (said.err += String(data)));
  const ended = once(child, 'exit');
  const login = (): string | undefined => /navigate to: (\S+)/.exec(said.out + said.err)?.[1];
  await until('the Inspector names the login page', () => login() !== undefined || child.exitCode !== null);
  assert.ok(login() !== undefined, said.out + said.err);
  const returned = await logIn(login() ?? '', callback);
  await (await fetch(`${callback}?${String(returned)}`)).text();
  await ended;
  const json = said.out.indexOf('{\n');
  assert.ok(child.exitCode === 0 && json >= 0, said.out + said.err);
  return JSON.parse(said.out.slice(json)) as unknown;
}
