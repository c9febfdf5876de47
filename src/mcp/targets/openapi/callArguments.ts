import type { ParameterPlace } from '../../../model/index.ts';
import { Members, skipSpace } from '../../json/scan.ts';
import { readValue } from './longNumber.ts';

/** The arguments of a call do not fit its tool; the message is for the client, so that it can call again. */
export class ArgumentError extends Error {}

export type Values = ReadonlyMap<string, unknown>;

/** The arguments of a call, by the places that the request has for them. */
export interface CallArguments {
  readonly places: ReadonlyMap<ParameterPlace, Values>;
  /** The body as it was written; undefined where there is none. */
  readonly body: string | undefined;
}

/**
 * Reads the arguments of a call from their text.
 * @param places the groups that the tool has; `body` may stand beside them
 * @throws ArgumentError
 */
export function readArguments(text: string | undefined, places: ReadonlySet<string>): CallArguments {
  const groups = new Map<ParameterPlace, Values>();
  let body: string | undefined;
  for (const [name, value] of membersOf(text ?? '{}', 'the arguments')) {
    if (!places.has(name))
      throw new ArgumentError(
        `the tool has no argument ${JSON.stringify(name)}; it has ${[...places].join(', ') || 'none'}`,
      );
    if (name === 'body') body = value;
    else
      groups.set(
        name as ParameterPlace,
        new Map(membersOf(value, name).map(([key, one]) => [key, readValue(one)])),
      );
  }
  return { places: groups, body };
}

/** The members of an object, each with the text of its value. */
function membersOf(text: string, what: string): [name: string, value: string][] {
  const found = new Map<string, string>();
  const scan = new Members(text, skipSpace(text, 0));
  while (scan.next()) {
    if (found.has(scan.key)) throw new ArgumentError(`${what}: ${JSON.stringify(scan.key)} is given twice`);
    found.set(scan.key, text.slice(scan.start, scan.end));
  }
  if (scan.broken) throw new ArgumentError(`${what}: expected an object`);
  return [...found];
}
