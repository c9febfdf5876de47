import { eachSecretField } from '../schema/index.ts';
import type { Path } from './path.ts';
import type { Problem } from './problem.ts';
import { documentSchema } from './schema/document.ts';
import type { Tree } from './tree.ts';
import type { Environment } from './variables.ts';

/** Secrets of a configuration, and the variables that they came from. */
export interface Secrets {
  /** Environment variables that fields for secrets name; no child process may inherit them. */
  readonly variables: readonly string[];
  /** The secrets themselves, as they stand in values. */
  readonly values: readonly string[];
}

/** Variables that say who runs where. Every program needs them, and they hold no secret, wherever they are named. */
const ordinary =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|HOSTNAME|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|TMP|TEMP|XDG_\w+|APPDATA|LOCALAPPDATA|USERPROFILE|SystemRoot|NODE_ENV)$/i;

const isOrdinary = (name: string): boolean => ordinary.test(name);

/** The secrets of a document, by the marks of the schema. The document need not fit the schema. */
export function secretsOf(document: unknown, tree: Tree, env: Environment): Secrets {
  const variables = new Set<string>();
  const values = new Set<string>();
  eachSecretField(documentSchema, document, (field, { kind }) => {
    for (const [path, text] of leaves(document, field)) {
      const used = tree.written(path)?.variables ?? [];
      for (const name of used.filter((one) => !isOrdinary(one))) {
        const value = env[name] ?? '';
        if (kind === 'variable' && isPlainAddress(value)) continue;
        variables.add(name);
        values.add(value);
      }
      if (kind === 'secret' && !used.some(isOrdinary)) values.add(text);
    }
  });
  values.delete('');
  return { variables: [...variables], values: [...values] };
}

/**
 * An http(s) address that can hold no secret: without user, query and fragment, and with a path of plain words. An
 * operator needs to see the issuer and the servers that a log line is about.
 */
function isPlainAddress(value: string): boolean {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return false;
  if (url.username !== '' || url.password !== '' || /[?#]/.test(value)) return false;
  return url.pathname.split('/').every((segment) => segment.length <= 16 || /^[a-z._-]+$/i.test(segment));
}

function* leaves(document: unknown, path: Path): Iterable<readonly [Path, string]> {
  let here = document;
  for (const part of path)
    here =
      typeof here === 'object' && here !== null
        ? (here as Record<string | number, unknown>)[part]
        : undefined;
  if (typeof here === 'string' || typeof here === 'number') yield [path, String(here)];
  if (typeof here !== 'object' || here === null) return;
  for (const [key, member] of Array.isArray(here) ? here.entries() : Object.entries(here))
    if (member !== undefined) yield* leaves(document, [...path, key]);
}

/** Shorter values stand in ordinary words by chance. */
const shortest = 6;

/**
 * A function that takes values of variables out of problems, whatever field named them: a secret in the wrong place is
 * still one. The name of the variable tells more than its value.
 */
export function concealer(tree: Tree, env: Environment, secrets: Secrets): (problem: Problem) => Problem {
  const pairs: (readonly [value: string, mark: string])[] = [];
  for (const name of tree.variables) {
    const value = env[name];
    if (value === undefined || value === '' || isOrdinary(name)) continue;
    pairs.push([JSON.stringify(value), JSON.stringify(`$${name}`)]);
    if (value.length >= shortest) pairs.push([value, `$${name}`]);
  }
  for (const value of secrets.values) if (value.length >= shortest) pairs.push([value, '[redacted]']);
  // A value may be part of another one: the longer one goes first.
  pairs.sort(([a], [b]) => b.length - a.length);
  const conceal = (text: string): string =>
    pairs.reduce((hidden, [value, mark]) => hidden.replaceAll(value, () => mark), text);
  if (pairs.length === 0) return (problem) => problem;
  return ({ message, hint, ...rest }) => ({
    ...rest,
    message: conceal(message),
    ...(hint === undefined ? {} : { hint: conceal(hint) }),
  });
}
