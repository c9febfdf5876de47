import { closing, isQuote, JsonWalk, opening } from './jsonWalk.ts';
import { memberStart, objectText, shownExtent, tooDeep } from './shownMembers.ts';

/** Different shapes that a list shows. */
const maxShapes = 4;

/**
 * Names and types of arguments, without any value.
 * @param text JSON that was checked before: to parse it once more would cost several times as much
 * @throws SyntaxError
 */
export const shapeOf = (text: string): string => new Shape(text).value(0);

class Shape extends JsonWalk {
  /** @param depth of the objects and lists around it */
  value(depth: number): string {
    const first = this.first();
    if (isQuote(first)) {
      this.passString();
      return '"string"';
    }
    const isObject = first === opening.brace;
    if (!isObject && first !== opening.bracket) {
      this.passLiteral();
      return literals.get(first) ?? '"number"';
    }
    if (depth < shownExtent.depth) return isObject ? this.members(depth) : this.elements(depth);
    this.pass();
    return tooDeep;
  }

  private members(depth: number): string {
    const taken: string[] = [];
    let text = '';
    let count = 0;
    for (this.at++; this.goesOn(closing.brace); count++)
      if (count < shownExtent.members) text += memberStart(this.name(), taken) + this.value(depth + 1);
      else this.pass();
    return objectText(text, count);
  }

  private elements(depth: number): string {
    // A list mostly has elements of one shape.
    const shapes: string[] = [];
    let count = 0;
    for (this.at++; this.goesOn(closing.bracket); count++) {
      if (shapes.length === maxShapes || count >= shownExtent.elements) this.pass();
      else {
        const shape = this.value(depth + 1);
        if (!shapes.includes(shape)) shapes.push(shape);
      }
    }
    return `[${shapes.join(',')}]`;
  }
}

/** Types of literals, by their first character. */
const literals: ReadonlyMap<number, string> = new Map([
  [0x66, '"boolean"'],
  [0x74, '"boolean"'],
  [0x6e, '"null"'],
]);
