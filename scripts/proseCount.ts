/** Measures how plain the English is: comments, test names and log messages in TypeScript, and sentences in Markdown. */

/** A comment or a sentence, with the line where it begins. */
export interface Passage {
  readonly line: number;
  readonly text: string;
}

/** A sentence with more words than this is long. */
export const longestSentence = 30;

const headless =
  /^(?:what|who|whom|whose|whoever|whatever|whichever|where|wherever|which|how|why|of|one|ones|that|those|nobody|somebody|someone|anybody|everybody|nothing|something|anything)\b/i;

/** Whether a comment begins with a headless clause; a question may begin with any of these words. */
export const isHeadless = (comment: string): boolean => {
  if (!headless.test(comment)) return false;
  const [first = ''] = comment.split(/(?<=[.?!])\s/, 1);
  return !first.endsWith('?');
};

const directive = /^(?:@|oxlint|eslint|prettier|#|\/|[-=─]{3})/;

/** The comments of a TypeScript file. Line comments that follow each other are one comment. */
export const commentsOf = (source: string): Passage[] => {
  const found: { line: number; text: string; last: number }[] = [];
  const lines = source.split('\n');
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const block = /^\s*\/\*+(.*)$/.exec(line);
    if (block) {
      const start = index;
      const parts = [block[1] ?? ''];
      while (!(lines[index] ?? '').includes('*/') && index < lines.length - 1) {
        index += 1;
        parts.push((lines[index] ?? '').replace(/^\s*\*(?!\/)/, ''));
      }
      const text = parts.join(' ').replace(/\*\/.*$/s, '');
      found.push({ line: start + 1, text, last: -1 });
      continue;
    }
    const single = /^\s*\/\/\s?(.*)$/.exec(line);
    const trailing = single ? null : /[;,{}()\]]\s+\/\/ (.*)$/.exec(line);
    const previous = found.at(-1);
    if (single && previous?.last === index - 1) {
      previous.text += ` ${single[1] ?? ''}`;
      previous.last = index;
    } else if (single) found.push({ line: index + 1, text: single[1] ?? '', last: index });
    else if (trailing) found.push({ line: index + 1, text: trailing[1] ?? '', last: -1 });
  }
  return found
    .map(({ line, text }) => ({ line, text: text.replaceAll(/\s+/g, ' ').trim() }))
    .filter(({ text }) => /\p{L}/u.test(text) && !directive.test(text));
};

/** The first argument of the calls that a pattern finds, if it is a text. */
const firstArguments =
  (call: RegExp) =>
  (source: string): Passage[] =>
    Array.from(source.matchAll(call), ({ index, groups }) => ({
      line: source.slice(0, index).split('\n').length,
      text: groups?.['text'] ?? '',
    }));

/** The names of the tests in a TypeScript file. */
export const testNamesOf = firstArguments(
  /\b(?:test|it)\(\s*(?<quote>['"`])(?<text>(?:\\.|(?!\k<quote>).)+)\k<quote>/g,
);

/** The messages that a TypeScript file logs. */
export const logMessagesOf = firstArguments(
  /\blog\s*\.(?:info|warn|error|debug)\(\s*(?<quote>['"`])(?<text>(?:\\.|(?!\k<quote>).)+)\k<quote>/g,
);

/** Whether a log message names no event first: it begins with a headless clause, an article or a pronoun. */
export const isWithoutEvent = (message: string): boolean =>
  isHeadless(message) || /^(?:an?|the|this|it|its|there|we|us|our)\b/i.test(message);

/** Reduces Markdown to words: a code span and an image are one word each, a link is its text. */
const inline = (text: string): string =>
  text
    .replaceAll(/(`+)(?:(?!\1).)+\1/g, 'code')
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, 'image')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/<[^>\s][^>]*>/g, 'link')
    .replaceAll(/[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}/g, '');

/**
 * Splits text where a sentence ends and something other than a small letter follows. A fragment of fewer than five
 * words is not a sentence.
 */
const sentences = (text: string): string[] =>
  inline(text)
    .trim()
    .split(/(?<=[.!?]["”’)]*)\s+(?=[^\p{Ll}\s]|code\b|link\b)/u)
    .filter((sentence) => wordsIn(sentence) >= 5);

/**
 * The sentences of a Markdown page. Each paragraph, list item and table cell is read on its own; a cell counts only
 * when it has more than 12 words. Headings, code blocks and HTML comments are left out. A colon does not end a sentence.
 */
export const sentencesOf = (page: string): Passage[] => {
  const found: Passage[] = [];
  let block = '';
  let start = 0;
  const flush = (): void => {
    for (const text of sentences(block)) found.push({ line: start, text });
    block = '';
  };
  const blank = (match: string): string => match.replaceAll(/[^\n]/g, '');
  const prose = page
    .replace(/^---\n[\s\S]*?\n---\n/, blank)
    .replaceAll(/^( *)(```+|~~~+)[\s\S]*?^\1\2 *$/gm, blank)
    .replaceAll(/<!--[\s\S]*?-->/g, blank);
  for (const [index, raw] of prose.split('\n').entries()) {
    const line = raw.trim();
    const begins = /^(?:[-*+]|\d+[.)]|>)\s+/.exec(line);
    if (line === '' || begins || /^(?:#{1,6} |\|)/.test(line)) flush();
    if (line === '' || /^#{1,6} /.test(line)) continue;
    if (line.startsWith('|')) {
      for (const cell of line.split(/(?<!\\)\|/).filter((text) => wordsIn(inline(text)) > 12))
        for (const text of sentences(cell)) found.push({ line: index + 1, text });
      continue;
    }
    if (block === '') start = index + 1;
    block += ` ${begins ? line.slice(begins[0].length) : line}`;
  }
  flush();
  return found;
};

/** The number of words; signs that stand alone do not count. */
export const wordsIn = (sentence: string): number =>
  sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
