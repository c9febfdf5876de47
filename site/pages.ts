/** The pages of the site, made of the Markdown of the repository. */
import { globSync } from 'node:fs';
import { examples, type Example } from '../scripts/reference/examples.ts';
import { addressOf, idOf, withSiteLinks, type Surroundings } from './addresses.ts';
import { pictureOf } from './picture.ts';
import { filesOf, readPage, root, sections, titleOf, type Entry } from './sections.ts';

export interface Page {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  /** Markdown without the heading, with links for the site. */
  readonly body: string;
  /** A list of the headings stands beside the page. A long list would take the room of wide tables. */
  readonly contents: boolean;
}

/** A part of Starlight's sidebar. */
export type SidebarItem =
  | { readonly label: string; readonly link: string }
  | { readonly label: string; readonly collapsed: boolean; readonly items: readonly SidebarItem[] };

export interface Site {
  readonly pages: readonly Page[];
  readonly sidebar: readonly SidebarItem[];
}

export interface SiteOptions {
  readonly base?: string;
  readonly repository?: string | undefined;
}

/** The first paragraph as one line of text, for search engines. */
function descriptionOf(body: string): string {
  const paragraph = body.split('\n\n').find((each) => /^[A-Z`[*]/.test(each.trim())) ?? '';
  const text = paragraph
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*_\n]+/g, ' ')
    .trim();
  return text.length <= 200 ? text : `${text.slice(0, text.lastIndexOf(' ', 197))} …`;
}

/** A page with more headings has no list of them. */
const mostHeadings = 20;

const pageOf = (file: string, surroundings: Surroundings): Page => {
  const text = readPage(file);
  const title = titleOf(text, file);
  const body = withSiteLinks(text.replace(/^# .+\n+/m, ''), file, surroundings);
  const contents = (body.match(/^## /gm) ?? []).length <= mostHeadings;
  return { id: idOf(file), title, description: descriptionOf(body), body, contents };
};

/** A comment as HTML. */
const withCode = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>');

/** A page for an example: its picture, its description and its text. */
const examplePage = (example: Example): Page => ({
  id: idOf(example.path),
  title: `${example.folder}: ${example.name}`,
  description: example.description,
  body: `${withCode(example.description)}\n\n${pictureOf(example)}\n\n\`\`\`yaml title="${example.path}"\n${example.text}\`\`\`\n`,
  contents: false,
});

/** The page of all examples: a card with a picture for each. */
const galleryPage = (all: readonly Example[], surroundings: Surroundings): Page => {
  const card = (example: Example): string =>
    `<a class="example" href="${addressOf(example.path, surroundings) ?? ''}">${pictureOf(example)}<strong>${example.name}</strong><span>${withCode(example.description)}</span></a>`;
  const folders = Array.from(
    Map.groupBy(all, ({ folder }) => folder),
    ([folder, some]) => `## ${folder}\n\n<div class="examples">${some.map(card).join('')}</div>`,
  );
  const intro =
    'Complete configurations, each with a picture of its listeners, routes, policies and backends. A test runs each of them.';
  return {
    id: 'gallery',
    title: 'Gallery',
    description: intro,
    body: `${intro}\n\n${folders.join('\n\n')}\n`,
    contents: true,
  };
};

const notFound = (base: string): Page => ({
  id: '404',
  title: 'Page not found',
  description: 'There is no such page.',
  body: `There is no page at this address. Search for it, or begin at the [start page](${base}).\n`,
  contents: false,
});

/** Files of the repository that the sections must list: every document. */
const documents = (): readonly string[] => globSync('docs/**/*.md', { cwd: root }).sort();

/** Those of the documents that no section lists, and pages that sections list twice. */
export function misplaced(files = documents()): readonly string[] {
  const placed = sections().flatMap(({ entries }) => entries.flatMap(filesOf));
  return [
    ...files
      .filter((file) => file !== 'docs/README.md' && !placed.includes(file))
      .map((file) => `${file} is in no section of docs/README.md`),
    ...placed
      .filter((file, at) => placed.indexOf(file) !== at)
      .map((file) => `${file} is in two sections of docs/README.md`),
  ];
}

/**
 * All pages and the sidebar.
 * @throws Error if a document is in no section, or two pages have the same address
 */
export function site({ base = '/', repository }: SiteOptions = {}): Site {
  const problems = misplaced();
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const all = examples();
  const listed = sections();
  const files = listed.flatMap(({ entries }) => entries.flatMap(filesOf));
  const surroundings: Surroundings = {
    pages: new Set(['README.md', 'docs/README.md', ...files, ...all.map(({ path }) => path)]),
    base,
    ...(repository === undefined ? {} : { repository }),
  };
  const ids = [...surroundings.pages].map(idOf);
  const repeated = ids.find((id, at) => ids.indexOf(id) !== at);
  if (repeated !== undefined) throw new Error(`two pages have the address /${repeated}/`);
  const linkOf = (file: string): string => `/${idOf(file)}/`;
  const itemOf = (entry: Entry, collapsed: boolean): SidebarItem =>
    'file' in entry
      ? { label: entry.label, link: linkOf(entry.file) }
      : { label: entry.label, collapsed, items: entry.entries.map((each) => itemOf(each, true)) };
  const gallery = Array.from(
    Map.groupBy(all, ({ folder }) => folder),
    ([folder, some]): SidebarItem => ({
      label: folder,
      collapsed: true,
      items: some.map(({ name, path }) => ({ label: name, link: linkOf(path) })),
    }),
  );
  return {
    pages: [
      ...['README.md', 'docs/README.md', ...files.filter((file) => file !== 'examples/README.md')].map(
        (file) => pageOf(file, surroundings),
      ),
      galleryPage(all, surroundings),
      ...all.map(examplePage),
      notFound(base),
    ],
    sidebar: listed.map(({ label, entries }, at) => ({
      label,
      collapsed: at > 1,
      items: [
        ...entries.map((entry) => itemOf(entry, at > 1)),
        ...(entries.some((entry) => filesOf(entry).includes('examples/README.md')) ? gallery : []),
      ],
    })),
  };
}
