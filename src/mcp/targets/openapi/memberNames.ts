import type { ValueForm } from '../../../model/index.ts';
import { namesMembers } from '../description/describedMembers.ts';
import { ArgumentError } from './callArguments.ts';
import { isNested } from './longNumber.ts';

/** An argument with the form in which it is written. */
export interface FormedArgument {
  readonly name: string;
  readonly value: unknown;
  readonly form: ValueForm;
}

/**
 * Checks objects whose members become names beside those of other arguments (`explode`). A rule judges arguments by
 * their names, so a member needs a description, and cannot stand in for another argument.
 * @param place names the place in errors
 * @param names the names of all arguments that the place can have
 * @throws ArgumentError
 */
export function checkMembers(
  place: string,
  given: readonly FormedArgument[],
  names: readonly string[],
): void {
  const owners = new Map(names.map((name) => [readName(name), name]));
  for (const { name, value, form } of given) {
    if (!namesMembers(form) || !isNested(value) || Array.isArray(value)) continue;
    const { members } = form;
    if (members === undefined) throw new ArgumentError(`${place}: ${name} cannot be an object`);
    for (const member of Object.keys(value)) {
      const shown = JSON.stringify(member);
      if (members.open !== true && !members.names.includes(member))
        throw new ArgumentError(`${place}: ${name} has no member ${shown}`);
      const owner = owners.get(readName(member)) ?? name;
      if (owner !== name)
        throw new ArgumentError(`${place}: the member ${shown} of ${name} would set the argument ${owner}`);
      owners.set(readName(member), name);
    }
  }
}

/**
 * Checks that no argument has the name of a member of another argument in the style `deepObject`: `filter[kind]` beside
 * `filter`. A form may have arguments without a description, which a caller names as it likes.
 * @param deep the names of the arguments in that style
 * @param names those of the given arguments without a form of their own
 * @throws ArgumentError
 */
export function checkDeepNames(place: string, deep: readonly string[], names: readonly string[]): void {
  if (deep.length === 0) return;
  const owners = new Map(deep.map((name) => [readName(name), name]));
  for (const name of names) {
    const owner = owners.get(readName(name));
    if (owner !== undefined)
      throw new ArgumentError(`${place}: ${JSON.stringify(name)} would set a member of ${owner}`);
  }
}

/** The name as a lenient API reads it: without case, and without brackets behind it. */
export const readName = (name: string): string => name.trim().toLowerCase().replace(/\[.*$/s, '');
