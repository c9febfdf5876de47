import { RE2JS } from 're2js';
import { note, statesOf } from './caches.ts';
import { writtenOut } from './estimate.ts';
import { regexLimits } from './limits.ts';

/** Takes units of work from a budget (about 10 ns each). Throws where the budget is spent. */
export type Spend = (units: number) => void;

/** A regular expression of RE2 whose size, memory and work are bounded. */
export interface Regex {
  readonly source: string;
  /** Instructions of the compiled program. */
  readonly size: number;
  /** Does it match the whole text? A text that is too long is no match. */
  whole(text: string, spend: Spend): boolean;
  /** Does it match a part of the text? @throws Error for a text that is too long */
  part(text: string, spend: Spend): boolean;
  /** The text with each match replaced (`$1` is a group). @throws Error for a text that is too long */
  replaceAll(text: string, replacement: string, spend: Spend): string;
}

/** An expression that matches just this text. */
export const quoted = (text: string): string => RE2JS.quote(text);

/** Units of compiling: some 50 µs, and the more the larger the program is. */
export const compileUnits = (source: string): number =>
  5000 + 10 * source.length + 400 * Math.min(writtenOut(source), 2 * regexLimits.instructions);

/** @throws Error for a text that is not an expression, or one that is too large */
export function compileRegex(source: string): Regex {
  if (source.length > regexLimits.sourceLength)
    throw new Error(`longer than ${regexLimits.sourceLength} characters`);
  // Written out it may be thousands of times longer, and compiling it would take as much more.
  if (writtenOut(source) > 2 * regexLimits.instructions) throw tooLarge();
  const expression = RE2JS.compile(source);
  if (expression.programSize() > regexLimits.instructions) throw tooLarge(expression.programSize());
  return new BoundedRegex(source, expression);
}

const tooLarge = (size?: number): Error => {
  const found = size === undefined ? 'more' : `${size}`;
  return new Error(
    `too large: its program may have ${regexLimits.instructions} instructions, found ${found}`,
  );
};

/** A step of one instruction for one character, the slow way. */
const slowUnits = 4;
/** Bytes of states that an expression works out for nothing: ordinary ones need no more, once in their life. */
const freeBytes = 8192;

class BoundedRegex implements Regex {
  readonly source: string;
  readonly size: number;
  private readonly expression: RE2JS;
  /** The state of the match under way. */
  private spend: Spend = unmetered;
  private length = 0;
  private free: number = freeBytes;

  constructor(source: string, expression: RE2JS) {
    this.source = source;
    this.expression = expression;
    this.size = expression.programSize();
  }

  whole(text: string, spend: Spend): boolean {
    return text.length <= regexLimits.subjectLength && this.match(text, spend, true);
  }

  part(text: string, spend: Spend): boolean {
    if (text.length > regexLimits.subjectLength) throw tooLong();
    return this.match(text, spend, false);
  }

  replaceAll(text: string, replacement: string, spend: Spend): string {
    if (text.length > regexLimits.subjectLength) throw tooLong();
    const matcher = this.expression.matcher(text);
    let result = '';
    for (let from = 0; ;) {
      // Each search may look at all that is left.
      spend(slowUnits * this.size * (text.length - from + 8));
      if (!matcher.find()) break;
      const piece = appended(matcher, replacement);
      spend(piece.length);
      result += piece;
      from = matcher.end();
    }
    return result + matcher.appendTail();
  }

  private match(text: string, spend: Spend, whole: boolean): boolean {
    spend(40 + text.length);
    const { expression } = this;
    // Programs of which each character decides the next step have no states.
    if (expression.re2().onepass !== null) return whole ? expression.testExact(text) : expression.test(text);
    this.spend = spend;
    this.length = text.length;
    const states = statesOf(expression, this.givingUp);
    const before = states.memBudget;
    try {
      return whole ? expression.testExact(text) : expression.test(text);
    } finally {
      this.spend = unmetered;
      note(expression, states);
      // More is left than before: all states were dropped on the way, and made anew.
      const made = before - states.memBudget;
      if (made !== 0) spend(this.paid(made > 0 ? made : before + states.maxMem - states.memBudget));
    }
  }

  /** Units of work for so many bytes of new states. */
  private paid(bytes: number): number {
    const free = Math.min(this.free, bytes);
    this.free -= free;
    return 4 * (bytes - free);
  }

  private readonly givingUp = (): void => {
    this.spend(slowUnits * this.size * (this.length + 8));
  };
}

const unmetered: Spend = () => undefined;

const tooLong = (): Error =>
  new Error(`a text of more than ${regexLimits.subjectLength} characters is not matched`);

type Matcher = ReturnType<RE2JS['matcher']>;

/** The text before the match, and its replacement. The library has this method, but not in its types. */
const appended = (matcher: Matcher, replacement: string): string =>
  (matcher as unknown as { appendReplacement(text: string): string }).appendReplacement(replacement);
