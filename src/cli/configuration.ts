import { loadFile, loadText, renderProblem, type LoadResult, type Problem } from '../config/index.ts';
import { UsageError, type Flag, type Flags, type Terminal } from './command.ts';

/** Name that problems of a configuration from the command line carry. */
export const inlineName = '<inline>';

export const configurationFlags: Readonly<Record<string, Flag>> = {
  file: { type: 'string', short: 'f', value: 'FILE', help: 'configuration file (YAML)', once: true },
  config: {
    type: 'string',
    short: 'c',
    value: 'YAML',
    help: 'configuration as text, instead of a file',
    once: true,
  },
};

export type Given = { readonly file: string } | { readonly text: string };

/** The one configuration that the command line names. */
export function givenConfiguration(flags: Flags, positionals: readonly string[]): Given {
  const { file, config } = flags;
  const given: Given[] = [
    ...(typeof file === 'string' ? [{ file }] : []),
    ...(typeof config === 'string' ? [{ text: config }] : []),
    ...positionals.map((name) => ({ file: name })),
  ];
  const [first, second] = given;
  if (first === undefined) throw new UsageError('no configuration given; use -f config.yaml');
  if (second !== undefined) throw new UsageError('more than one configuration given; expected one');
  return first;
}

export function load(given: Given, terminal: Terminal): LoadResult {
  return 'file' in given
    ? loadFile(given.file, terminal.env)
    : loadText(given.text, { file: inlineName, env: terminal.env });
}

/** Shows problems, one a line, and how many there are. */
export function showProblems(problems: readonly Problem[], terminal: Terminal): void {
  for (const problem of problems) terminal.err(`${renderProblem(problem)}\n`);
  terminal.err(`${problems.length === 1 ? '1 problem' : `${problems.length} problems`}\n`);
}

export function showWarnings(warnings: readonly Problem[], terminal: Terminal): void {
  for (const warning of warnings) terminal.err(`warning: ${renderProblem(warning)}\n`);
}
