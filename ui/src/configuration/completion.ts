import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import type { Extension } from '@codemirror/state';
import { pathAt } from './schemaPath.ts';
import { fieldsAt, valuesAt, type Schema, type Word } from './schemaWords.ts';

/** Offers the fields and values that the schema allows at the cursor. */
export const schemaCompletion = (schema: Schema): Extension =>
  autocompletion({ override: [(context) => complete(context, schema)], icons: false });

function complete(context: CompletionContext, schema: Schema): CompletionResult | null {
  const { state, pos, explicit } = context;
  const line = state.doc.lineAt(pos);
  const before = line.text.slice(0, pos - line.from);
  const lines = [...state.doc.iterLines(1, line.number), before];
  const value = /^(\s*(?:- +)*)([\w$-]+):\s+(\S*)$/.exec(before);
  if (value !== null) {
    const [, lead = '', key = '', word = ''] = value;
    return result(
      pos - word.length,
      valuesAt(schema, [...pathAt(lines, lead.length), key]),
      '',
      explicit,
      word,
    );
  }
  const field = /^(\s*(?:- +)*)([\w$-]*)$/.exec(before);
  if (field === null) return null;
  const [, lead = '', word = ''] = field;
  return result(pos - word.length, fieldsAt(schema, pathAt(lines, lead.length)), ': ', explicit, word);
}

function result(
  from: number,
  words: readonly Word[],
  suffix: string,
  explicit: boolean,
  word: string,
): CompletionResult | null {
  if (words.length === 0 || (word === '' && !explicit)) return null;
  return {
    from,
    options: words.map(({ label, about }) => ({
      label,
      apply: label + suffix,
      ...(about === undefined ? {} : { info: about }),
    })),
    validFor: /^[\w$-]*$/,
  };
}
