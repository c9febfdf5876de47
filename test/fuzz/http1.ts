import { readAnswers, readRequests as theirRequests } from './llhttp.ts';
import { answers, requests } from './messages.ts';
import { readAnswer, readRequests as ourRequests } from './ours.ts';
import { Random } from './random.ts';
import type { Reading, Seen } from './seen.ts';

/**
 * The rule: whatever we accept, llhttp must understand in the same way: method, target, fields, body, and where the
 * next message starts. That it accepts what we refuse is fine. Every other difference is here, with its reason.
 */
const excused: readonly {
  readonly reason: string;
  /** `before` is the message in front of the one that llhttp did not take. */
  holds(theirs: Reading, before: Seen | undefined): boolean;
}[] = [
  {
    reason: 'llhttp has a closed list of methods; RFC 9110 §9.1 lets a method be any token',
    holds: (theirs) => theirs.refusal === 'HPE_INVALID_METHOD',
  },
  {
    reason:
      'llhttp takes Proxy-Connection for Connection; RFC 9112 §C.2.2 tells to ignore it, and we drop it',
    holds: (theirs, before) => theirs.refusal === 'HPE_CLOSED_CONNECTION' && has(before, 'proxy-connection'),
  },
  {
    reason: 'llhttp leaves the connection to an upgrade; we do not send one on, and the next request follows',
    holds: (theirs, before) =>
      theirs.refusal === undefined && has(before, 'upgrade') && has(before, 'connection'),
  },
];

const has = (message: Seen | undefined, name: string): boolean =>
  message?.fields.some(([known]) => known === name) === true;

export interface Difference {
  readonly what: string;
  readonly bytes: string;
  readonly ours: Reading;
  readonly theirs: Reading;
}

export interface Outcome {
  readonly cases: number;
  /** Messages that both readers took whole. */
  readonly accepted: number;
  readonly excused: number;
  readonly differences: readonly Difference[];
}

/** Runs `cases` messages of each direction from `seed`. */
export async function compareReaders(seed: number, cases: number): Promise<Outcome> {
  const random = new Random(seed);
  const differences: Difference[] = [];
  const count = { accepted: 0, excused: 0 };
  const judge = (bytes: Buffer, ours: Reading, theirs: Reading, answer: boolean): void => {
    const what = compare(ours, theirs, answer, count);
    if (what !== undefined) differences.push({ what, bytes: bytes.toString('latin1'), ours, theirs });
  };
  const batch = 200;
  for (let done = 0; done < cases; done += batch) {
    const size = Math.min(batch, cases - done);
    const sent = Array.from({ length: size }, () => requests(random));
    const read = await theirRequests(sent);
    for (const [i, bytes] of sent.entries()) judge(bytes, ourRequests(bytes), read[i] as Reading, false);
    const replies = Array.from({ length: size }, () => answers(random));
    const understood = await readAnswers(replies);
    for (const [i, bytes] of replies.entries())
      judge(bytes, readAnswer(bytes), understood[i] as Reading, true);
  }
  return { cases: 2 * cases, ...count, differences };
}

/** @returns what is different, undefined where nothing is that must not be */
function compare(
  ours: Reading,
  theirs: Reading,
  answer: boolean,
  count: { accepted: number; excused: number },
): string | undefined {
  for (const [i, mine] of ours.messages.entries()) {
    const other = theirs.messages[i];
    if (other === undefined) {
      if (excused.some(({ holds }) => holds(theirs, ours.messages[i - 1]))) {
        count.excused++;
        return undefined;
      }
      return `message ${i} is accepted, llhttp: ${theirs.refusal ?? 'nothing'}`;
    }
    if (mine.start !== other.start) return `message ${i}: method or status`;
    if (mine.target !== other.target) return `message ${i}: target`;
    if (JSON.stringify(mine.fields) !== JSON.stringify(other.fields)) return `message ${i}: fields`;
    if (mine.complete) {
      if (!other.complete) return `message ${i} is complete, llhttp: ${theirs.refusal ?? 'waits'}`;
      if (mine.body !== other.body) return `message ${i}: body`;
      count.accepted++;
    } else if (ours.refusal === undefined) {
      if (other.complete) return `message ${i} is complete for llhttp only`;
      if (mine.body !== other.body) return `message ${i}: the body so far`;
    }
  }
  const more = theirs.messages.length > ours.messages.length;
  if (more && ours.refusal === undefined && !ours.closed && !answer) return 'llhttp sees a further message';
  return undefined;
}
