import { readSealed, type SealedLine } from './chain.ts';
import { lineStart } from './lines.ts';

/** A line of a chain in a line of a file. */
interface WholeLine {
  readonly line: SealedLine;
  /** A crash leaves the beginning of a line, to which the next writer may have added a whole one. */
  readonly before: string;
}

/** Finds the line of a chain at the end of a text. */
export function wholeLineIn(text: string): WholeLine | undefined {
  for (let start = text.indexOf(lineStart); start !== -1;) {
    const rest = text.slice(start);
    const next = text.indexOf(lineStart, start + 1);
    const line = readSealed(rest);
    // A line may have the characters of a beginning in its arguments. A piece with a line behind it is never JSON.
    if (line !== undefined && (next === -1 || isJson(rest))) return { line, before: text.slice(0, start) };
    start = next;
  }
  return undefined;
}

/**
 * Is the text the beginning of a line, as a crash or a full disk leaves it? The outermost brace of a line closes at its
 * very end, so a text with a whole object is none: readers of JSON would take it for a line.
 */
export const isPiece = (text: string): boolean =>
  lineStart.startsWith(text.slice(0, lineStart.length)) && !hasWholeObject(text);

/** @param text begins with a brace */
function hasWholeObject(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isInString) {
      if (char === '\\') at++;
      else if (char === '"') isInString = false;
    } else if (char === '"') isInString = true;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return true;
  }
  return false;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
