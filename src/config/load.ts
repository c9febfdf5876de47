import { isUtf8 } from 'node:buffer';
import { messageOf } from '../errorText.ts';
import { readRegularFile } from '../files/index.ts';
import type { Model, Place } from '../model/index.ts';
import { readFilesOf } from '../mcp/targets/facts.ts';
import { buildModel } from './build/model.ts';
import { missingCommands, namedFiles, type NamedFile } from './files.ts';
import { isLiteral } from './literals.ts';
import { checkOperatorAddresses } from './operatorAddresses.ts';
import { readOverrides } from './overrides.ts';
import { formatPath, valueAt, type Path } from './path.ts';
import { compareProblems, type Problem } from './problem.ts';
import { checkReferences } from './references.ts';
import { reporter } from './report.ts';
import { concealer, secretsOf, type Secrets } from './secrets.ts';
import { namesModules } from './schema/accessLog.ts';
import { readTree, type Tree } from './tree.ts';
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
      /** Everything on this machine that the configuration names, programs among them. */
      readonly named: readonly NamedFile[];
      readonly secrets: Secrets;
      /** No port would be open, and the text does not say `binds: []`. */
      readonly closesEverything: boolean;
    }
  | {
      readonly ok: false;
      readonly problems: readonly Problem[];
      /** Files that the text names: the problem may be the content of one. Absent where the text is no tree. */
      readonly files?: readonly string[];
    };

export interface LoadOptions {
  /** Name that problems and places carry. */
  readonly file: string;
  /** Variables for `$NAME` in values, and those that override `config`. */
  readonly env: Environment;
  /** `$NAME` in values stands for itself. */
  readonly literal?: boolean;
}

/**
 * Reads a configuration from its text. Never throws: whatever is wrong with the text is in `problems`, all at once. No
 * problem and no warning quotes the value of a variable.
 */
export function loadText(text: string, options: LoadOptions): LoadResult {
  const { file, env, literal = false } = options;
  const tree = readTree(text, file, env, literal ? () => true : isLiteral);
  const result = loadTree(tree, options);
  const secrets = result.ok ? result.secrets : secretsOf(tree.value, tree, env);
  const conceal = concealer(tree, env, secrets);
  if (!result.ok) return { ...result, problems: result.problems.map(conceal) };
  return { ...result, warnings: result.warnings.map(conceal) };
}

/** The same result with a warning for each program that is not there. */
export function withMissingCommands(result: LoadResult, env: Environment): LoadResult {
  if (!result.ok) return result;
  return { ...result, warnings: [...result.warnings, ...missingCommands(result.named, env)] };
}

function loadTree(tree: Tree, { file, env }: LoadOptions): LoadResult {
  const { overrides, problems: overrideProblems } = readOverrides(env);
  const problems: Problem[] = [...tree.problems];
  if (tree.value === undefined) {
    if (problems.length === 0) problems.push(emptyFile(file));
    return { ok: false, problems };
  }

  const { settings, problems: shapeProblems, value } = validate(tree, file);
  // A value that could not be read has been reported; that it does not fit either would only repeat it.
  for (const problem of shapeProblems) if (!tree.faulty.has(problem.path)) problems.push(problem);
  const report = reporter(tree, file, problems);
  checkReferences(value, report);
  problems.push(...overrideProblems);

  const placeOf = (path: Path): Place => ({ file, ...tree.place(path, 'value'), path: formatPath(path) });
  const named = namedFiles(value, placeOf);
  const files = named.flatMap(({ kind, name }) => (kind === 'file' ? [name] : []));
  if (settings === undefined || problems.length > 0)
    return { ok: false, problems: shortened(problems.toSorted(compareProblems), file), files };

  const { model, attached } = buildModel(settings, overrides, tree, file);
  const { terminationDeadlineMs, minTerminationDeadlineMs } = model.process.fixed;
  if (minTerminationDeadlineMs > terminationDeadlineMs) {
    report(
      ['config', 'connectionMinTerminationDeadline'],
      'value',
      'is longer than connectionTerminationDeadline, after which everything is closed',
    );
  }
  checkOperatorAddresses(model, report);
  if (problems.length > 0) return { ok: false, problems: problems.toSorted(compareProblems), files };
  const levelPath = ['config', 'logging', 'level'];
  const places = {
    top: placeOf([]),
    admin: placeOf(['config', 'adminAddr']),
    auditChain: placeOf(['config', 'audit', 'chain']),
    frontendTls: placeOf(['frontendPolicies', 'tls']),
    ...(namesModules(valueAt(value, levelPath)) && { moduleLevels: placeOf(levelPath) }),
  };
  return {
    ok: true,
    model,
    warnings: warningsOf(model, places, attached).toSorted(compareProblems),
    files: [...new Set([...files, ...readFiles(model)])],
    named,
    secrets: secretsOf(value, tree, env),
    closesEverything: model.binds.length === 0 && !('binds' in settings && settings.binds !== undefined),
  };
}

/** Files to which files lead that the configuration names. */
const readFiles = ({ binds }: Model): readonly string[] =>
  binds
    .flatMap(({ listeners }) => listeners)
    .flatMap((listener) => ('routes' in listener ? listener.routes : []))
    .flatMap(({ backends }) => backends)
    .flatMap((backend) => (backend.kind === 'mcp' ? backend.targets.flatMap(readFilesOf) : []));

/** Reads a configuration from a file. Never throws. */
export function loadFile(path: string, env: Environment): LoadResult {
  const read = readText(path);
  return 'text' in read ? loadText(read.text, { file: path, env }) : { ok: false, problems: [read.problem] };
}

/** The text of a file, or why it cannot be read. */
export function readText(path: string): { readonly text: string } | { readonly problem: Problem } {
  const problem = (message: string) => ({ problem: { file: path, path: '', message } });
  try {
    const bytes = readRegularFile(path);
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
  };
  const message = messageOf(error);
  return reasons[code] ?? (code === '' ? message : `cannot be read: ${message}`);
}

/** A file that is no configuration at all can have a problem for each of its lines. */
const maxProblems = 1_000;

function shortened(problems: readonly Problem[], file: string): readonly Problem[] {
  const more = problems.length - maxProblems;
  if (more <= 0) return problems;
  return [...problems.slice(0, maxProblems), { file, path: '', message: `has ${more} further problems` }];
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
