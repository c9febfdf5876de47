/** A number, `true`, `false` or `null`, as the client wrote it. */
export class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object with all of its members in their order, also those whose names come again. */
class Members {
  readonly entries: [name: string, value: Exact][] = [];
}

/** JSON as it was written: `JSON.parse` rounds numbers, and keeps only the last of several members of one name. */
export type Exact = string | Literal | Members | Exact[];

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]|[^\s"{}[\],:]+/g;

/**
 * Reads JSON exactly.
 * @throws SyntaxError where the text is no JSON
 */
export function readExact(text: string): Exact {
  // Checks the text, so that the loop below may be simple.
  JSON.parse(text);
  const root: Exact[] = [];
  // A list of its own in place of recursion: the text may have thousands of levels.
  const open: (Exact[] | Members)[] = [root];
  let name: string | undefined;
  for (const [part] of text.matchAll(token)) {
    const into = open.at(-1)!;
    if (part === '}' || part === ']') {
      open.pop();
      continue;
    }
    if (into instanceof Members && name === undefined) {
      name = JSON.parse(part) as string;
      continue;
    }
    const value = valueOf(part);
    if (into instanceof Members) into.entries.push([name!, value]);
    else into.push(value);
    name = undefined;
    if (value instanceof Members || Array.isArray(value)) open.push(value);
  }
  return root[0]!;
}

function valueOf(part: string): Exact {
  if (part === '{') return new Members();
  if (part === '[') return [];
  return part.startsWith('"') ? (JSON.parse(part) as string) : new Literal(part);
}
