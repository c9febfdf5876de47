import { format } from 'prettier';
import { examples } from './examples.ts';

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;');

/** The text of examples/README.md: a table for each folder of examples. */
export async function examplesPage(): Promise<string> {
  const folders = Map.groupBy(examples(), ({ folder }) => folder);
  const tables = Array.from(folders, ([folder, all]) => {
    const rows = all.map(
      ({ path, name, description }) =>
        `| [${name}](${path.replace('examples/', '')}) | ${cell(description)} |`,
    );
    return `## ${folder}\n\n| example | what it shows |\n| - | - |\n${rows.join('\n')}`;
  });
  const text = `# Gallery

Complete configurations. A test runs each of them, and checks that it does what its first line says. The documentation site shows a picture of each.

${tables.join('\n\n')}

\`npm run generate\` makes this page from the examples.
`;
  return await format(text, { parser: 'markdown', printWidth: 110 });
}
