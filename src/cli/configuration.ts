import { loadFile, loadText, renderProblem, type LoadResult, type Problem } from '../config/index.ts';
import { rememberSecrets } from '../telemetry/index.ts';
import type { Terminal } from './command.ts';
import { inlineName, type Given } from './givenConfiguration.ts';

export function load(given: Given, terminal: Terminal): LoadResult {
  return 'file' in given
    ? loadFile(given.file, terminal.env)
    : loadText(given.text, { file: inlineName, env: terminal.env });
}

/**
 * Loads a configuration for a command that shows parts of it, and shows its warnings.
 * @returns undefined where the configuration is invalid, and its problems are shown
 */
export function loadToShow(
  given: Given,
  terminal: Terminal,
): Extract<LoadResult, { readonly ok: true }> | undefined {
  const result = load(given, terminal);
  if (!result.ok) {
    showProblems(result.problems, terminal);
    return undefined;
  }
  rememberSecrets(result.secrets.values);
  showWarnings(result.warnings, terminal);
  return result;
}

/** Shows problems, one a line, and how many there are. */
export function showProblems(problems: readonly Problem[], terminal: Terminal): void {
  for (const problem of problems) terminal.err(`${renderProblem(problem)}\n`);
  terminal.err(`${problems.length === 1 ? '1 problem' : `${problems.length} problems`}\n`);
}

export function showWarnings(warnings: readonly Problem[], terminal: Terminal): void {
  for (const warning of warnings) terminal.err(`warning: ${renderProblem(warning)}\n`);
}
