import type { OperationChoice, OperationFilter } from '../../../model/index.ts';

/** The traits of an operation that filters ask for. */
export interface Choosable {
  readonly tags: readonly string[];
  readonly path: string;
  /** Each name of the operation: its id, the name of its tool, its method and path. */
  readonly names: readonly string[];
}

/** Chooses operations, and remembers which entries of the lists have chosen something. */
export class Chooser {
  private readonly include: Filter | undefined;
  private readonly exclude: Filter | undefined;

  constructor({ include, exclude }: OperationChoice) {
    this.include = include && new Filter('include', include);
    this.exclude = exclude && new Filter('exclude', exclude);
  }

  takes(operation: Choosable): boolean {
    // Both are asked, so that both know their idle entries.
    const included = this.include?.matches(operation) ?? true;
    const excluded = this.exclude?.matches(operation) ?? false;
    return included && !excluded;
  }

  /** Entries that chose nothing: an `exclude` with a slip of the pen keeps nothing out. */
  get idle(): readonly string[] {
    return [...(this.include?.idle ?? []), ...(this.exclude?.idle ?? [])];
  }
}

class Filter {
  private readonly entries: readonly {
    readonly name: string;
    readonly matches: (one: Choosable) => boolean;
  }[];
  private readonly used = new Set<string>();

  constructor(list: string, { tags, paths, operations }: OperationFilter) {
    const entry = (field: string, value: string, matches: (one: Choosable) => boolean) => ({
      name: `${list}.${field} ${JSON.stringify(value)}`,
      matches,
    });
    this.entries = [
      ...tags.map((tag) => entry('tags', tag, (one) => one.tags.includes(tag))),
      ...paths.map((path) => {
        const pattern = patternOf(path);
        return entry('paths', path, (one) => pattern.test(one.path));
      }),
      ...operations.map((name) => entry('operations', name, (one) => one.names.includes(name))),
    ];
  }

  matches(operation: Choosable): boolean {
    const found = this.entries.filter(({ matches }) => matches(operation));
    for (const { name } of found) this.used.add(name);
    return found.length > 0;
  }

  get idle(): readonly string[] {
    return this.entries.map(({ name }) => name).filter((name) => !this.used.has(name));
  }
}

/** `*` stands for any characters; two in a row are one, which keeps the expression quick. */
function patternOf(path: string): RegExp {
  const parts = path.split(/\*+/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
