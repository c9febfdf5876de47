import { closing, isQuote, JsonWalk, opening } from './jsonWalk.ts';

/** A number, `true`, `false` or `null`, as the client wrote it. */
export class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object with its first members in their order, also those whose names come again. */
class Members {
  readonly entries: [name: string, value: Exact][] = [];
  /** The object has so many members in all. */
  count = 0;
}

/** The first elements of a list. */
export class Elements {
  readonly values: Exact[] = [];
  /** The list has so many elements in all. */
  count = 0;
}

/** JSON as it was written: `JSON.parse` rounds numbers, and keeps only the last of several members of one name. */
export type Exact = string | Literal | Members | Elements;

/** How much of a text is read. The rest is only counted. */
export interface Extent {
  /** Levels of objects and lists. */
  readonly depth: number;
  /** Members of each object. */
  readonly members: number;
  /** Elements of each list. */
  readonly elements: number;
}

/**
 * Reads JSON exactly.
 * @throws SyntaxError where the text is no JSON
 */
export function readExact(text: string, extent: Extent): Exact {
  // Checks the text, so that the reader may be simple.
  JSON.parse(text);
  return new Reader(text, extent).value(0);
}

class Reader extends JsonWalk {
  private readonly extent: Extent;

  constructor(text: string, extent: Extent) {
    super(text);
    this.extent = extent;
  }

  /** @param depth of the objects and lists around it */
  value(depth: number): Exact {
    const first = this.first();
    if (isQuote(first)) return this.string();
    if (first === opening.brace) return this.members(depth);
    if (first === opening.bracket) return this.elements(depth);
    const start = this.at;
    this.passLiteral();
    return new Literal(this.text.slice(start, this.at));
  }

  private members(depth: number): Members {
    const found = new Members();
    const kept = depth < this.extent.depth ? this.extent.members : 0;
    for (this.at++; this.goesOn(closing.brace); found.count++)
      if (found.count < kept) found.entries.push([this.name(), this.value(depth + 1)]);
      else this.pass();
    return found;
  }

  private elements(depth: number): Elements {
    const found = new Elements();
    const kept = depth < this.extent.depth ? this.extent.elements : 0;
    for (this.at++; this.goesOn(closing.bracket); found.count++)
      if (found.count < kept) found.values.push(this.value(depth + 1));
      else this.pass();
    return found;
  }
}
