/**
 * Runs the shell blocks of documents as they are: each page in a network of its own, which has the ports that the page
 * names, and no other host.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { launcher } from '../../src/launcher.testing.ts';
import { blocksIn, type Block } from '../support/blocks.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A network with loopback only, and an empty /run, in which a page may name files. */
const alone = [
  ...['--net', '--mount', '--map-root-user'],
  // The end of the first process ends all others.
  ...['--pid', '--fork', '--kill-child', '--mount-proc'],
  ...['sh', '-c'],
] as const;
const setUp = 'ip link set lo up && mount -t tmpfs none /run && mkdir /run/portcullis';
const possible =
  spawnSync('unshare', [...alone, setUp]).status === 0 && spawnSync('curl', ['--version']).status === 0;
const skip = possible ? false : 'unshare, ip, mount or curl is missing';

interface Page {
  readonly page: string;
  /** Runs in the root of the repository; by default in an empty folder. */
  readonly inRoot?: boolean;
  /** Commands before the blocks. */
  readonly first?: string;
  /** Files of the folder, made of the blocks of YAML of the page. */
  readonly file?: string;
}

const waitFor = (url: string): string =>
  `curl -s -o /dev/null --retry 100 --retry-delay 1 --retry-connrefused ${url}`;
const ready = waitFor('http://localhost:15021/healthz/ready');

/** The gateway that pages about operation speak of, and one whose admin port is a socket. */
const operated = `
ADMIN_ADDR=127.0.0.1:15000 portcullis -f examples/why/config.yaml &
ADMIN_ADDR=unix:/run/portcullis/admin.sock STATS_ADDR=off READINESS_ADDR=127.0.0.1:15031 \
  portcullis -c 'binds: [{ port: 8099, listeners: [{ routes: [{ backends: [{ host: "x:1" }] }] }] }]' &
${ready}
${waitFor('http://localhost:15031/healthz/ready')}
SECRET=$(cat "$TMPDIR"/portcullis.*/admin-127.0.0.1-15000)
`;

const pages: readonly Page[] = [
  { page: 'docs/start.md' },
  { page: 'docs/quickstart.md', inRoot: true },
  { page: 'docs/protocol-versions.md', inRoot: true },
  { page: 'docs/admin-api.md', inRoot: true, first: operated },
  { page: 'docs/console.md', inRoot: true, first: operated },
  { page: 'docs/observability.md', inRoot: true, first: operated },
  { page: 'docs/why.md', inRoot: true },
  // The block serves until the gateway is told to stop.
  { page: 'README.md', file: 'config.yaml', first: `(${ready}; portcullis admin --post /quitquitquit) &\n` },
];

const isRun = ({ language, unchecked, text: commands }: Block): boolean =>
  language === 'sh' && unchecked === undefined && !/^npm (?:ci|run|test|install)/.test(commands);

describe('the shell blocks of the documents', { skip, concurrency: 3 }, () => {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-blocks-'));
  const bin = join(home, 'bin');

  before(() => {
    mkdirSync(bin);
    writeFileSync(join(bin, 'portcullis'), `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`);
    chmodSync(join(bin, 'portcullis'), 0o755);
  });
  after(() => rmSync(home, { recursive: true }));

  /** The output of each block of a page that is run. */
  const outputsOf = async (
    { page, inRoot, first = '', file }: Page,
    blocks: readonly Block[],
  ): Promise<string[]> => {
    const folder = join(home, page.replaceAll('/', '-'));
    mkdirSync(folder);
    // npx finds the packages here instead of fetching them.
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const yaml = blocksIn(page).find(({ language }) => language === 'yaml');
    if (file !== undefined) writeFileSync(join(folder, file), yaml?.text ?? '');
    const steps = blocks.map((block) => `${block.text}echo; echo '<<'\n`).join('');
    // Without a terminal, only this switches on the jobs that pages name.
    writeFileSync(join(folder, 'steps.sh'), `set -em\n${first}echo '<<'\n${steps}`);
    const env = {
      ...process.env,
      PATH: `${bin}:${join(root, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
      HOME: folder,
      TMPDIR: folder,
    };
    const command = `${setUp} && exec bash '${join(folder, 'steps.sh')}'`;
    const child = spawn('unshare', [...alone, command], {
      cwd: inRoot === true ? root : folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 240_000,
    });
    const status = new Promise((resolve) => child.on('close', resolve));
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.equal(await status, 0, `${out}\n${err}`);
    return out.split('<<\n').slice(1);
  };

  for (const each of pages)
    test(`${each.page} prints what it says`, { timeout: 280_000 }, async () => {
      const all = blocksIn(each.page);
      const blocks = all.filter(isRun);
      assert.ok(blocks.length > 0);
      const outputs = await outputsOf(each, blocks);
      blocks.forEach((block, at) => {
        const next = all[all.indexOf(block) + 1];
        if (next?.language !== 'text') return;
        for (const line of next.text.split('\n').filter((said) => said !== ''))
          assert.ok(outputs[at]?.includes(line), `line ${String(next.line)}: ${line}\n${outputs[at] ?? ''}`);
      });
    });
});
