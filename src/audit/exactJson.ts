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

const code = { quote: 0x22, comma: 0x2c, backslash: 0x5c } as const;
const opening = { bracket: 0x5b, brace: 0x7b } as const;
const closing = { bracket: 0x5d, brace: 0x7d } as const;

/**
 * Reads JSON exactly.
 * @throws SyntaxError where the text is no JSON
 */
export function readExact(text: string, extent: Extent): Exact {
  // Checks the text, so that the reader may be simple.
  JSON.parse(text);
  return new Reader(text, extent).value(0);
}

class Reader {
  private readonly text: string;
  private readonly extent: Extent;
  private at = 0;

  constructor(text: string, extent: Extent) {
    this.text = text;
    this.extent = extent;
  }

  /** @param depth of the objects and lists around it */
  value(depth: number): Exact {
    this.passBlanks();
    const first = this.text.charCodeAt(this.at);
    if (first === code.quote) return this.string();
    if (first === opening.brace) return this.members(depth);
    if (first === opening.bracket) return this.elements(depth);
    const start = this.at;
    while (isOfLiteral(this.text.charCodeAt(this.at))) this.at++;
    return new Literal(this.text.slice(start, this.at));
  }

  private members(depth: number): Members {
    const found = new Members();
    const kept = depth < this.extent.depth ? this.extent.members : 0;
    for (this.at++; this.goesOn(closing.brace); found.count++) {
      if (found.count >= kept) {
        this.pass();
        continue;
      }
      const name = this.string();
      this.passBlanks();
      this.at++;
      found.entries.push([name, this.value(depth + 1)]);
    }
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

  /** Goes to the next member or element, or behind the end of the object or list. @returns whether there is one */
  private goesOn(end: number): boolean {
    this.passBlanks();
    if (this.text.charCodeAt(this.at) === code.comma) {
      this.at++;
      this.passBlanks();
    }
    if (this.text.charCodeAt(this.at) !== end) return true;
    this.at++;
    return false;
  }

  /** Goes to the end of a member or element without a look at its parts. */
  private pass(): void {
    for (let depth = 0; ; this.at++) {
      const next = this.text.charCodeAt(this.at);
      if (next === code.quote) this.at = this.endOfString();
      else if (next === opening.brace || next === opening.bracket) depth++;
      else if (depth === 0 && (next === code.comma || isClosing(next))) return;
      else if (isClosing(next)) depth--;
    }
  }

  private string(): string {
    const start = this.at;
    const end = this.endOfString();
    this.at = end + 1;
    const inner = this.text.slice(start + 1, end);
    return inner.includes('\\') ? (JSON.parse(this.text.slice(start, this.at)) as string) : inner;
  }

  /** The place of the closing quote of the string that begins here. */
  private endOfString(): number {
    let end = this.text.indexOf('"', this.at + 1);
    while (this.isEscaped(end)) end = this.text.indexOf('"', end + 1);
    return end;
  }

  private isEscaped(place: number): boolean {
    let first = place;
    while (this.text.charCodeAt(first - 1) === code.backslash) first--;
    return (place - first) % 2 === 1;
  }

  private passBlanks(): void {
    while (isBlank(this.text.charCodeAt(this.at))) this.at++;
  }
}

const isBlank = (char: number): boolean => char === 0x20 || (char >= 0x09 && char <= 0x0d);
const isClosing = (char: number): boolean => char === closing.brace || char === closing.bracket;

/** Also false behind the end of the text, where there is no character. */
const isOfLiteral = (char: number): boolean => char > 0x20 && char !== code.comma && !isClosing(char);
