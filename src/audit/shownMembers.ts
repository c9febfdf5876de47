import { shownName } from './shownNames.ts';

/** Levels of objects and lists, members of an object and elements of a list that a line shows. */
export const shownExtent = { depth: 16, members: 64, elements: 256 } as const;
/** Characters of a name. */
const maxName = 128;
/** Objects and lists below the last level. */
export const tooDeep = '"…"';

/**
 * The beginning of a member, up to its value. A reader of the line would see only one of several members of one name, so
 * each gets a name of its own.
 * @param taken names of the members before it
 */
export function memberStart(name: string, taken: string[]): string {
  const shown = shownName(name, maxName);
  const mark = taken.length === 0 ? '{' : ',';
  let unused = shown;
  for (let count = 2; taken.includes(unused); count++) unused = `${shown.slice(0, -1)} (repeated ${count})"`;
  taken.push(unused);
  return `${mark}${unused}:`;
}

/** @param text the members that are shown, behind a brace @param count of all members */
export function objectText(text: string, count: number): string {
  if (text === '') return '{}';
  const more = count - shownExtent.members;
  return more > 0 ? `${text},"…":"${more} more"}` : `${text}}`;
}
