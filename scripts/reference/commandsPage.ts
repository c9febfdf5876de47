import { format } from 'prettier';
import { commonFlags, everyCommand, exitCodes } from '../../src/cli/index.ts';

type Command = Awaited<ReturnType<typeof everyCommand>>[string];

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);

const sectionOf = (name: string, { summary, usage, flags, passThrough }: Command): string => {
  const rows = Object.entries(flags).map(([flag, { short, value, help, multiple }]) => {
    const forms = [
      ...(short === undefined ? [] : [`-${short}`]),
      `--${flag}${value === undefined ? '' : ` ${value}`}`,
    ];
    return `| ${forms.map((form) => `\`${cell(form)}\``).join(', ')} | ${cell(help)}${multiple === true ? '; may be repeated' : ''} |`;
  });
  return [
    `## portcullis ${name}`,
    `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`,
    `\`\`\`text\nportcullis ${name}${usage === '' ? '' : ` ${usage}`}\n\`\`\``,
    ...(rows.length === 0 ? [] : [['| flag | meaning |', '| - | - |', ...rows].join('\n')]),
    ...(passThrough === true ? [`\`portcullis ${name} --help\` prints the flags of the command.`] : []),
  ].join('\n\n');
};

/** The text of docs/reference/commands.md: every command with its flags. */
export async function commandsPage(): Promise<string> {
  const commands = await everyCommand();
  const common = Object.entries(commonFlags).map(([flag, { short, help }]) => {
    const letter = short === undefined ? '' : `\`-${short}\`, `;
    return `${letter}\`--${flag}\` (${help})`;
  });
  const text = `# Commands

\`portcullis\` is one program with a command for each task. Without the name of a command it is \`portcullis run\`. All commands have ${common.join(' and ')}. [The program](../running.md) describes signals and ports.

${Object.entries(commands)
  .map(([name, command]) => sectionOf(name, command))
  .join('\n\n')}

## Exit codes

| code | meaning |
| - | - |
${exitCodes.map(([code, meaning]) => `| ${String(code)} | ${meaning} |`).join('\n')}

\`npm run generate\` makes this page from the tables of the program.
`;
  return await format(text, { parser: 'markdown', printWidth: 110 });
}
