import { Composer, Lexer, Parser, YAMLParseError, type CST, type Document, type LineCounter } from 'yaml';

/** The text is refused before it is parsed to its end. */
export class ComposeError extends Error {
  readonly reason: 'depth' | 'tokens';
  readonly offset: number;

  constructor(reason: 'depth' | 'tokens', offset: number) {
    super(reason === 'depth' ? 'is nested too deeply' : 'has too many values');
    this.reason = reason;
    this.offset = offset;
  }
}

export interface ComposeLimits {
  /** Tokens that are open at a time: the parser keeps a few for each level. */
  readonly maxOpenTokens: number;
  readonly maxTokens: number;
}

/**
 * Parses YAML 1.2 token by token, so that hostile nesting ends where it goes too deep. Parsing it whole takes gigabytes
 * for a file of brackets. The errors of the text, and a second document, are among the errors of the document.
 * @throws ComposeError
 */
export function composeYaml(
  text: string,
  { maxOpenTokens, maxTokens }: ComposeLimits,
  lines?: LineCounter,
): Document.Parsed {
  const parser = new Parser(lines?.addNewLine);
  const composer = new Composer({
    merge: true,
    stringKeys: true,
    // The check of the package compares every key with every other.
    uniqueKeys: false,
    prettyErrors: false,
    resolveKnownTags: false,
    // 'silent' would also hide that there is a second document.
    logLevel: 'error',
  });
  lines?.addNewLine(0);
  let tokens = 0;
  function* pieces(): Generator<CST.Token> {
    for (const lexeme of new Lexer().lex(text)) {
      yield* parser.next(lexeme);
      tokens += 1;
      if (parser.stack.length > maxOpenTokens) throw new ComposeError('depth', parser.offset);
      if (tokens > maxTokens) throw new ComposeError('tokens', parser.offset);
    }
    yield* parser.end();
  }
  let first: Document.Parsed | undefined;
  for (const document of composer.compose(pieces(), true, text.length)) {
    if (first === undefined) first = document as Document.Parsed;
    else {
      const range = document.range.slice(0, 2) as [number, number];
      first.errors.push(new YAMLParseError(range, 'MULTIPLE_DOCS', 'more than one'));
      break;
    }
  }
  return first as Document.Parsed;
}
