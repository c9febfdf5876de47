import { TestPlane } from '../../../src/proxy/dataPlane.testing.ts';
import { Backend } from './backend.ts';
import type { AnswerCase, RequestCase, StreamCase } from './case.ts';
import { judge, judgeAnswer, judgeStream, type Verdict } from './judge.ts';
import { Lane } from './lane.ts';

export interface Cases {
  readonly requests: readonly RequestCase[];
  readonly answers: readonly AnswerCase[];
  readonly streams: readonly StreamCase[];
}

/** The time after which a gateway's silence is its answer. */
const PATIENCE_MS = 1_000;

/** Lanes in front of a data plane of this process; it closes with them. */
export async function withOwnLanes<T>(
  count: number,
  use: (lanes: readonly Lane[]) => Promise<T>,
): Promise<T> {
  const backends = await startBackends(count);
  const planes = await Promise.all(backends.map(({ port }) => TestPlane.start({ routes: [{ to: port }] })));
  const lanes = planes.map(({ port }, i) => new Lane(port, backends[i] as Backend, PATIENCE_MS));
  try {
    return await use(lanes);
  } finally {
    for (const plane of planes) plane.close();
    for (const lane of lanes) await lane.close();
  }
}

export const startBackends = (count: number): Promise<Backend[]> =>
  Promise.all(Array.from({ length: count }, () => Backend.start()));

export const laneTo = (port: number, backend: Backend): Lane => new Lane(port, backend, PATIENCE_MS);

/** Runs all cases over the lanes, one at a time on each. */
export async function runCases(lanes: readonly Lane[], cases: Cases): Promise<readonly Verdict[]> {
  const work: ((lane: Lane) => Promise<Verdict>)[] = [
    ...cases.requests.map((item) => async (lane: Lane) => judge(item, await lane.send(item))),
    ...cases.answers.map((item) => async (lane: Lane) => judgeAnswer(item, await lane.receive(item))),
    ...cases.streams.map((item) => async (lane: Lane) => judgeStream(item, await lane.stream(item))),
  ];
  const verdicts: Verdict[] = [];
  let next = 0;
  await Promise.all(
    lanes.map(async (lane) => {
      for (let index = next++; index < work.length; index = next++)
        verdicts[index] = await (work[index] as (typeof work)[number])(lane);
    }),
  );
  return verdicts;
}
