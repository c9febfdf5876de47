import { linter, type Diagnostic } from '@codemirror/lint';
import type { Extension, Text } from '@codemirror/state';
import type { CelAnswer } from '../api/types.ts';

/** The time without a change after which the gateway judges the expression, in milliseconds. */
const lintMs = 400;

/** The mistake of an expression, or none. */
export interface Judgement {
  readonly expression: string;
  readonly mistake: { readonly line: number; readonly column: number; readonly message: string } | undefined;
}

/** Asks the gateway about an expression. */
export type Judge = (expression: string, signal: AbortSignal) => Promise<CelAnswer>;

/**
 * Has the gateway judge the expression, and marks its mistake. An expression without a mistake may still fail for the
 * request on the page: that is its value, and no mistake. The editor drops the answer about a text that has changed.
 * @param report gets each judgement that was not overtaken by another one
 */
export function celLint(judge: Judge, report: (judgement: Judgement) => void): Extension {
  let running = new AbortController();
  return linter(
    async ({ state: { doc } }) => {
      running.abort();
      const { signal } = (running = new AbortController());
      const expression = doc.toString();
      const mistake = expression.trim() === '' ? undefined : await mistakeIn(expression, judge, signal);
      if (signal.aborted) return [];
      report({ expression, mistake });
      return mistake === undefined ? [] : [diagnosticOf(doc, mistake)];
    },
    { delay: lintMs },
  );
}

async function mistakeIn(
  expression: string,
  judge: Judge,
  signal: AbortSignal,
): Promise<Judgement['mistake']> {
  try {
    const answer = await judge(expression, signal);
    if (!('error' in answer) || answer.place === undefined) return undefined;
    return { ...answer.place, message: answer.error };
  } catch {
    // The request was given up or refused: *Evaluate* says why a request on the page is none.
    return undefined;
  }
}

/** Marks the word at a place, or the end of the text. */
export function diagnosticOf(
  doc: Text,
  { line, column, message }: NonNullable<Judgement['mistake']>,
): Diagnostic {
  const place = doc.line(Math.min(line, doc.lines));
  const from = Math.min(place.from + column - 1, place.to);
  const [word = ''] = /^(?:\w+|\S)/.exec(doc.sliceString(from, place.to)) ?? [];
  return { from, to: from + word.length, severity: 'error', message };
}
