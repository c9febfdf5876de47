/** The parts of the documentation site; test/e2e/site.test.ts builds it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { withSiteLinks } from '../site/addresses.ts';
import { deadLinks } from '../site/checkLinks.ts';
import { misplaced } from '../site/pages.ts';
import { pictureOf } from '../site/picture.ts';
import { sections } from '../site/sections.ts';

test('every document is in one section of the site, and a new one is noticed', () => {
  assert.deepEqual(misplaced(), []);
  assert.deepEqual(misplaced(['docs/mcp.md', 'docs/new.md']), [
    'docs/new.md is in no section of docs/README.md',
  ]);
});

test('the sections of the site are the tables of the index, with groups and folders', () => {
  const files: Readonly<Record<string, string>> = {
    'docs/README.md':
      '# D\n\n## Start\n\n| page | contents |\n| - | - |\n| [First](first.md) | a |\n\n## More\n\n### Group\n\n| [Folder](x/README.md) | b |\n',
    'docs/x/README.md': '# X\n\n| page | contents |\n| [one](one.md) | c |\n| [other](../first.md) | d |\n',
  };
  assert.deepEqual(
    sections((file) => files[file] ?? ''),
    [
      { label: 'Start', entries: [{ label: 'First', file: 'docs/first.md' }] },
      {
        label: 'More',
        entries: [
          {
            label: 'Group',
            entries: [
              {
                label: 'Folder',
                entries: [
                  { label: 'Overview', file: 'docs/x/README.md' },
                  { label: 'one', file: 'docs/x/one.md' },
                ],
              },
            ],
          },
        ],
      },
    ],
  );
});

test('links between pages lead to pages of the site, and links to other files become text', () => {
  const surroundings = {
    pages: new Set(['docs/a.md', 'docs/x/README.md', 'examples/mcp/b.yaml']),
    base: '/p/',
  };
  const text = [
    '[a](../a.md#part) [x](.) [pic](https://e.com/x.md)',
    '![p](../images/p.png) [`code`](../../src/main.ts) [b](../../examples/mcp/b.yaml) [here](#part)',
    '```md',
    '[a](../a.md)',
    '```',
  ].join('\n');
  assert.equal(
    withSiteLinks(text, 'docs/x/y.md', surroundings),
    [
      '[a](/p/a/#part) [x](/p/x/overview/) [pic](https://e.com/x.md)',
      '![p](/p/images/p.png) `code` [b](/p/gallery/mcp/b/) [here](#part)',
      '```md',
      '[a](../a.md)',
      '```',
    ].join('\n'),
  );
  assert.equal(
    withSiteLinks('[m](../../src/main.ts)', 'docs/x/y.md', {
      ...surroundings,
      repository: 'https://git.example/r',
    }),
    '[m](https://git.example/r/blob/main/src/main.ts)',
  );
});

test('a picture in both colour schemes has an image for each theme of the site', () => {
  const picture =
    '<picture><source media="(prefers-color-scheme: dark)" srcset="images/a-dark.png"><img alt="A page" src="images/a-light.png"></picture>';
  assert.equal(
    withSiteLinks(picture, 'docs/a.md', { pages: new Set(), base: '/p/' }),
    '<img class="of-light" alt="A page" src="/p/images/a-light.png"><img class="of-dark" alt="A page" src="/p/images/a-dark.png">',
  );
});

test('dead pages, files and anchors of a built site are found', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-site-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const files: Readonly<Record<string, string>> = {
    'index.html':
      '<a href="/p/a/"> <a href="/p/a/#here"> <a href="a/"> <a href="/p/a/#gone"> <a href="https://e.com/no">',
    'a/index.html':
      '<h2 id="here"> <a href="#there"> <a href="/p/b/"> <img src="/p/no.png"> <a href="/elsewhere/">',
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  assert.deepEqual(deadLinks(folder, '/p/'), [
    'a/index.html: #there',
    'a/index.html: /p/b/',
    'a/index.html: /p/no.png',
    'a/index.html: /elsewhere/',
    'index.html: /p/a/#gone',
  ]);
});

test('the picture of a configuration names its listener, routes, policies and servers', () => {
  const text = `
binds:
- port: 3000
  listeners:
  - hostname: a.example.com
    routes:
    - matches: [{ path: { pathPrefix: /mcp } }]
      policies: { cors: { allowOrigins: ['https://e.com'] } }
      backends: [{ mcp: { targets: [{ name: files, stdio: { cmd: 'x<y' } }] } }]
    - backends: [{ host: '10.0.0.1:80' }]
`;
  const picture = pictureOf({ path: 'x.yaml', name: 'x', text });
  for (const shown of ['HTTP :3000', 'a.example.com', '/mcp', 'cors', 'files · stdio', '10.0.0.1:80'])
    assert.ok(picture.includes(`>${shown}</text>`), shown);
});
