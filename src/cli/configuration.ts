import { loadFile, loadText, renderProblem, type LoadResult, type Problem } from '../config/index.ts';
import type { Terminal } from './command.ts';
import { inlineName, type Given } from './givenConfiguration.ts';

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
