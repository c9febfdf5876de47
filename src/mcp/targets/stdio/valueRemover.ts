import { StringDecoder } from 'node:string_decoder';

/** Shorter values stand in ordinary words by chance. */
const shortest = 6;

/** A line of a value, under the name of its variable. */
interface Secret {
  readonly name: string;
  readonly text: string;
}

interface Span {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Takes the values of the caller out of lines: a server may write them to its stderr, which goes to the log. */
export class ValueRemover {
  private readonly secrets: readonly Secret[];

  constructor(values: Readonly<Record<string, string>>) {
    this.secrets = Object.entries(values).flatMap(([name, value]) =>
      // A server writes a value of several lines, such as a key in PEM, line by line.
      value
        .split(/[\r\n]+/)
        .map((line) => ({ name, text: line.trim() }))
        .filter(({ text }) => text.length >= shortest),
    );
  }

  line(text: string): string {
    return without(
      text,
      this.secrets.flatMap((secret) => [...wholeIn(text, secret)]),
    );
  }

  /** @param head the first bytes of a line, as latin1: a value may begin in them and end behind them */
  head(head: string): string {
    // A character that is cut, too, would hide the beginning of a value.
    const text = new StringDecoder('utf8').write(Buffer.from(head, 'latin1'));
    return without(
      text,
      this.secrets.flatMap((secret) => [...wholeIn(text, secret), ...begunIn(text, secret)]),
    );
  }
}

function* wholeIn(text: string, { name, text: secret }: Secret): Iterable<Span> {
  for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + 1))
    yield { name, start, end: start + secret.length };
}

/** The end of the text, where it is the beginning of the secret. */
function* begunIn(text: string, { name, text: secret }: Secret): Iterable<Span> {
  for (let start = Math.max(0, text.length - secret.length + 1); start < text.length; start++)
    if (secret.startsWith(text.slice(start))) {
      yield { name, start, end: text.length };
      return;
    }
}

/** Replaces the spans by their names. Spans that overlap are one, since each of them would leave a part of another. */
function without(text: string, spans: readonly Span[]): string {
  const inOrder = [...spans].sort((one, other) => one.start - other.start || other.end - one.end);
  let result = '';
  let end = 0;
  for (const span of inOrder) {
    if (span.start >= end) result += `${text.slice(end, span.start)}[${span.name}]`;
    end = Math.max(end, span.end);
  }
  return result + text.slice(end);
}
