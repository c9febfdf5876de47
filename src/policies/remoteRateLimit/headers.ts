import type { HeaderEdits, HeaderLine } from '../../http/index.ts';
import { namesAuthority, refusedResponseHeaders } from '../headerModifier/facts.ts';
import { setsOwn } from '../hideCookies.ts';
import { tokenPattern, valuePattern } from '../fields/httpText.ts';

/**
 * The gateway alone writes the host, headers that frame a message or belong to one connection, and cookies by which it
 * knows a login.
 */
const isUsable = ([name, value]: HeaderLine): boolean =>
  tokenPattern.test(name) &&
  valuePattern.test(value) &&
  !refusedResponseHeaders.has(name) &&
  !namesAuthority(name) &&
  !(name === 'set-cookie' && setsOwn(value));

/**
 * Puts the headers of a service in the place of those of the same name.
 * @returns the names of the headers that no message may get from a service, in a form for the log
 */
export function putHeaders(edits: HeaderEdits, lines: readonly HeaderLine[]): readonly string[] {
  const put = new Set<string>();
  const left: string[] = [];
  for (const line of lines) {
    const [name, value] = line;
    if (!isUsable(line)) left.push(name.slice(0, 64).replaceAll(/[^\x21-\x7e]/g, '?'));
    else if (put.has(name)) edits.add(name, value);
    else {
      edits.set(name, value);
      put.add(name);
    }
  }
  return left;
}

/** The type of a body, which is a header of the answer with the body alone. */
export const contentTypeOf = (lines: readonly HeaderLine[]): string =>
  lines.find(([name, value]) => name === 'content-type' && value !== '' && valuePattern.test(value))?.[1] ??
  'text/plain; charset=utf-8';
