import type { HeaderEdits, HeaderLine } from '../../http/index.ts';
import { namesAuthority, refusedResponseHeaders } from '../headerModifier/facts.ts';
import { setsLogin } from '../hideCookies.ts';
import { isHeaderLine, shownHeaderName, valuePattern } from '../fields/httpText.ts';

/**
 * The gateway alone writes the host, headers that frame a message or belong to one connection, and cookies by which it
 * knows a login.
 */
const isUsable = (line: HeaderLine): boolean =>
  isHeaderLine(line) && !refusedResponseHeaders.has(line[0]) && !namesAuthority(line[0]) && !setsLogin(line);

/**
 * Puts the headers of a service in the place of those of the same name.
 * @returns the names of the headers that no message may get from a service, in a form for the log
 */
export function putHeaders(edits: HeaderEdits, lines: readonly HeaderLine[]): readonly string[] {
  const put = new Set<string>();
  const left: string[] = [];
  for (const line of lines) {
    const [name, value] = line;
    if (!isUsable(line)) left.push(shownHeaderName(name));
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
