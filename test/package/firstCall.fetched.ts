/**
 * docs/start.md as it is written, with the tarball of the package: from its installation to tool calls of the Inspector
 * and of a client that logs in as VS Code does. npm begins with an empty cache, so this needs its registry. The ports of
 * the page must be free.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { openBrowser } from '../../apps/dev-idp/src/browser.testing.ts';
import { Person } from '../e2e/person.testing.ts';
import { blocksIn } from '../support/blocks.ts';
import { packInto } from './packed.testing.ts';

/** Wall time of the whole page. */
const longestMs = 300_000;
const home = mkdtempSync(join(tmpdir(), 'portcullis-first-call-'));
const prefix = join(home, 'installed');
const work = join(home, 'work');
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  HOME: home,
  PATH: `${join(prefix, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
  npm_config_prefix: prefix,
  // The registry of this machine, and nothing that npm has fetched before.
  npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(homedir(), '.npmrc'),
  npm_config_cache: join(home, 'cache'),
  npm_config_yes: 'true',
};
before(async () => {
  for (const folder of [prefix, work]) mkdirSync(folder);
  const tarball = await packInto(home);
  // The page names the file in the current folder.
  renameSync(tarball, join(work, basename(tarball)));
});
after(() => rmSync(home, { recursive: true, force: true }));

const shellBlocks = blocksIn('docs/start.md').filter(({ language }) => language === 'sh');

/** The lines that the page shows as output. */
const shown = blocksIn('docs/start.md').flatMap(({ language, text }) =>
  language === 'text' ? text.split('\n').filter((line) => line !== '') : [],
);

/** A user of VS Code, who logs in at the page that the editor opens. */
const person = (): Person =>
  new Person(async (address) => {
    const browser = openBrowser(new URL(address).origin);
    const login = await browser.get(address);
    assert.equal(login.status, 200, login.body);
    return new URL((await browser.post(login.url, { user: 'alice' })).url).searchParams;
  });

/** The address in the settings for VS Code. */
function addressForEditor(): URL {
  const page = readFileSync(join(work, 'portcullis-clients.md'), 'utf8');
  const [, json = ''] = /## VS Code[^]*?```json\n([^]*?)```/.exec(page) ?? [];
  const { servers } = JSON.parse(json) as { servers: { portcullis: { type: string; url: string } } };
  assert.equal(servers.portcullis.type, 'http');
  return new URL(servers.portcullis.url);
}

async function callFromEditor(): Promise<void> {
  const url = addressForEditor();
  const user = person();
  const first = new StreamableHTTPClientTransport(url, { authProvider: user });
  const client = new Client({ name: 'Visual Studio Code', version: '1.104.0' });
  await assert.rejects(client.connect(first), /Unauthorized|authoriz/i);
  await first.finishAuth(user.returned);
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: user }));
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name).toSorted(), ['echo', 'get-sum']);
  const { content } = await client.callTool({ name: 'echo', arguments: { message: 'from the editor' } });
  assert.deepEqual(content, [{ type: 'text', text: 'Echo: from the editor' }]);
  await client.close();
}

test('the Start page leads from the tarball to authorized tool calls in five minutes', async (t) => {
  const last = shellBlocks.at(-1)?.text ?? '';
  assert.ok(
    shellBlocks.length > 4 && last.includes('kill %1 %2'),
    'the last block ends what the page has started',
  );
  const from = performance.now();
  const blocks = shellBlocks.slice(0, -1).map(({ text }) => text);
  // Without a terminal, only -m switches on the jobs that the page names. The editor calls before the last block.
  const steps = ['set -em', ...blocks, 'echo EDITOR', 'read -r _', last, 'wait'].join('\n');
  const child = spawn('bash', ['-c', steps], {
    cwd: work,
    env: environment,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  let error = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (output += part));
  child.stderr.setEncoding('utf8').on('data', (part: string) => (error += part));
  const reached = (): boolean => output.includes('EDITOR\n');
  while (!reached() && child.exitCode === null) await Promise.race([once(child.stdout, 'data'), ended]);
  assert.ok(reached(), `${output}\n${error}`);
  try {
    await callFromEditor();
  } finally {
    child.stdin.end('\n');
    await ended;
  }
  const ms = performance.now() - from;
  for (const line of shown) assert.ok(output.includes(line), `${line}\n${output}\n${error}`);
  t.diagnostic(`from the tarball to all calls: ${(ms / 1_000).toFixed(1)} s`);
  assert.ok(ms < longestMs, `${ms} ms`);
});
