/**
 * `npm run conformance:http`: all that is asked of the gateway as a speaker of HTTP, in one run: the corpus on the wire,
 * what its backends got with the readers of other servers, llhttp's own cases, h2spec, and floods. Exit code 1 where a
 * result is not what it was.
 *
 * `-- --against haproxy,nginx,envoy,node` shows what the corpus says of others; `-- --slow` adds slowhttptest, a minute;
 * `-- --only WORD` runs the cases whose names hold it.
 */
import { parseArgs } from 'node:util';
import { measureHttp2 } from '../h2/measure.ts';
import { answerCases, requestCases, streamCases } from './cases/index.ts';
import { compareWithKnown, unexpected } from './expected.ts';
import { runFloods } from './floods.ts';
import type { Fault, Verdict } from './judge.ts';
import { llhttpCases, type LlhttpCases } from './llhttpCases.ts';
import { compareReaders, goReader, llhttp, pythonReaders, type OtherReader } from './otherReaders.ts';
import { installed, proxies } from './proxies.ts';
import { runSlow } from './slow.ts';
import { laneTo, runCases, startBackends, type Cases } from './suite.ts';

const LANES = 4;
/** The time that a flood may last. */
const FLOOD_MS = 1_000;
const FLOOD_BYTES = 200_000_000;

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    only: { type: 'string' },
    slow: { type: 'boolean', default: false },
  },
});

let failed = false;
/** A line of the report; `fine` decides about the exit code. */
function say(fine: boolean, text: string): void {
  failed ||= !fine;
  console.log(`${fine ? 'ok    ' : 'FAILED'} ${text}`);
}

const only = <T extends { readonly id: string }>(cases: readonly T[]): readonly T[] =>
  cases.filter(({ id }) => id.includes(values.only ?? ''));

const others = casesOfLlhttp();
const cases: Cases = {
  requests: only([...requestCases, ...others.requests]),
  answers: only([...answerCases, ...others.answers]),
  streams: only(streamCases),
};

if (values.against === undefined) {
  await judgeOurselves();
} else {
  for (const name of ['portcullis', ...values.against.split(',')]) {
    if (!installed(name)) console.log(`${name.padEnd(10)} is not installed`);
    else console.log(summary(name, await verdictsOf(name)));
  }
}
process.exitCode = failed ? 1 : 0;

function casesOfLlhttp(): LlhttpCases {
  try {
    return llhttpCases();
  } catch (error) {
    say(true, `not run: the cases of llhttp: ${(error as Error).message.split('\n')[0] ?? ''}`);
    return { requests: [], answers: [] };
  }
}

async function judgeOurselves(): Promise<void> {
  const verdicts = await verdictsOf('portcullis', async (port, pid) => {
    for (const { name, ended, ms, sentBytes, grownBytes } of await runFloods(port, pid))
      say(
        ended && ms <= FLOOD_MS && grownBytes <= FLOOD_BYTES,
        `flood: ${name}: ${ended ? 'ended' : 'goes on'} after ${Math.round(ms)} ms and ${kib(sentBytes)}, memory ${grownBytes < 0 ? '-' : '+'}${kib(Math.abs(grownBytes))}`,
      );
  });
  console.log(summary('portcullis', verdicts));
  const wrong = unexpected(verdicts);
  for (const { id, fault, problem } of wrong) console.log(`       ${fault ?? ''}: ${id}: ${problem ?? ''}`);
  const { known, gone } = compareWithKnown(verdicts);
  if (values.only === undefined)
    for (const id of gone) console.log(`       ${id} is right now: take it off the list`);
  say(
    wrong.length === 0 && (gone.length === 0 || values.only !== undefined),
    `corpus: ${known.length} known to be wrong, ${wrong.length} unexpected`,
  );
  await readAgain(verdicts);
  if (values.only === undefined) await http2();
  if (values.slow) await slow();
}

/** Reads the bytes that our backend got again, as backends of other kinds would. */
async function readAgain(verdicts: readonly Verdict[]): Promise<void> {
  const pieces = verdicts.flatMap(({ id, pieces: texts }) => texts.map((text) => ({ id, text })));
  const readers: OtherReader[] = [llhttp];
  for (const reader of [pythonReaders(), await goReader()]) {
    if ('missing' in reader) say(true, `not run: ${reader.missing}`);
    else readers.push(reader);
  }
  for (const reader of readers) {
    const { problems, agreed } = await compareReaders([reader], pieces);
    for (const { id, problem } of problems.slice(0, 20)) console.log(`       ${id}: ${problem}`);
    say(problems.length === 0, `${reader.name}: ${agreed} messages read alike, ${problems.length} otherwise`);
  }
}

async function http2(): Promise<void> {
  for (const way of ['TLS', 'TCP'] as const) {
    const { passed, total, unexpected: failures, gone } = await measureHttp2(way);
    for (const id of failures) console.log(`       ${id}`);
    for (const id of gone) console.log(`       ${id} is right now: take it off the list`);
    say(failures.length + gone.length === 0, `h2spec over ${way}: ${passed} of ${total} cases passed`);
  }
}

async function slow(): Promise<void> {
  for (const { name, unavailable, most, left } of await runSlow())
    say(
      unavailable === 0 && left === 0,
      `${name}: ${most} connections, ${left} left, ${unavailable} s unavailable`,
    );
}

async function verdictsOf(
  name: string,
  also?: (port: number, pid: number) => Promise<void>,
): Promise<readonly Verdict[]> {
  const backends = await startBackends(LANES);
  const proxy = await (proxies[name] as NonNullable<(typeof proxies)[string]>)(
    backends.map(({ port }) => port),
  );
  const lanes = backends.map((backend, i) => laneTo(proxy.ports[i] as number, backend));
  try {
    const verdicts = await runCases(lanes, proxy.http2 ? cases : { ...cases, streams: [] });
    if (proxy.pid !== undefined) await also?.(proxy.ports[0] as number, proxy.pid);
    return verdicts;
  } finally {
    await proxy.stop();
    for (const lane of lanes) await lane.close();
  }
}

function summary(name: string, verdicts: readonly Verdict[]): string {
  const count = (fault: Fault | undefined): number =>
    verdicts.filter((verdict) => verdict.fault === fault).length;
  return `${name.padEnd(10)} ${count(undefined)} of ${verdicts.length} right, ${count('ambiguous')} ambiguous, ${count('desync')} desync, ${count('malformed')} malformed passed on, ${count('wrong')} wrong`;
}

function kib(bytes: number): string {
  return `${Math.round(bytes / 1_024)} KiB`;
}
