/**
 * `npm run docs`: builds the documentation site into site/dist, with its search. It needs no network. A dead link, or a
 * document in no section, fails the build.
 *
 * - `DOCS_URL`: the address of the site, such as `https://docs.example.com/portcullis/`; `/` of any host by default.
 * - `DOCS_REPOSITORY`: the address of the repository, for links to files that are no pages.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'astro';
import { deadLinks } from './checkLinks.ts';
import { site } from './pages.ts';
import { root } from './sections.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const { DOCS_URL: address, DOCS_REPOSITORY: repository } = process.env;
const base = address === undefined ? '/' : new URL(address.replace(/\/*$/, '/')).pathname;
// Reports of use would need the network.
process.env['ASTRO_TELEMETRY_DISABLED'] = '1';

const content = join(folder, '.content');
rmSync(content, { recursive: true, force: true });
mkdirSync(content);
writeFileSync(join(content, 'site.json'), JSON.stringify({ address, base, ...site({ base, repository }) }));
cpSync(join(folder, 'favicon.svg'), join(content, 'public/favicon.svg'));
cpSync(join(root, 'docs/images'), join(content, 'public/images'), { recursive: true });

await build({ root: folder, logLevel: 'error' });

const dead = deadLinks(join(folder, 'dist'), base);
if (dead.length > 0) {
  console.error(`dead links:\n${dead.join('\n')}`);
  process.exitCode = 1;
} else console.log('wrote site/dist');
