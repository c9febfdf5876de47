/** The blocks of code in the documents. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

export interface Block {
  readonly page: string;
  readonly line: number;
  /** The first word after the fence; empty for none. */
  readonly language: string;
  /** What follows it. */
  readonly label: string;
  readonly text: string;
  /** The reason why no test runs or checks it, which is its first line, as a comment. */
  readonly unchecked?: string;
}

/** The pages with blocks for users. */
export const pagesWithBlocks = (): readonly string[] =>
  globSync(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/**/*.md', 'apps/*/*.md'], {
    cwd: root,
  }).sort();

/** Begins the first line of a block that no test checks; the reason follows. */
export const mark = '# Not run by a test: ';

/** All blocks of a page. Those in lists are indented. */
export function blocksIn(page: string, text = readFileSync(`${root}${page}`, 'utf8')): readonly Block[] {
  return Array.from(text.matchAll(/^( *)```(\S*) ?(.*)\n([\s\S]*?)^\1```$/gm), (match) => {
    const [, indent = '', language = '', label = '', body = ''] = match;
    const content = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    const [first = ''] = content.split('\n', 1);
    return {
      page,
      line: text.slice(0, match.index).split('\n').length,
      language,
      label,
      text: content,
      ...(first.startsWith(mark) ? { unchecked: first.slice(mark.length) } : {}),
    };
  });
}

/** Pages whose commands a test runs with values of its own, such as another issuer. It has these texts. */
export const covered: Readonly<Record<string, readonly [file: string, ...texts: string[]]>> = {
  'docs/audit.md': ['test/e2e/examples.test.ts', "'audit', 'verify'", "'--key'"],
  'docs/first-hour.md': ['test/e2e/firstHour.test.ts', "'init'", "'import'", "'--env-file'", "'--allow'"],
  'docs/pins.md': ['src/cli/pins.test.ts', "'approve'", "'reject'"],
  'docs/upgrade.md': ['test/e2e/upgrade.test.ts', "'SIGUSR2'", "'upgrade', '--admin'"],
};
