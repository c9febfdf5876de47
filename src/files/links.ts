import { readlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path';

/** As many as Linux follows. */
const maxLinks = 40;

/**
 * The directories to watch so that no way of replacing a file is missed, each with the names in it that matter: the
 * file itself, and every symbolic link on the way to it. A Kubernetes ConfigMap is replaced by turning the link
 * `..data`, which the file's own path does not even name.
 */
export function watchedNames(path: string): ReadonlyMap<string, ReadonlySet<string>> {
  const watched = new Map<string, Set<string>>();
  const full = resolve(path);
  let { root: directory } = parse(full);
  let rest = segments(full.slice(directory.length));
  let links = 0;
  while (rest.length > 0) {
    const [name = '', ...further] = rest;
    const target = name === '..' ? undefined : linkTarget(join(directory, name));
    if (target !== undefined || further.length === 0) {
      const names = watched.get(directory) ?? new Set();
      watched.set(directory, names.add(name));
    }
    if (target === undefined) {
      directory = name === '..' ? dirname(directory) : join(directory, name);
      rest = further;
      continue;
    }
    links += 1;
    if (links > maxLinks) break;
    if (isAbsolute(target)) directory = parse(target).root;
    rest = [...segments(isAbsolute(target) ? target.slice(directory.length) : target), ...further];
  }
  return watched;
}

function segments(path: string): string[] {
  return path.split(sep).filter((part) => part !== '' && part !== '.');
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
