import { z } from 'zod';
import { nearest } from './nearest.ts';
import { formatPath, valueAt, type Path } from './path.ts';
import type { Problem } from './problem.ts';
import type { Tree } from './tree.ts';

type Issue = z.core.$ZodIssue;
type WordIssue = Extract<Issue, { code: 'invalid_value' }>;

const notBuiltMessage = 'known, but not built yet in this version';

/**
 * For `safeParse`: leaves the message of every issue empty that a schema gave no message of its own, and hands the
 * known fields of an object over in the message of `unrecognized_keys` (built ones, `|`, the others), the only way they
 * come out of zod.
 */
export const blankMessages: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== 'unrecognized_keys') return '';
  const { shape } = (issue.inst as z.ZodObject)._zod.def;
  const isBuilt = (name: string): boolean =>
    !(shape[name] instanceof z.ZodOptional && shape[name].unwrap() instanceof z.ZodNever);
  const names = Object.keys(shape);
  return [names.filter(isBuilt).join(' '), names.filter((name) => !isBuilt(name)).join(' ')].join('|');
};

/** Turns the issues of zod into problems with their places in the file. */
export function problemsOf(issues: readonly Issue[], value: unknown, tree: Tree, file: string): Problem[] {
  const misspelt = new Set(
    issues.filter((issue) => issue.code === 'unrecognized_keys').map((issue) => JSON.stringify(issue.path)),
  );
  return issues
    .filter(
      (issue) =>
        issue.code !== 'custom' ||
        issue.params?.['nothingGiven'] !== true ||
        !misspelt.has(JSON.stringify(issue.path)),
    )
    .flatMap((issue) => problems(issue, [], { value, tree, file }));
}

interface Context {
  readonly value: unknown;
  readonly tree: Tree;
  readonly file: string;
}

interface Finding {
  readonly message: string;
  readonly hint?: string | undefined;
  readonly part?: 'key' | 'value';
  readonly offset?: number;
}

function problems(issue: Issue, above: Path, context: Context): Problem[] {
  const path: Path = [
    ...above,
    ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
  ];
  if (issue.code === 'unrecognized_keys') {
    const [built = [], unbuilt = []] = issue.message
      .split('|')
      .map((names) => names.split(' ').filter((name) => name !== ''));
    return issue.keys.map((key) => problem([...path, key], unknownField(key, built, unbuilt), context));
  }
  if (issue.code === 'invalid_union' && issue.message === '' && issue.errors.length > 0) {
    const branch = likeliest(issue.errors);
    const word = otherWord(branch ?? []);
    if (word !== undefined)
      return [problem(path, orTypes(wrongWord(word, path, context), issue.errors), context)];
    if (branch !== undefined) return branch.flatMap((inner) => problems(inner, path, context));
  }
  return [problem(path, finding(issue, path, context), context)];
}

function problem(path: Path, found: Finding, { tree, file }: Context): Problem {
  const variables = tree.written(path)?.variables ?? [];
  const origin =
    variables.length === 0
      ? undefined
      : `the value comes from ${variables.map((name) => `$${name}`).join(', ')}`;
  const hint = [found.hint, origin].filter((part) => part !== undefined).join('; ');
  const place = tree.place(path, found.part ?? 'value', found.offset);
  return { file, ...place, path: formatPath(path), message: found.message, ...(hint === '' ? {} : { hint }) };
}

/** A list longer than this is no hint. */
const maxNamesInHint = 16;

function unknownField(key: string, built: readonly string[], unbuilt: readonly string[]): Finding {
  const meant = nearest(key, [...built, ...unbuilt]);
  const list =
    built.length > 0 && built.length <= maxNamesInHint ? `known fields: ${built.join(', ')}` : undefined;
  return {
    part: 'key',
    message: 'unknown field',
    hint: meant === undefined ? list : `did you mean ${meant}?`,
  };
}

/**
 * The form, among several accepted ones, that the user seems to have written: the value itself fits, parts of it
 * do not.
 */
function likeliest(branches: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const begun = branches.filter(
    (issues) => !issues.some((issue) => issue.path.length === 0 && issue.code === 'invalid_type'),
  );
  return begun.toSorted(
    (a, b) => Number(otherWord(a) !== undefined) - Number(otherWord(b) !== undefined) || a.length - b.length,
  )[0];
}

/** The issue of a value that as a whole is none of the words that a form consists of. */
function otherWord(issues: readonly Issue[]): WordIssue | undefined {
  return issues.find(
    (issue): issue is WordIssue => issue.path.length === 0 && issue.code === 'invalid_value',
  );
}

function finding(issue: Issue, path: Path, context: Context): Finding {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue, path, context);
    case 'invalid_value':
      return wrongWord(issue, path, context);
    case 'invalid_union':
      return {
        message:
          issue.message ||
          `expected ${expectedOf(issue.errors)}, got ${describe(valueAt(context.value, path))}`,
      };
    case 'too_small':
      return {
        message:
          issue.message || `expected at least ${String(issue.minimum)}${unit(issue.origin, issue.minimum)}`,
      };
    case 'too_big':
      return {
        message:
          issue.message || `expected at most ${String(issue.maximum)}${unit(issue.origin, issue.maximum)}`,
      };
    case 'invalid_key':
      return {
        part: 'key',
        message:
          issue.issues.map((inner) => inner.message).find((text) => text !== '') ?? 'is not a valid name',
      };
    case 'custom':
      return custom(issue);
    case 'invalid_format':
    case 'not_multiple_of':
    case 'invalid_element':
    case 'unrecognized_keys':
      return { message: issue.message || 'has not the expected form' };
  }
}

function wrongType(issue: Extract<Issue, { code: 'invalid_type' }>, path: Path, context: Context): Finding {
  if (issue.expected === 'never')
    return {
      part: 'key',
      message: notBuiltMessage,
      ...(issue.message === '' ? {} : { hint: issue.message }),
    };
  const value = valueAt(context.value, path);
  const expected = typeNames[issue.expected] ?? issue.expected;
  if (value !== undefined || context.tree.written(path) !== undefined)
    return { message: issue.message || `expected ${expected}, got ${describe(value)}` };
  return { message: issue.message || `is required (expected ${expected})` };
}

function wrongWord(issue: WordIssue, path: Path, context: Context): Finding {
  const words = issue.values.map(String);
  const value = valueAt(context.value, path);
  if (issue.message !== '') return { message: issue.message };
  if (value === undefined) return { message: `is required (expected ${words.join(', ')})` };
  const meant = typeof value === 'string' ? nearest(value, words) : undefined;
  return {
    message: `expected ${words.length === 1 ? '' : 'one of '}${words.join(', ')}`,
    ...(meant === undefined || words.length === 1 ? {} : { hint: `did you mean ${meant}?` }),
  };
}

/** The value is none of the words of one form; other forms may be no words at all. */
function orTypes(word: Finding, branches: readonly (readonly Issue[])[]): Finding {
  return { ...word, message: [word.message, ...typesOf(branches)].join(' or ') };
}

function custom(issue: Extract<Issue, { code: 'custom' }>): Finding {
  const offset: unknown = issue.params?.['offset'];
  const notBuilt = issue.params?.['notBuilt'] === true;
  return {
    message: issue.message || 'is not valid',
    ...(typeof offset === 'number' ? { offset } : {}),
    // A field that is not built is wrong as such, an expression that uses something unbuilt is wrong at that place.
    ...(notBuilt && offset === undefined ? { part: 'key' } : {}),
  };
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of fields',
  record: 'a map',
};

function expectedOf(branches: readonly (readonly Issue[])[]): string {
  const names = typesOf(branches);
  return names.length === 0 ? 'something else' : names.join(' or ');
}

/** The types of the forms that are no words, each once. */
function typesOf(branches: readonly (readonly Issue[])[]): readonly string[] {
  const names = branches.flatMap((issues) =>
    issues.flatMap((issue) =>
      issue.code === 'invalid_type' && issue.path.length === 0
        ? [typeNames[issue.expected] ?? issue.expected]
        : [],
    ),
  );
  return [...new Set(names)];
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  if (typeof value === 'number') return Number.isInteger(value) ? 'a whole number' : 'a number';
  return typeof value === 'boolean' ? String(value) : 'a string';
}

function unit(origin: string, amount: number | bigint): string {
  const words: Readonly<Record<string, readonly [string, string]>> = {
    array: [' entry', ' entries'],
    string: [' character', ' characters'],
    record: [' entry', ' entries'],
  };
  return words[origin]?.[Number(amount) === 1 ? 0 : 1] ?? '';
}
