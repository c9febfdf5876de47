import { format } from 'prettier';
import { blocksIn, covered, mark, pagesWithBlocks } from '../../test/support/blocks.ts';

const linkTo = (file: string): string =>
  file.startsWith('docs/') ? `../${file.slice('docs/'.length)}` : `../../${file}`;

/** The text of docs/reference/unchecked.md: the blocks of the documents that no test runs. */
export async function uncheckedPage(): Promise<string> {
  const rows = pagesWithBlocks()
    .flatMap((page) => blocksIn(page))
    .flatMap(({ page, text, unchecked }) => {
      if (unchecked === undefined) return [];
      const [, command = ''] = text.split('\n');
      return [
        `| [${page}](${linkTo(page)}) | \`${command
          .replaceAll('|', String.raw`\|`)
          .replace(/\s+(?:#.*|\\)$/, '')
          .slice(0, 60)}\` | ${unchecked} |`,
      ];
    });
  const text = `# Blocks without a test

Tests check every block of YAML in these documents, and run the blocks of shell commands. \`npm run test:pods\` runs the [guides](../guides/README.md) on a cluster. A block that no test can run begins with \`${mark}\` and the reason. These are all of them:

| page | block | reason |
| - | - | - |
${rows.join('\n')}

Other tests run the commands of these pages with values of their own, such as another issuer:

| page | test |
| - | - |
${Object.entries(covered)
  .map(([page, [test]]) => `| [${page}](${linkTo(page)}) | [${test}](${linkTo(test)}) |`)
  .join('\n')}

\`npm run generate\` makes this page from the documents.
`;
  return await format(text, { parser: 'markdown', printWidth: 110 });
}
