import type { Exception } from './exceptions.ts';
import type { Line, Transcript } from './transcript.ts';

/** A line that the two sides do not have in common. */
export interface Difference {
  readonly label: string;
  readonly direct: string;
  readonly gateway: string;
}

export interface Comparison {
  readonly differences: readonly Difference[];
  /** Exceptions that changed or left out a line. */
  readonly used: ReadonlySet<Exception>;
}

/** Compares two transcripts line by line, without what the exceptions excuse. */
export function compare(
  direct: Transcript,
  gateway: Transcript,
  exceptions: readonly Exception[],
): Comparison {
  const used = new Set<Exception>();
  const excuse = (line: Line): Line | undefined => {
    let text = `${line.status ?? ''} ${line.text}`.trim();
    for (const exception of exceptions) {
      if (!line.label.startsWith(exception.label ?? '')) continue;
      const next = text.replaceAll(new RegExp(exception.pattern, 'g'), exception.as ?? '');
      if (next === text) continue;
      used.add(exception);
      if (exception.as === undefined) return undefined;
      text = next;
    }
    return { ...line, text };
  };
  const excused = (lines: readonly Line[]): Line[] => lines.map(excuse).filter((line) => line !== undefined);
  const show = (line: Line | undefined, other: Line | undefined): string => {
    if (line === undefined) return 'nothing';
    const stream = other?.stream === 'all' || line.stream === 'all' ? undefined : line.stream;
    return stream === undefined ? line.text : `${line.text} on a stream of ${stream}`;
  };
  const differences: Difference[] = [];
  const pair = (label: string, directly: readonly Line[], through: readonly Line[]): void => {
    for (let place = 0; place < Math.max(directly.length, through.length); place++) {
      const [a, b] = [directly[place], through[place]];
      const [left, right] = [show(a, b), show(b, a)];
      if (left !== right || a?.label !== b?.label)
        differences.push({ label: a?.label ?? b?.label ?? label, ...excerpts(left, right) });
    }
  };
  pair('answer', excused(direct.answers), excused(gateway.answers));
  // Messages on several streams have an order among themselves only where they are of one kind.
  const labels = new Set([...direct.heard, ...gateway.heard].map(({ label }) => label));
  for (const label of labels) {
    const of = ({ heard }: Transcript): Line[] => excused(heard.filter((line) => line.label === label));
    pair(label, of(direct), of(gateway));
  }
  return { differences, used };
}

/** The part of two long texts in which they begin to differ. */
function excerpts(direct: string, gateway: string): Omit<Difference, 'label'> {
  let same = 0;
  while (same < direct.length && direct[same] === gateway[same]) same++;
  const around = (text: string): string =>
    same <= 120 ? text.slice(0, 400) : `${text.slice(0, 40)} … ${text.slice(same - 60, same + 300)}`;
  return { direct: around(direct), gateway: around(gateway) };
}

/**
 * Joins the pages of each list, and leaves out the members of its results beside the items: a gateway in front of
 * several servers makes results of its own.
 */
export function withoutPages({ answers, heard }: Transcript): Transcript {
  const joined: Line[] = [];
  for (const line of answers) {
    const last = joined.at(-1);
    if (!line.label.endsWith('/list')) joined.push(line);
    else if (last?.label === line.label)
      joined[joined.length - 1] = { ...last, text: joinLists(last.text, itemsOnly(line.text)) };
    else joined.push({ ...line, text: itemsOnly(line.text) });
  }
  return { answers: joined, heard };
}

type Lists = Readonly<Record<string, readonly unknown[]>>;

/** The items of a list; the text of an error. */
function itemsOnly(text: string): string {
  const { result } = JSON.parse(text) as { result?: object };
  if (result === undefined) return text;
  return JSON.stringify(
    Object.fromEntries(Object.entries(result).filter(([, value]) => Array.isArray(value))),
  );
}

function joinLists(first: string, second: string): string {
  const [one, two] = [JSON.parse(first) as Lists, JSON.parse(second) as Lists];
  const joined = Object.entries(one).map(([member, items]) => [member, [...items, ...(two[member] ?? [])]]);
  return JSON.stringify(Object.fromEntries(joined));
}
