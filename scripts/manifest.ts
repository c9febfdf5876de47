/**
 * Replaces `package.json` by the manifest of the published package while `npm pack` runs:
 *
 *   node scripts/manifest.ts publish [FOLDER]   the last step of `prepack`; FOLDER: leave the checkout alone, write there
 *   node scripts/manifest.ts restore            the first step of `postpack`
 *
 * The bundle contains the packages that the gateway runs on, so an installation must not fetch them. Where npm is
 * killed between the two, `restore` (or git) brings the manifest of the checkout back.
 */
import { copyFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const manifest = resolve(root, 'package.json');
const kept = resolve(root, '.cache/package.json');

/** Fields that say something to those who install the package. */
const published = ['name', 'version', 'description', 'license', 'type', 'bin', 'files', 'engines'] as const;

const [step, folder] = process.argv.slice(2);
if (step === 'publish') {
  const all = JSON.parse(readFileSync(manifest, 'utf8')) as Readonly<Record<string, unknown>>;
  if (!('dependencies' in all))
    throw new Error('package.json is not that of a checkout: manifest.ts restore');
  if (folder === undefined) {
    mkdirSync(resolve(root, '.cache'), { recursive: true });
    copyFileSync(manifest, kept);
  }
  const fields = Object.fromEntries(published.map((field) => [field, all[field]]));
  writeFileSync(
    folder === undefined ? manifest : resolve(folder, 'package.json'),
    `${JSON.stringify(fields, undefined, 2)}\n`,
  );
} else if (step === 'restore') renameSync(kept, manifest);
else throw new Error('usage: node scripts/manifest.ts publish [FOLDER] | restore');
