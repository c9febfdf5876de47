/** The configuration as its file has it, with the place of each value, and with the values that the file does not set. */

import { basename } from 'node:path';
import { eachSecretField, eachUnsetField } from '../schema/index.ts';
import { defaultText } from './defaultText.ts';
import { isLiteral } from './literals.ts';
import { overridingVariables } from './overrides.ts';
import { formatPath, type Path } from './path.ts';
import { documentSchema } from './schema/document.ts';
import { readTree, type Tree } from './tree.ts';
import type { Environment } from './variables.ts';

/** A field of the configuration, or an entry of a list. */
export interface EffectiveField {
  readonly name: string;
  /** Absent for maps and lists. */
  readonly value?: string | number | boolean | null;
  readonly fields?: readonly EffectiveField[];
  /** `variable` and `flag` win over the file. A variable may also stand in the file. */
  readonly from: 'file' | 'variable' | 'flag' | 'default';
  /** The variables or the flag. */
  readonly by?: string;
  /** `config.yaml:8:7`; absent where the file does not have the field. */
  readonly place?: string;
}

export interface EffectiveTreeOptions {
  readonly file: string;
  readonly env: Environment;
  /** `$NAME` in values stands for itself. */
  readonly literal?: boolean;
  /** Variables that flags of the command line have set. */
  readonly flags: Readonly<Record<string, string>>;
  /** Stands in the place of secrets. */
  readonly mark: string;
  /** Masks the words of a command line that tell a secret. */
  readonly shownArguments: (list: readonly string[]) => readonly string[];
}

/** Longer texts would be slow to read and to show, in characters. */
const longest = 524_288;

/** Objects whose settings have an effect also where the file does not have them. */
const open: ReadonlySet<string> = new Set([
  'config',
  ...['mcp', 'storage', 'logging', 'dns', 'backend', 'limits', 'limits.overload', 'headers'].map(
    (name) => `config.${name}`,
  ),
]);

/** @returns undefined for a text that is no YAML, or too long */
export function effectiveTree(
  text: string,
  options: EffectiveTreeOptions,
): readonly EffectiveField[] | undefined {
  if (text.length > longest) return undefined;
  const tree = readTree(text, options.file, options.env, options.literal === true ? () => true : isLiteral);
  if (typeof tree.value !== 'object' || tree.value === null) return undefined;
  return new Reader(tree, options).read();
}

/** A field with its parts, while it is put together. */
interface Draft extends Omit<EffectiveField, 'name' | 'fields'> {
  parts?: Map<string, Draft>;
}

class Reader {
  readonly #tree: Tree;
  readonly #options: EffectiveTreeOptions;
  readonly #secret: ReadonlySet<string>;
  readonly #commandLines: ReadonlySet<string>;
  /** Fields that hold a secret if a variable gives their value. */
  readonly #mayBeSecret: ReadonlySet<string>;

  constructor(tree: Tree, options: EffectiveTreeOptions) {
    this.#tree = tree;
    this.#options = options;
    const secret = new Set<string>();
    const mayBeSecret = new Set<string>();
    const commandLines = new Set<string>();
    eachSecretField(documentSchema, tree.value, (path, { kind, masked }) => {
      const name = formatPath(path);
      (kind === 'secret' || masked === 'field' ? secret : mayBeSecret).add(name);
      if (kind === 'variable') commandLines.add(name);
    });
    this.#secret = secret;
    this.#commandLines = commandLines;
    this.#mayBeSecret = mayBeSecret;
  }

  read(): readonly EffectiveField[] {
    const top = this.#written([], this.#tree.value, false);
    eachUnsetField(
      documentSchema,
      this.#tree.value,
      (path) => open.has(path.join('.')),
      (path, field) => {
        const value = defaultText(field);
        if (value !== undefined) put(top, path, { value, from: 'default' });
      },
    );
    for (const { variable, text, path, isSecret } of overridingVariables(this.#options.env)) {
      const flag = this.#options.flags[variable];
      put(top, path, {
        value: isSecret ? this.#options.mark : text,
        ...(flag === undefined ? { from: 'variable', by: variable } : { from: 'flag', by: flag }),
      });
    }
    return fieldsOf(top);
  }

  /** @param isSecret the field stands within a secret */
  #written(path: Path, value: unknown, isSecret: boolean): Draft {
    const key = formatPath(path);
    if (!isSecret && this.#isCommandLine(path, value)) return this.#commandLine(path, value);
    const hidden = isSecret || this.#secret.has(key);
    const base: Draft = { from: 'file', place: this.#place(path) };
    if (typeof value !== 'object' || value === null) return { ...base, ...this.#scalar(path, value, hidden) };
    const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
      ? [...value.entries()]
      : Object.entries(value);
    const parts = entries.map(
      ([name, member]) => [String(name), this.#written([...path, name], member, hidden)] as const,
    );
    return { ...base, parts: new Map(parts) };
  }

  /** A list of texts that may hold secrets among others. */
  #isCommandLine(path: Path, value: unknown): value is readonly string[] {
    if (!Array.isArray(value) || !value.every((each) => typeof each === 'string')) return false;
    return [path, [...path, 0]].some((one) => this.#commandLines.has(formatPath(one)));
  }

  #commandLine(path: Path, list: readonly string[]): Draft {
    const shown = this.#options.shownArguments(list);
    const parts = list.map((_word, index): readonly [string, Draft] => {
      const at = [...path, index];
      const variables = this.#tree.written(at)?.variables ?? [];
      const origin: Draft =
        variables.length === 0
          ? { from: 'file', value: shown[index] ?? this.#options.mark }
          : { from: 'variable', by: [...new Set(variables)].join(', '), value: this.#options.mark };
      return [String(index), { ...origin, place: this.#place(at) }];
    });
    return { from: 'file', place: this.#place(path), parts: new Map(parts) };
  }

  #scalar(path: Path, value: unknown, isHidden: boolean): Pick<Draft, 'value' | 'from' | 'by'> {
    const variables = this.#tree.written(path)?.variables ?? [];
    const isSecret = isHidden || (variables.length > 0 && this.#mayBeSecret.has(formatPath(path)));
    const shown = isSecret && value !== undefined ? this.#options.mark : scalarOf(value);
    return variables.length === 0
      ? { value: shown, from: 'file' }
      : { value: shown, from: 'variable', by: [...new Set(variables)].join(', ') };
  }

  #place(path: Path): string {
    const { line, column } = this.#tree.place(path, 'key');
    return `${basename(this.#options.file)}:${line}:${column}`;
  }
}

const scalarOf = (value: unknown): string | number | boolean | null =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;

/** Puts a field to its path. A value of the file keeps its place. */
function put(top: Draft, path: Path, field: Draft): void {
  let here = top;
  for (const part of path.slice(0, -1)) {
    const parts = (here.parts ??= new Map<string, Draft>());
    const next = parts.get(String(part)) ?? { from: 'default' };
    parts.set(String(part), next);
    here = next;
  }
  const name = String(path.at(-1));
  const parts = (here.parts ??= new Map<string, Draft>());
  const place = parts.get(name)?.place;
  if (field.from === 'default' && parts.has(name)) return;
  parts.set(name, { ...field, ...(place !== undefined && { place }) });
}

const fieldsOf = ({ parts = new Map<string, Draft>() }: Draft): readonly EffectiveField[] =>
  [...parts].map(([name, { parts: below, ...field }]) => ({
    name,
    ...field,
    ...(below !== undefined && { fields: fieldsOf({ ...field, parts: below }) }),
  }));
