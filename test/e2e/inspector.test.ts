import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { GatewayProcess } from './gateway.testing.ts';
import { node, startBeforeEverything, startIdp } from './stage.testing.ts';

const launcher = fileURLToPath(
  new URL(
    '../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
    import.meta.url,
  ),
);

let idp: Awaited<ReturnType<typeof startIdp>>;
let gateway: GatewayProcess;
/** Its settings and secrets go into the home directory. */
const home = mkdtempSync(join(tmpdir(), 'inspector-home-'));

before(async () => {
  idp = await startIdp();
  gateway = await startBeforeEverything(idp);
});
after(async () => {
  await gateway?.stop();
  await idp?.close();
  rmSync(home, { recursive: true, force: true });
});

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function inspect(token: string, ...args: string[]): Promise<Outcome> {
  const child = spawn(
    node,
    [
      launcher,
      '--cli',
      '--server-url',
      `${gateway.url}/mcp`,
      '--transport',
      'http',
      '--header',
      `Authorization: Bearer ${token}`,
      '--stored-auth-only',
      '--format',
      'json',
      ...args,
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOME: home },
    },
  );
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

async function resultOf(...args: string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await inspect(await idp.issueToken({ user: 'alice' }), ...args);
  assert.equal(code, 0, `${out}\n${err}`);
  return (JSON.parse(out) as { result: Record<string, unknown> }).result;
}

test('the Inspector lists tools and calls one with a bearer header', async () => {
  const { tools } = (await resultOf('--method', 'tools/list')) as { tools: { name: string }[] };
  assert.ok(tools.some(({ name }) => name === 'echo'));
  const { content } = await resultOf(
    '--method',
    'tools/call',
    '--tool-name',
    'echo',
    '--tool-arg',
    'message=from the inspector',
  );
  assert.deepEqual(content, [{ type: 'text', text: 'Echo: from the inspector' }]);
});

test('in both eras, since it falls back to sessions', async () => {
  const { prompts } = (await resultOf('--method', 'prompts/list', '--protocol-era', 'auto')) as {
    prompts: { name: string }[];
  };
  assert.ok(prompts.some(({ name }) => name === 'args-prompt'));
});

test('the Inspector is refused without the group', async () => {
  const { code, out, err } = await inspect(
    await idp.issueToken({ client: 'outsider' }),
    '--method',
    'tools/list',
  );
  assert.notEqual(code, 0);
  assert.match(out + err, /403|forbidden|authorization/i);
});
