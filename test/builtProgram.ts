/**
 * Builds the program of the npm package in `.cache/program`, for the thousands of gateways that `npm test` starts. The
 * console is a link to the one of the checkout, which its tests build.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const program = join(root, '.cache/program');
const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly files: readonly string[];
};

rmSync(program, { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'scripts/bundle.ts'), program], { stdio: 'inherit' });
mkdirSync(join(program, 'ui'));
symlinkSync(join(root, 'ui/dist'), join(program, 'ui/dist'));
for (const part of ['package.json', ...files])
  if (!existsSync(join(program, part)) && existsSync(join(root, part)) && part !== 'ui/dist')
    cpSync(join(root, part), join(program, part), { recursive: true });
