import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { readRegularFile } from '../files/index.ts';
import type { Place } from '../model/index.ts';
import { eachNamedFile, type FileMark } from '../schema/index.ts';
import { valueAt, type Path } from './path.ts';
import type { Problem } from './problem.ts';
import { documentSchema } from './schema/document.ts';
import type { Environment } from './variables.ts';

/** A file or program on this machine that a configuration names. */
export interface NamedFile {
  readonly kind: FileMark['kind'];
  readonly name: string;
  readonly place: Place;
  /** Bytes that a file has at least. */
  readonly leastBytes?: number | undefined;
  /** For a command: its working directory, and the PATH that it is looked up in, as far as its target says. */
  readonly cwd?: string;
  readonly path?: string;
  /** The command gets nothing of the environment of the gateway. */
  readonly clearEnv?: true;
}

/** Everything on this machine that a document names, by the marks of the schema. */
export function namedFiles(document: unknown, placeOf: (path: Path) => Place): readonly NamedFile[] {
  const found: NamedFile[] = [];
  eachNamedFile(documentSchema, document, (path, { kind, leastBytes }, name) => {
    const place = placeOf(path);
    found.push(
      kind === 'command'
        ? { kind, name, place, ...surroundings(document, path) }
        : { kind, name, place, leastBytes },
    );
  });
  return found;
}

/** The fields beside the command of a target. */
function surroundings(document: unknown, path: Path): Pick<NamedFile, 'cwd' | 'path' | 'clearEnv'> {
  const target = valueAt(document, path.slice(0, -1)) as {
    readonly cwd?: unknown;
    readonly clear_env?: unknown;
    readonly env?: { readonly PATH?: unknown };
  };
  const own = target.env?.PATH;
  return {
    ...(typeof target.cwd === 'string' ? { cwd: target.cwd } : {}),
    ...(typeof own === 'string' ? { path: own } : {}),
    ...(target.clear_env === true ? { clearEnv: true } : {}),
  };
}

/** Opens every file and looks every program up. @returns a problem for each that is not there */
export function missingFiles(named: readonly NamedFile[], env: Environment): Problem[] {
  return named.flatMap((one) => {
    const message = whyMissing(one, env);
    if (message === undefined) return [];
    const { file, line, column, path } = one.place;
    return [{ file, line, column, path, message: `${one.name}: ${message}` }];
  });
}

/** Programs that are not there. While the gateway runs that is a warning: an installation may follow. */
export const missingCommands = (named: readonly NamedFile[], env: Environment): Problem[] =>
  missingFiles(
    named.filter(({ kind }) => kind === 'command'),
    env,
  );

function whyMissing(named: NamedFile, env: Environment): string | undefined {
  if (named.kind === 'command')
    return isThere(named, env) ? undefined : 'there is no such program, or it may not be run';
  try {
    if (named.kind === 'file') {
      const { length } = readRegularFile(named.name);
      const { leastBytes = 0 } = named;
      if (length < leastBytes) return `expected at least ${leastBytes} bytes, got ${length}`;
    } else if (named.kind === 'output') {
      if (!statSync(dirname(named.name)).isDirectory()) return 'its folder is no folder';
    } else if (!statSync(named.name).isDirectory()) return 'is no folder';
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (named.kind === 'output') return code === 'ENOENT' ? 'its folder does not exist' : message;
    return code === 'ENOENT' ? 'there is no such file' : message;
  }
}

/** Folders where POSIX looks when there is no PATH. */
const standardPath = '/usr/bin:/bin';

/** As `execvp` does after it has changed the folder. */
function isThere({ name, cwd = '.', path, clearEnv }: NamedFile, env: Environment): boolean {
  if (name.includes('/')) return isProgram(isAbsolute(name) ? name : resolve(cwd, name));
  const along = path ?? (clearEnv === true ? undefined : env['PATH']) ?? standardPath;
  return along.split(delimiter).some((folder) => isProgram(resolve(cwd, join(folder, name))));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
