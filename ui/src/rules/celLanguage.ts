import {
  autocompletion,
  ifNotIn,
  pickedCompletion,
  type Completion,
  type CompletionSource,
} from '@codemirror/autocomplete';
import { LanguageSupport, StreamLanguage, type StreamParser } from '@codemirror/language';
import type { EditorView } from '@codemirror/view';
import type { ExpressionWords } from '../api/types.ts';
import { wordsAt, type CelWord, type KnownMembers } from './celWords.ts';

/** Colours for CEL; the gateway checks the expression itself. */
const parser: StreamParser<undefined> = {
  name: 'cel',
  startState: () => undefined,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match('//')) {
      stream.skipToEnd();
      return 'comment';
    }
    if (stream.match(/^[rRbB]{0,2}(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)/) !== null) return 'string';
    if (stream.match(/^(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)u?/) !== null) return 'number';
    if (stream.match(/^(?:true|false|null)\b/) !== null) return 'atom';
    if (stream.match(/^(?:in\b|[A-Za-z_]\w*(?=\())/) !== null) return 'keyword';
    if (stream.match(/^[A-Za-z_]\w*/) !== null) return 'propertyName';
    stream.next();
    return null;
  },
};

/** Offers the words of a place; nothing inside of texts and comments. */
export const celCompletion = (words: ExpressionWords, known: KnownMembers): CompletionSource =>
  ifNotIn(['string', 'comment'], ({ state, pos, explicit }) => {
    const before = state.sliceDoc(0, pos);
    const { from, words: fitting } = wordsAt(before, words, known);
    // A dot asks for the members of a value, and a digit before it for those of no number.
    const isAsked = explicit || from < pos || /[\w)\]"']\s*\.$/.test(before.replace(/\b\d+\.$/, ''));
    if (!isAsked || fitting.length === 0) return null;
    return { from, options: fitting.map(completionOf), validFor: /^\w*$/ };
  });

const completionOf = ({ label, detail, signatures }: CelWord): Completion => ({
  label,
  detail,
  ...(signatures && { apply: insertCall, info: signatures.join('\n') }),
});

/** Writes a call, and puts the cursor between its brackets. */
function insertCall(view: EditorView, completion: Completion, from: number, to: number): void {
  const { label, detail = '' } = completion;
  const isCalled = view.state.sliceDoc(to, to + 1) === '(';
  const insert = isCalled ? label : `${label}()`;
  const end = from + insert.length;
  view.dispatch({
    changes: { from, to, insert },
    selection: { anchor: isCalled || detail.startsWith('()') ? end : end - 1 },
    annotations: pickedCompletion.of(completion),
    userEvent: 'input.complete',
  });
}

/** The language of rules: colours, and completion with types. */
export const cel = (words: ExpressionWords | undefined, known: KnownMembers): LanguageSupport =>
  new LanguageSupport(
    StreamLanguage.define(parser),
    words === undefined ? [] : autocompletion({ override: [celCompletion(words, known)], icons: false }),
  );
