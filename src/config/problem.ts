/** An error (or, as a warning, a doubtful setting) of a configuration, and its place. */
export interface Problem {
  /** File name as given; `environment` for a variable that overrides the file. */
  readonly file: string;
  /** Both count from 1; absent where the problem has no place in a text (a file that cannot be read). */
  readonly line?: number;
  readonly column?: number;
  /** Field path such as `binds[0].port`; empty for the file as a whole. */
  readonly path: string;
  /** The error and the expected value; never the value of a secret. */
  readonly message: string;
  readonly hint?: string;
}

/** A line for people: `file:line:column: field.path: message (hint)`. */
export function renderProblem(problem: Problem): string {
  const place = [problem.file, problem.line, problem.column].filter((part) => part !== undefined).join(':');
  const path = problem.path === '' ? '' : `${problem.path}: `;
  const hint = problem.hint === undefined ? '' : ` (${problem.hint})`;
  return `${place}: ${path}${problem.message}${hint}`;
}

/** In the order of the text; problems without a place come first. */
export function compareProblems(a: Problem, b: Problem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
