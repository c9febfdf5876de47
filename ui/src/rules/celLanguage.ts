import { autocompletion, type Completion, type CompletionSource } from '@codemirror/autocomplete';
import { LanguageSupport, StreamLanguage, type StreamParser } from '@codemirror/language';
import { celNames } from './celNames.ts';

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

const options: Completion[] = celNames.map(({ name, type }) => ({ label: name, detail: type }));

const complete: CompletionSource = (context) => {
  const before = context.matchBefore(/[A-Za-z_][\w.]*/);
  if (before === null && !context.explicit) return null;
  return { from: before?.from ?? context.pos, options, validFor: /^[\w.]*$/ };
};

/** The language of rules: colours, and completion with the types of the variables. */
export const cel = (): LanguageSupport =>
  new LanguageSupport(StreamLanguage.define(parser), autocompletion({ override: [complete], icons: false }));
