/** The sections of the site: the tables of docs/README.md, and those of the README of a folder. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** A page, or a folder with pages, in the sidebar. */
export type Entry =
  | { readonly label: string; readonly file: string }
  | { readonly label: string; readonly entries: readonly Entry[] };

export interface Section {
  readonly label: string;
  readonly entries: readonly Entry[];
}

/** Tables begin with a row like this: the first column links to pages. */
const row = /^\| \[([^\]]+)\]\(([^)#]+\.md)\)/;

/** Reads a page of the repository. */
export const readPage = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The heading of a page. @throws Error for a page without one */
export function titleOf(text: string, file: string): string {
  const [, title] = /^# (.+)$/m.exec(text) ?? [];
  if (title === undefined) throw new Error(`${file} has no heading`);
  return title.replaceAll('`', '');
}

/** The pages that the tables of an index link to. A README of a folder stands for the pages of that folder. */
function entriesOf(
  lines: readonly string[],
  index: string,
  read: (file: string) => string,
): readonly Entry[] {
  return lines.flatMap((line): readonly Entry[] => {
    const [, label, link] = row.exec(line) ?? [];
    if (label === undefined || link === undefined) return [];
    const file = join(dirname(index), link);
    if (!file.endsWith('/README.md') || !file.startsWith('docs/')) return [{ label, file }];
    const inner = entriesOf(read(file).split('\n'), file, read).filter(
      (entry) => 'file' in entry && dirname(entry.file) === dirname(file),
    );
    return [{ label, entries: [{ label: 'Overview', file }, ...inner] }];
  });
}

/** Lines below each heading of a level, by the heading. */
function byHeading(
  lines: readonly string[],
  mark: string,
): readonly (readonly [string, readonly string[]])[] {
  const starts = lines.flatMap((line, at) => (line.startsWith(`${mark} `) ? [at] : []));
  return starts.map((at, index) => [
    (lines[at] ?? '').slice(mark.length + 1),
    lines.slice(at + 1, starts[index + 1] ?? lines.length),
  ]);
}

/** The sections of docs/README.md in their order. A heading of the third level is a group within its section. */
export function sections(read: (file: string) => string = readPage): readonly Section[] {
  const index = 'docs/README.md';
  return byHeading(read(index).split('\n'), '##').map(([label, lines]) => {
    const groups = byHeading(lines, '###');
    const first = lines.findIndex((line) => line.startsWith('### '));
    const own = entriesOf(first < 0 ? lines : lines.slice(0, first), index, read);
    return {
      label,
      entries: [
        ...own,
        ...groups.map(([name, below]) => ({ label: name, entries: entriesOf(below, index, read) })),
      ],
    };
  });
}

/** Every page below an entry. */
export const filesOf = (entry: Entry): readonly string[] =>
  'file' in entry ? [entry.file] : entry.entries.flatMap(filesOf);
