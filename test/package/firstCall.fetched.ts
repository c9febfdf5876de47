/**
 * The first section of docs/first-hour.md, as it is written: from the tarball to a tool call of the Inspector and of a
 * client that logs in as VS Code does. npm begins with an empty cache, so this needs its registry. The ports of the page
 * must be free.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { openBrowser } from '../../apps/dev-idp/src/browser.testing.ts';
import { Person } from '../e2e/person.testing.ts';
import { packInto } from './packed.testing.ts';

const page = readFileSync(fileURLToPath(new URL('../../docs/first-hour.md', import.meta.url)), 'utf8');
const [, section = ''] = /^## Start in five minutes$([^]*?)^## /m.exec(page) ?? [];
/** The text of each shell block. */
const blocks = Array.from(section.matchAll(/^```sh\n([^]*?)^```/gm), ([, text = '']) => text);
/** Wall time of the whole section. */
const longestMs = 300_000;

const home = mkdtempSync(join(tmpdir(), 'portcullis-first-call-'));
const work = join(home, 'work');
const started: ChildProcess[] = [];
let tarball = '';

before(async () => {
  tarball = await packInto(home);
  mkdirSync(work);
  copyFileSync(tarball, join(work, basename(tarball)));
});
after(async () => {
  for (const child of started.toReversed())
    if (child.exitCode === null && child.signalCode === null) {
      // The shell, npx and the program are one process group.
      process.kill(-(child.pid ?? 0), 'SIGTERM');
      await once(child, 'close');
    }
  rmSync(home, { recursive: true, force: true });
});

interface Shell {
  readonly child: ChildProcess;
  output(): string;
}

function shell(code: string): Shell {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', code], {
    cwd: work,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      HOME: home,
      // The registry of this machine, and nothing that npm has fetched before.
      npm_config_userconfig: process.env['npm_config_userconfig'] ?? join(homedir(), '.npmrc'),
      npm_config_cache: join(home, 'cache'),
      npm_config_yes: 'true',
    },
  });
  started.push(child);
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (part: string) => (text += part));
  return { child, output: () => text };
}

/** Runs a block to its end. */
async function run(code: string): Promise<string> {
  const { child, output } = shell(code);
  const [status] = (await once(child, 'close')) as [number | null];
  assert.equal(status, 0, `${code}\n${output()}`);
  return output();
}

/** Runs a block that goes on, until its output matches. */
async function runUntil(code: string, pattern: RegExp): Promise<void> {
  const { child, output } = shell(code);
  const ended = once(child, 'close').then(() => assert.fail(`${code}\n${output()}`));
  while (!pattern.test(output()))
    await Promise.race([once(child.stdout!, 'data'), once(child.stderr!, 'data'), ended]);
  ended.catch(() => undefined);
}

/** A user of VS Code, who logs in at the page that the editor opens. */
const person = (): Person =>
  new Person(async (address) => {
    const browser = openBrowser(new URL(address).origin);
    const login = await browser.get(address);
    assert.equal(login.status, 200, login.body);
    return new URL((await browser.post(login.url, { user: 'alice' })).url).searchParams;
  });

test('the first section leads from the tarball to an authorized tool call in five minutes', async () => {
  const [install, idp, init, serve, call, ...rest] = blocks;
  assert.ok(install && idp && init && serve && call && rest.length === 0, `${blocks.length} blocks`);
  const from = performance.now();
  await run(install.replaceAll(/portcullis-[\d.]+\.tgz/g, basename(tarball)));
  await runUntil(idp, /issuer http/);
  assert.match(await run(init), /everything: \d+ tools/);
  await runUntil(serve, /ready ports=3000/);
  assert.match(await run(call), /Echo: hello/);

  const { servers } = JSON.parse(
    /"servers"[^]*?\n}/
      .exec(`{${readFileSync(join(work, 'portcullis-clients.md'), 'utf8')}`)?.[0]
      .replace(/^/, '{') ?? '{}',
  ) as { servers: { portcullis: { type: string; url: string } } };
  assert.equal(servers.portcullis.type, 'http');
  const url = new URL(servers.portcullis.url);
  const user = person();
  const first = new StreamableHTTPClientTransport(url, { authProvider: user });
  const client = new Client({ name: 'Visual Studio Code', version: '1.104.0' });
  await assert.rejects(client.connect(first), /Unauthorized|authoriz/i);
  await first.finishAuth(user.returned);
  await client.connect(new StreamableHTTPClientTransport(url, { authProvider: user }));
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['echo'],
  );
  const { content } = await client.callTool({ name: 'echo', arguments: { message: 'from the editor' } });
  assert.deepEqual(content, [{ type: 'text', text: 'Echo: from the editor' }]);
  await client.close();
  const ms = performance.now() - from;
  console.log(`from the tarball to both calls: ${(ms / 1_000).toFixed(1)} s`);
  assert.ok(ms < longestMs, `${ms} ms`);
});
