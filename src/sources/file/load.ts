import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import type { Model, Place } from '../../model/index.ts';
import { buildModel } from './build/model.ts';
import { files } from './files.ts';
import { readOverrides } from './overrides.ts';
import { formatPath, type Path } from './path.ts';
import { compareProblems, type Problem } from './problem.ts';
import { checkReferences } from './references.ts';
import { reporter } from './report.ts';
import { readTree } from './tree.ts';
import { validate } from './validate.ts';
import type { Environment } from './variables.ts';
import { warningsOf } from './warnings.ts';

export type LoadResult =
  | {
      readonly ok: true;
      readonly model: Model;
      readonly warnings: readonly Problem[];
      /** Files that the configuration names and whose content counts as part of it, such as key sets. */
      readonly files: readonly string[];
      /** Environment variables that secrets of the gateway came from; no child process may inherit them. */
      readonly secretVariables: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export interface LoadOptions {
  /** Name that problems and places carry. */
  readonly file: string;
  /** Variables for `$NAME` in values, and those that override `config`. */
  readonly env: Environment;
}

/** Reads a configuration from its text. Never throws: whatever is wrong with the text is in `problems`, all at once. */
export function loadText(text: string, { file, env }: LoadOptions): LoadResult {
  const tree = readTree(text, file, env);
  const { overrides, problems: overrideProblems } = readOverrides(env);
  const problems: Problem[] = [...tree.problems];
  if (tree.value === undefined) {
    if (problems.length === 0) problems.push(emptyFile(file));
    return { ok: false, problems };
  }

  const { settings, problems: shapeProblems, value } = validate(tree, file);
  // A value that could not be read has been reported; that it does not fit either would only repeat it.
  problems.push(...shapeProblems.filter(({ path }) => !tree.faulty.has(path)));
  const report = reporter(tree, file, problems);
  checkReferences(value, report);
  problems.push(...overrideProblems);

  if (settings === undefined || problems.length > 0)
    return { ok: false, problems: problems.toSorted(compareProblems) };

  const { model, attached } = buildModel(settings, overrides, tree, file);
  const { terminationDeadlineMs, minTerminationDeadlineMs } = model.process.fixed;
  if (minTerminationDeadlineMs > terminationDeadlineMs) {
    report(
      ['config', 'connectionMinTerminationDeadline'],
      'value',
      'is longer than connectionTerminationDeadline, after which everything is closed',
    );
    return { ok: false, problems };
  }
  const placeOf = (path: Path): Place => ({ file, ...tree.place(path, 'value'), path: formatPath(path) });
  const places = { top: placeOf([]), admin: placeOf(['config', 'adminAddr']) };
  return {
    ok: true,
    model,
    warnings: warningsOf(model, places, attached).toSorted(compareProblems),
    files: files(value),
    secretVariables: tree.written(['config', 'session', 'key'])?.variables ?? [],
  };
}

/** Reads a configuration from a file. Never throws. */
export function loadFile(path: string, env: Environment): LoadResult {
  const read = readText(path);
  return 'text' in read ? loadText(read.text, { file: path, env }) : { ok: false, problems: [read.problem] };
}

/** The text of a file, or why it cannot be read. */
export function readText(path: string): { readonly text: string } | { readonly problem: Problem } {
  const problem = (message: string) => ({ problem: { file: path, path: '', message } });
  try {
    const bytes = readFileSync(path);
    // Otherwise a program, an archive or UTF-16 would be a page of errors with its bytes in them.
    return isUtf8(bytes) && !bytes.includes(0)
      ? { text: bytes.toString('utf8') }
      : problem('this is not a text file in UTF-8');
  } catch (error) {
    return problem(unreadable(error));
  }
}

function unreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: 'there is no such file',
    EACCES: 'the file may not be read by this user',
    EISDIR: 'this is a directory, not a file',
  };
  return reasons[code] ?? `cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}

function emptyFile(file: string): Problem {
  return {
    file,
    line: 1,
    column: 1,
    path: '',
    message: 'the configuration is empty',
    hint: 'expected `binds`, or `gateways` with `routes` or `mcp`',
  };
}
