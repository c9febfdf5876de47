/**
 * `npm run generate` writes the files that are made from code; with `--check` it writes nothing and fails when one
 * of them is out of date.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configurationSchema } from '../src/config/index.ts';
import { crdFiles } from './crds/index.ts';
import { errorsPage } from './errorsPage.ts';
import { commandsPage } from './reference/commandsPage.ts';
import { examplesPage } from './reference/examplesPage.ts';
import { fieldPages } from './reference/fieldPages.ts';
import { uncheckedPage } from './reference/uncheckedPage.ts';

/** Path from the root of the repository → what it should hold. */
const generated: readonly { readonly path: string; readonly render: () => string | Promise<string> }[] = [
  { path: 'docs/errors.md', render: errorsPage },
  { path: 'docs/reference/commands.md', render: commandsPage },
  { path: 'docs/reference/unchecked.md', render: uncheckedPage },
  { path: 'examples/README.md', render: examplesPage },
  ...Array.from(await fieldPages(), ([path, text]) => ({ path, render: () => text })),
  { path: 'schema/portcullis.schema.json', render: configurationSchema },
  ...crdFiles,
];

const checkOnly = process.argv.includes('--check');

for (const { path, render } of generated) {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  const wanted = await render();
  const present = await readFile(file, 'utf8').catch(() => undefined);
  if (present === wanted) continue;
  if (checkOnly) {
    console.error(`${path} is out of date: run \`npm run generate\``);
    process.exitCode = 1;
    continue;
  }
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, wanted);
  console.log(`wrote ${path}`);
}
