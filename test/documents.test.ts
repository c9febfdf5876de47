/** The documents refer to things that exist. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { defaults } from '../src/model/index.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = globSync(['*.md', 'docs/**/*.md', 'apps/*/*.md', 'examples/**/*.md', 'bench/*.md'], {
  cwd: root,
});
const read = (page: string): string => readFileSync(join(root, page), 'utf8');

/** Targets of inline links, code blocks left out. */
const links = (text: string): string[] =>
  Array.from(
    text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/\]\(([^)\s]+)\)/g),
    ([, target]) => target ?? '',
  );

/** The anchor a heading gets. */
const anchors = (text: string): string[] =>
  Array.from(text.matchAll(/^#{1,6} (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('every link within the repository leads somewhere', () => {
  assert.ok(pages.includes('README.md'));
  const broken = pages.flatMap((page) =>
    links(read(page))
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? page : join(dirname(page), path);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && target.endsWith('.md') && !anchors(read(target)).includes(anchor);
      })
      .map((link) => `${page}: ${link}`),
  );
  assert.deepEqual(broken, []);
});

/** The README of the folder of a page, or of the nearest folder above with one. */
const indexOf = (page: string): string => {
  let folder = page.endsWith('/README.md') ? dirname(dirname(page)) : dirname(page);
  while (!existsSync(join(root, folder, 'README.md'))) folder = dirname(folder);
  return `${folder}/README.md`;
};

test('every page of the documents is listed by the index of its folder', () => {
  const missing = pages
    .filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
    .filter((page) => {
      const index = indexOf(page);
      return !links(read(index))
        .map((link) => join(dirname(index), link))
        .includes(page);
    });
  assert.deepEqual(missing, []);
});

test('every command of package.json that the documents name exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const unknown = pages.flatMap((page) =>
    Array.from(read(page).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g), ([, name = '']) => name)
      .filter((name) => !(name in scripts))
      .map((name) => `${page}: npm run ${name}`),
  );
  assert.deepEqual(unknown, []);
});

test('every command of package.json runs a file that exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const missing = Object.entries(scripts).flatMap(([name, command]) =>
    Array.from(command.matchAll(/^node ([\w.][\w./-]*)/g), ([, file = '']) => file)
      .filter((file) => !existsSync(join(root, file)))
      .map((file) => `npm run ${name}: ${file}`),
  );
  assert.deepEqual(missing, []);
});

test('the standard ports in the documents are those of the defaults', () => {
  const { admin, stats, readiness } = defaults.fixed;
  const text = read('docs/observability.md');
  for (const address of [admin, stats, readiness]) {
    assert.equal(address.kind, 'tcp');
    if (address.kind === 'tcp') assert.ok(text.includes(`:${String(address.port)}`));
  }
});

test('every metric that the source registers is in the documents', () => {
  const documented = read('docs/metrics.md');
  const registered = globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !/\.(?:test|testing)\.ts$/.test(file))
    .flatMap((file) =>
      Array.from(
        read(file).matchAll(/\.(?:counter|gauge|histogram|collect)\(\s*'([a-z0-9_]+)'/g),
        ([, name = '']) => name,
      ),
    );
  assert.ok(registered.length > 5);
  assert.deepEqual(
    registered.filter((name) => !documented.includes(`\`portcullis_${name}\``)),
    [],
  );
});
