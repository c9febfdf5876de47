import { foldKey, maxIdLength, type Fault } from './envelope.ts';
import { decodeString, Members, skipSpace } from './scan.ts';

/** A text that is no message, and which calls it can only be about. */
export interface InvalidMessage {
  readonly fault: Fault;
  readonly text: string;
  /** The flaw of the answer, for the client whose call it answers. */
  readonly what: string;
  /** The calls that it names, as numbers, also where they are written as strings. */
  readonly ids: readonly number[];
  /** It has `result` or `error`: it is meant as an answer. */
  readonly isAnswer: boolean;
}

/** Looks once more at a text that `readEnvelope` refused, for what it says about calls. */
export function readInvalidMessage(text: string, fault: Fault): InvalidMessage {
  const counts: Record<string, number> = {};
  const ids: number[] = [];
  const scan = new Members(text, skipSpace(text, 0));
  let foreign = false;
  while (scan.next()) {
    const key = scan.key.length > maxKey ? '' : foldKey(scan.key);
    if (!watched.has(key)) {
      foreign = true;
      continue;
    }
    counts[key] = (counts[key] ?? 0) + 1;
    if (key !== 'id') continue;
    const id = callId(text, scan.start, scan.end);
    if (id !== undefined) ids.push(id);
  }
  const isAnswer = counts['result'] !== undefined || counts['error'] !== undefined;
  // Servers write log lines in JSON to the wrong stream, and theirs may have an `id` too.
  const isMessage = isAnswer || counts['jsonrpc'] !== undefined || !foreign;
  return { fault, text, what: whatIsWrong(fault, counts), ids: isMessage ? ids : [], isAnswer };
}

const watched: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const maxKey = 8;

function whatIsWrong(fault: Fault, counts: Readonly<Record<string, number>>): string {
  const repeated = Object.keys(counts).find((key) => counts[key]! > 1);
  if (repeated !== undefined) return `answered with the member "${repeated}" twice`;
  if (fault === 'not_json') return 'answered with broken JSON';
  if (counts['result'] !== undefined && counts['error'] !== undefined)
    return 'answered with both result and error';
  const has = (key: string): boolean => counts[key] !== undefined;
  if (!has('result') && !has('error') && !has('method')) return 'answered with neither result nor error';
  if (has('method') && (has('result') || has('error'))) return 'answered with both a method and an answer';
  if (!has('jsonrpc')) return 'answered without jsonrpc: "2.0"';
  return 'answered with something that is no response';
}

/** The call that an id names; undefined where it names none of the gateway's. */
function callId(text: string, start: number, end: number): number | undefined {
  if (end - start > maxIdLength) return undefined;
  const written = text.charCodeAt(start) === 0x22 ? decodeString(text, start, end) : text.slice(start, end);
  return written === undefined ? undefined : wireIdOf(written);
}

/** Reads an id of the gateway's own: a whole number, written as a number or as a string. */
export function wireIdOf(written: string): number | undefined {
  return /^[1-9]\d{0,15}$/.test(written) ? Number(written) : undefined;
}
