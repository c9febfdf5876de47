/**
 * Builds the program of the npm package in `.cache/program`, for the thousands of gateways that `npm test` starts. The
 * console is a link to the one of the checkout, which its tests build.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const program = join(root, '.cache/program');

rmSync(program, { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'scripts/bundle.ts'), program], { stdio: 'inherit' });
mkdirSync(join(program, 'ui'));
symlinkSync(join(root, 'ui/dist'), join(program, 'ui/dist'));
for (const part of ['package.json', 'bin'])
  cpSync(join(root, part), join(program, part), { recursive: true });
