import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from './program.testing.ts';

const commandsIn = (help: string): readonly string[] => {
  const [, list = ''] = /commands:\n([^]*?)\n\n/.exec(help) ?? [];
  return Array.from(list.matchAll(/^ {2}(\S+)/gm), ([, name = '']) => name);
};

test('bash completes commands, the flags of a command, and files behind flags with a value', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-completion-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'config.yaml'), '');
  const script = (await run(['completion', 'bash'])).out;
  const complete = (...words: string[]): readonly string[] => {
    const line = ['portcullis', ...words].map((word) => `'${word}'`).join(' ');
    const code = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length}; _portcullis; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['-c', code], { cwd: folder, encoding: 'utf8' });
    assert.equal(stderr, '');
    return stdout.trim().split('\n');
  };
  const commands = commandsIn((await run(['--help'])).out);
  assert.ok(commands.includes('completion'));
  assert.deepEqual(complete(''), commands);
  assert.deepEqual(complete('ex'), ['explain']);
  assert.deepEqual(complete('check', '--on'), ['--online']);
  assert.ok(!complete('explain', '--').includes('--online'));
  assert.ok(complete('--').includes('--validate-only'), 'without a command, the flags are those of run');
  assert.deepEqual(complete('check', '-f', 'con'), ['config.yaml']);
  assert.deepEqual(complete('--file', ''), ['config.yaml']);
});

test('the scripts for zsh and fish have every command and its flags', async () => {
  const commands = commandsIn((await run(['--help'])).out);
  for (const shell of ['zsh', 'fish']) {
    const script = (await run(['completion', shell])).out;
    for (const name of commands) assert.match(script, new RegExp(`\\b${name}\\b`), `${shell} ${name}`);
    assert.match(script, /pid-file/);
  }
});

test('another shell is refused with the known ones', async () => {
  for (const args of [['completion'], ['completion', 'tcsh']]) {
    const { code, err } = await run(args);
    assert.equal(code, 2);
    assert.match(err, /expected one of bash, zsh, fish/);
  }
});

test('the version is also JSON', async () => {
  const { out } = await run(['--version', '--json']);
  const said = JSON.parse(out) as Record<string, string>;
  assert.deepEqual(Object.keys(said), ['name', 'version', 'node']);
  assert.equal(`portcullis ${said['version']}\n`, (await run(['--version'])).out);
});
