import type { Seen } from '../../fuzz/seen.ts';
import { echoOf } from './backend.ts';
import {
  HOST,
  SMUGGLED,
  type AnswerCase,
  type RequestCase,
  type StreamCase,
  type Want,
  type Wanted,
} from './case.ts';
import { markerEcho, type AnswerSighting, type Sighting, type StreamSighting } from './lane.ts';
import { doubtOf, type Doubt } from './readers.ts';

/**
 * `ambiguous`: what was passed on can be read in two ways. `desync`: somebody got, or was asked, what was not his.
 * `malformed`: what was passed on is no message, and no reader takes it for another one than the others do.
 */
export type Fault = 'ambiguous' | 'desync' | 'malformed' | 'wrong';

export interface Verdict {
  readonly id: string;
  readonly rule: string;
  readonly want: Want;
  readonly outcome: 'passed' | 'refused' | 'silent';
  /** Undefined where all is right. */
  readonly fault: Fault | undefined;
  readonly problem: string | undefined;
  /** The bytes that the backend got, for further readers; empty if an answer was tried. */
  readonly pieces: readonly string[];
}

/** Makes the verdict of a case from its result. */
const verdict =
  (
    { id, rule, want }: Pick<Verdict, 'id' | 'rule' | 'want'>,
    outcome: Verdict['outcome'],
    pieces: readonly string[],
  ) =>
  (fault: Fault | undefined, problem?: string): Verdict => ({
    id,
    rule,
    want,
    outcome,
    fault,
    problem,
    pieces,
  });

export function judge(item: RequestCase, seen: Sighting): Verdict {
  const outcome = seen.requests.length > 0 ? 'passed' : seen.silent ? 'silent' : 'refused';
  const of = verdict(item, outcome, seen.pieces);
  const unclear = doubtful(seen);
  if (unclear?.kind === 'ambiguous') return of(unclear.kind, unclear.problem);
  const mixed = outOfStep(item, seen);
  if (mixed !== undefined) return of('desync', mixed);
  if (unclear !== undefined) return of(unclear.kind, unclear.problem);
  const wrong = mistaken(item, seen);
  return wrong === undefined ? of(undefined) : of('wrong', wrong);
}

/** The same for an answer: what the client got is to be one answer, and the next one its own. */
export function judgeAnswer(item: AnswerCase, seen: AnswerSighting): Verdict {
  const { want, method = 'GET', status, body } = item;
  const [first, second, ...others] = seen.answers;
  // The gateway's own answer to an invalid answer of a backend; none of the cases has such a status.
  const own = first !== undefined && first.start >= '500' && first.start < '505';
  const outcome = first !== undefined && !own ? 'passed' : seen.silent ? 'silent' : 'refused';
  const of = verdict(item, outcome, []);
  const unclear = doubtOf(seen.received, 'answer', { methods: [method, 'GET'], ended: seen.ended });
  if (unclear !== undefined)
    return of(unclear.kind, `${unclear.problem}: ${JSON.stringify(seen.received.slice(0, 2_000))}`);
  if (!seen.inStep) return of('desync', 'a later request got the answer of another');
  // A gateway may find that the connection is gone which it would have used.
  const excused =
    second !== undefined && seen.echoes[1] === undefined && second.start >= '500' && !hasSmuggled(second);
  if (
    others.length > 0 ||
    (second !== undefined && !excused && (seen.echoes[1] !== markerEcho || hasSmuggled(second)))
  )
    return of('desync', `the next request got ${second?.start ?? ''} ${JSON.stringify(second?.fields)}`);
  if (seen.silent && want !== 'refuse') return of('wrong', 'the answers never came to an end');
  if (outcome !== 'passed')
    return of(want === 'pass' ? 'wrong' : undefined, `refused with ${first?.start ?? 'a close'}`);
  if (want === 'refuse') return of('wrong', 'passed on');
  if (status === undefined) return of(undefined);
  if (first?.start !== String(status)) return of('wrong', `status ${first?.start ?? ''}`);
  return first.body === body
    ? of(undefined)
    : of('wrong', `body ${JSON.stringify(first.body.slice(0, 200))}`);
}

const hasSmuggled = ({ fields }: Seen): boolean => fields.some(([name]) => name === 'x-smuggled');

/** The same for a stream of HTTP/2, which the backend got as a request of HTTP/1.1. */
export function judgeStream(item: StreamCase, seen: StreamSighting): Verdict {
  const { want, readings } = item;
  const outcome = seen.requests.length > 0 ? 'passed' : seen.silent ? 'silent' : 'refused';
  const of = verdict(item, outcome, seen.pieces);
  const unclear = doubtful(seen);
  if (unclear !== undefined) return of(unclear.kind, unclear.problem);
  if (!seen.inStep) return of('desync', 'a later request was not answered, or with an answer of another');
  const asked = seen.requests.map(echoOf);
  const contents = [seen.first, seen.second].map((end) =>
    end !== undefined && 'content' in end && /^[^%]+%20/.test(end.content) ? end.content : undefined,
  );
  if (asked.length > 1 || (contents[0] ?? '') !== (asked[0] ?? ''))
    return of(
      'desync',
      `the backend was asked ${asked.join(' and ')}, the client was answered ${contents[0] ?? 'nothing'}`,
    );
  if (seen.marked !== (contents[1] === markerEcho))
    return of('desync', 'the request behind was not answered as its own');
  if (outcome === 'silent' && want !== 'refuse') return of('wrong', 'neither answered nor reset');
  if (outcome !== 'passed') return of(want === 'pass' ? 'wrong' : undefined, 'refused');
  if (want === 'refuse') return of('wrong', 'passed on');
  const problem = readings === undefined ? undefined : unlike(readings[0] ?? [], seen.requests, false);
  return problem === undefined ? of(undefined) : of('wrong', problem);
}

/** The worst that is wrong with what the backend got. */
function doubtful({ pieces }: Pick<Sighting, 'pieces'>): Doubt | undefined {
  const doubts = pieces.flatMap((piece) => {
    const doubt = doubtOf(piece, 'request');
    return doubt === undefined ? [] : [{ ...doubt, problem: `${doubt.problem}: ${JSON.stringify(piece)}` }];
  });
  return doubts.find(({ kind }) => kind === 'ambiguous') ?? doubts[0];
}

function outOfStep(item: RequestCase, seen: Sighting): string | undefined {
  if (!seen.inStep) return 'a later request was not answered, or with an answer of another';
  if (seen.bad !== undefined) return `the answers cannot be read: ${seen.bad}`;
  const asked = seen.requests.map(echoOf);
  const allowed = item.readings?.some((reading) => reading.some(({ target }) => target.includes(SMUGGLED)));
  if (allowed !== true && seen.requests.some(({ target }) => target.includes(SMUGGLED)))
    return `the backend was asked ${asked.join(' and ')}`;
  if (item.last === true && item.readings === undefined) return undefined;
  const answered = seen.echoes.filter((echo) => echo !== undefined && echo !== markerEcho);
  if (answered.some((echo, i) => echo !== asked[i]))
    return `the backend was asked ${asked.join(' and ')}, the client was answered ${answered.join(' and ')}`;
  return undefined;
}

function mistaken(item: RequestCase, seen: Sighting): string | undefined {
  const { want, readings, last = false } = item;
  const answered = seen.echoes.filter((echo) => echo !== undefined).length;
  if (answered < seen.requests.length + Number(seen.marked) && !(last && readings === undefined))
    return 'passed on and not answered';
  if (want !== 'refuse' && seen.silent) return 'neither answered nor closed';
  const own = seen.answers.filter((_answer, i) => seen.echoes[i] === undefined);
  if (own.some(({ start }) => Number(start) < 400)) return `refused with ${own[0]?.start ?? ''}`;
  if (seen.requests.length === 0)
    return want === 'pass' ? `refused with ${own[0]?.start ?? 'a close'}` : undefined;
  if (want === 'refuse') {
    if (seen.marked) return 'passed on';
    return readings?.some((reading) => starts(reading, seen.requests)) === true ? undefined : 'passed on';
  }
  if (readings === undefined) return undefined;
  const problems = readings.map((reading) => unlike(reading, seen.requests, want === 'either'));
  if (!problems.includes(undefined)) return problems[0];
  return want === 'pass' && !last && !seen.marked ? 'the request behind was not answered' : undefined;
}

const starts = (reading: readonly Wanted[], requests: readonly Seen[]): boolean =>
  unlike(reading.slice(0, requests.length), requests, false) === undefined;

/** @param some the first of several are enough: the rest was refused */
function unlike(reading: readonly Wanted[], requests: readonly Seen[], some: boolean): string | undefined {
  if (requests.length > reading.length || (!some && requests.length < reading.length))
    return `${requests.length} requests for ${reading.length}`;
  for (const [i, found] of requests.entries()) {
    const { method, target, body, host = HOST, without = [] } = reading[i] as Wanted;
    if (found.start !== method) return `method ${found.start}`;
    if (found.target !== target) return `target ${found.target}`;
    if (found.body !== body) return `body ${JSON.stringify(found.body.slice(0, 100))}`;
    if (host !== null && found.fields.find(([name]) => name === 'host')?.[1] !== host) return 'another host';
    const extra = found.fields.find(([name]) => without.includes(name));
    if (extra !== undefined) return `${extra[0]}: ${extra[1]} was passed on`;
  }
  return undefined;
}
