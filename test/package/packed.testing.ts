import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

interface Manifest {
  readonly files: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
}

/** The manifest of the repository. */
export const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;

/**
 * Packs the npm package by the steps of `prepack`, in a folder of their own: other tests use the checkout meanwhile.
 * @returns the path of the tarball, in the folder
 */
export async function packInto(folder: string): Promise<string> {
  const staged = join(folder, 'staged');
  mkdirSync(staged);
  const script = async (name: string, ...args: string[]): Promise<string> =>
    (await execute(process.execPath, [join(root, 'scripts', name), ...args], { maxBuffer: 1 << 26 })).stdout;
  await script('bundle.ts', staged);
  await script('manifest.ts', 'publish', staged);
  const vite = [join(root, 'node_modules/vite/bin/vite.js'), 'build', 'ui', '--logLevel', 'warn'];
  await execute(process.execPath, [...vite, '--outDir', join(staged, 'ui/dist')], { cwd: root });
  const lists = ['dist/packages.json', 'ui/dist/licenses.txt'].map((list) => join(staged, list));
  writeFileSync(join(staged, 'sbom.cdx.json'), await script('sbom.ts', ...lists));
  for (const part of own.files)
    if (!existsSync(join(staged, part))) cpSync(join(root, part), join(staged, part), { recursive: true });
  await execute('npm', ['pack', '--pack-destination', folder, staged], { cwd: folder });
  const [tarball = ''] = globSync('portcullis-*.tgz', { cwd: folder });
  return join(folder, tarball);
}
