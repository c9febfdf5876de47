/** Names of tools that clients would not reach, as far as the configuration knows the tools. */

import { toolNamesOf } from '../mcp/targets/facts.ts';
import { compileEntries, entryOf, isLiteral, type McpBackend, type ViewEntry } from '../model/index.ts';
import { suggestion } from './nearest.ts';

type Say = (message: string, hint?: string) => void;

interface OwnedName {
  readonly target: string;
  readonly name: string;
}

const quoted = (text: string): string => JSON.stringify(text);
const itemOf = ({ target, name }: OwnedName): string =>
  `the tool ${quoted(name)} of target ${quoted(target)}`;

/** A longer name gets a digest in the place of its end. */
const maxLength = 128;

/** Finds names of one backend that are valid and probably not meant. */
export function warnOfNames(backend: McpBackend, say: Say): void {
  const known = new Map(backend.targets.map((target) => [target.name, toolNamesOf(target)]));
  for (const [index, entry] of (backend.view?.tools ?? []).entries()) warnOfEntry(entry, index, known, say);
  const prefixes = prefixesOf(backend);
  warnOfPrefixes(prefixes, known, say);
  warnOfOwners(backend, prefixes, known, say);
}

type KnownTools = ReadonlyMap<string, readonly string[] | undefined>;
type Prefixes = ReadonlyMap<string, string>;

function warnOfEntry(entry: ViewEntry, index: number, known: KnownTools, say: Say): void {
  if (!isLiteral(entry)) return;
  const lists = entry.target === undefined ? [...known.values()] : [known.get(entry.target)];
  if (lists.includes(undefined)) return;
  const names = lists.flatMap((list) => list ?? []);
  if (!names.includes(entry.name))
    say(
      `view.tools[${index}] names the tool ${quoted(entry.name)}, which no server lists`,
      suggestion(entry.name, names),
    );
}

function prefixesOf({ targets, prefixMode, prefixSeparator = '_' }: McpBackend): Prefixes {
  const isPrefixed = prefixMode === 'always' || (prefixMode === 'conditional' && targets.length > 1);
  return new Map(targets.map(({ name }) => [name, isPrefixed ? name + prefixSeparator : '']));
}

/** The longest prefix tells the target of a name: the names of `db` lose to those of `db_test`. */
function warnOfPrefixes(prefixes: Prefixes, known: KnownTools, say: Say): void {
  for (const [target, prefix] of prefixes)
    for (const [other, longer] of prefixes) {
      // Known tools are compared one by one.
      if (other === target || prefix === '' || !longer.startsWith(prefix) || known.get(target)) continue;
      say(
        `clients cannot reach tools and prompts of target ${quoted(target)} whose names begin with ` +
          `${quoted(longer.slice(prefix.length))}: their names belong to target ${quoted(other)}`,
        'set another prefixSeparator, or rename a target',
      );
    }
}

/** Compares the names that clients see: new names of the view come first, then the targets in their order. */
function warnOfOwners({ targets, view }: McpBackend, prefixes: Prefixes, known: KnownTools, say: Say): void {
  const tools = view?.tools;
  const entries = compileEntries(tools ?? []);
  const owners = new Map<string, OwnedName>();
  const renamed = new Set((tools ?? []).flatMap(({ as }) => as ?? []));
  const first = targets[0]?.name ?? '';
  for (const { as, target = first, name } of tools ?? [])
    if (as !== undefined) owners.set(as, { target, name });
  for (const [target, names] of known)
    for (const name of names ?? []) {
      const entry = entryOf(entries, target, name);
      const isHidden =
        entry === undefined ? tools !== undefined && view?.rest === 'hide' : entry.hide === true;
      const shown = (prefixes.get(target) ?? '') + name;
      if (isHidden || entry?.as !== undefined || shown.length > maxLength) continue;
      const longest = [...prefixes].findLast(
        ([other, prefix]) =>
          prefix.length > prefixes.get(target)!.length && shown.startsWith(prefix) && other !== target,
      );
      const owner = owners.get(shown);
      if (owner !== undefined)
        say(
          `clients cannot reach ${itemOf({ target, name })}: its name ${quoted(shown)} belongs to ${itemOf(owner)}`,
          renamed.has(shown)
            ? 'give the entry of the view another name'
            : 'set prefixMode: always, or give one of them a new name in a view',
        );
      else if (longest !== undefined)
        say(
          `clients cannot reach ${itemOf({ target, name })}: its name ${quoted(shown)} belongs to target ${quoted(longest[0])}`,
          'set another prefixSeparator, or rename a target',
        );
      else owners.set(shown, { target, name });
    }
}
