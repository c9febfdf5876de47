/**
 * The number of things that a regular expression matches one after the other, with every counted repetition
 * written out: `(?:ab){3}` has six. Compiling takes time and memory in proportion to it, so it is known before.
 * It is never more than the size of the compiled program, except where whole parts of an expression match
 * nothing.
 */
export function writtenOut(source: string): number {
  /** Sizes of the groups that are open, the outermost first. */
  const groups: number[] = [0];
  /** Size of the latest part, which a repetition would multiply. */
  let latest = 0;
  const add = (size: number): void => {
    latest = size;
    groups.push((groups.pop() ?? 0) + size);
  };
  for (let at = 0; at < source.length;) {
    const character = source[at];
    if (character === '(') {
      groups.push(0);
      at = afterOpening(source, at);
    } else if (character === ')' && groups.length > 1) {
      add(groups.pop() ?? 0);
      at += 1;
    } else if (character === '[') {
      add(1);
      at = afterClass(source, at);
    } else if (character === '\\') {
      if (source[at + 1] === 'Q') {
        const end = source.indexOf('\\E', at + 2);
        const quoted = (end < 0 ? source.length : end) - at - 2;
        add(quoted);
        // A repetition after `\E` is that of the last character.
        latest = Math.min(1, quoted);
        at = end < 0 ? source.length : end + 2;
      } else {
        add(1);
        at = afterEscape(source, at);
      }
    } else if (character === '{') {
      repetition.lastIndex = at;
      const [text, least, comma, most] = repetition.exec(source) ?? [];
      if (text === undefined) {
        add(1);
        at += 1;
        continue;
      }
      const times = comma === undefined ? Number(least) : Number(most === '' ? least : most);
      add(latest * Math.max(0, times - 1));
      latest *= Math.max(1, times);
      at += text.length;
    } else {
      if (character !== '*' && character !== '+' && character !== '?' && character !== '|') add(1);
      at += 1;
    }
  }
  return groups.reduce((sum, size) => sum + size, 0);
}

const repetition = /\{(\d{1,6})(?:(,)(\d{0,6}))?\}/y;
const opening = /\((?:\?(?:[imsU-]*:|P?<\w+>|<?[=!])?)?/y;
const charClass = /\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\])*\]?/y;
const escape = /\\(?:[pP](?:\{[^}]*\}|[^])|x(?:\{[^}]*\}|[^]{2})|[^])?/y;

const after = (pattern: RegExp): ((source: string, at: number) => number) => {
  return (source, at) => {
    pattern.lastIndex = at;
    return at + Math.max(1, pattern.exec(source)?.[0].length ?? 1);
  };
};
const afterOpening = after(opening);
const afterClass = after(charClass);
const afterEscape = after(escape);
