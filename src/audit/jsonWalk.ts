const code = { quote: 0x22, comma: 0x2c, colon: 0x3a, backslash: 0x5c } as const;
export const opening = { bracket: 0x5b, brace: 0x7b } as const;
export const closing = { bracket: 0x5d, brace: 0x7d } as const;

/**
 * Walks over the text of a JSON value. It does not check each token, so its text is one that was checked before.
 * On any other text it ends, with a value or with a SyntaxError.
 */
export abstract class JsonWalk {
  protected readonly text: string;
  protected at = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** The first character of the value that comes next. */
  protected first(): number {
    this.passBlanks();
    return this.text.charCodeAt(this.at);
  }

  /** Goes to the next member or element, or behind the end of the object or list. @returns whether there is one */
  protected goesOn(end: number): boolean {
    let next = this.first();
    if (next === code.comma) {
      this.at++;
      next = this.first();
    }
    if (next !== end) return true;
    this.at++;
    return false;
  }

  /** Goes to the end of a member or element without a look at its parts. */
  protected pass(): void {
    const start = this.at;
    for (let depth = 0; ; this.at++) {
      const next = this.text.charCodeAt(this.at);
      if (next === code.quote) this.at = this.endOfString();
      else if (next === opening.brace || next === opening.bracket) depth++;
      else if (depth === 0 && (next === code.comma || isClosing(next))) break;
      else if (isClosing(next)) depth--;
      else if (Number.isNaN(next)) throw new SyntaxError('the text ends too early');
    }
    if (this.at === start) throw new SyntaxError(noValue);
  }

  /** Reads the name of a member, and goes to its value. */
  protected name(): string {
    const name = this.string();
    if (this.first() !== code.colon) throw new SyntaxError('a name without a colon');
    this.at++;
    return name;
  }

  protected string(): string {
    const start = this.at;
    this.passString();
    const inner = this.text.slice(start + 1, this.at - 1);
    return inner.includes('\\') ? (JSON.parse(this.text.slice(start, this.at)) as string) : inner;
  }

  protected passString(): void {
    this.at = this.endOfString() + 1;
  }

  /** Goes behind a number, `true`, `false` or `null`. */
  protected passLiteral(): void {
    const start = this.at;
    while (isOfLiteral(this.text.charCodeAt(this.at))) this.at++;
    if (this.at === start) throw new SyntaxError(noValue);
  }

  /** The place of the closing quote of the string that begins here. */
  private endOfString(): number {
    let end = this.text.indexOf('"', this.at + 1);
    while (this.isEscaped(end)) end = this.text.indexOf('"', end + 1);
    if (end === -1) throw new SyntaxError('a string without an end');
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

const noValue = 'a value is missing';

/** Does a string begin with the character? */
export const isQuote = (char: number): boolean => char === code.quote;

const isBlank = (char: number): boolean => char === 0x20 || (char >= 0x09 && char <= 0x0d);
const isClosing = (char: number): boolean => char === closing.brace || char === closing.bracket;

/** Also false behind the end of the text, where there is no character. */
const isOfLiteral = (char: number): boolean => char > 0x20 && char !== code.comma && !isClosing(char);
