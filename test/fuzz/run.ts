/**
 * `npm run fuzz -- --seconds 60 [--seed 1]`: compares our reader of HTTP/1.1 with llhttp on generated messages, and
 * sends generated frames to our codec of HTTP/2, until the time is over. Prints every difference; exit code 1 when there
 * is one.
 */
import { parseArgs } from 'node:util';
import { compareReaders } from './http1.ts';
import { tryHttp2 } from './http2.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '30' }, seed: { type: 'string' } },
});
const end = performance.now() + Number(values.seconds) * 1_000;
const first = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed);
let seed = first;
let cases = 0;
let accepted = 0;
let different = 0;
let sessions = 0;
while (performance.now() < end && different < 20) {
  const outcome = await compareReaders(seed, 2_000);
  cases += outcome.cases;
  accepted += outcome.accepted;
  for (const { what, bytes, ours, theirs } of outcome.differences) {
    different++;
    console.log(`\nseed ${seed}: ${what}\n${JSON.stringify(bytes)}`);
    console.log('ours  ', JSON.stringify(ours));
    console.log('llhttp', JSON.stringify(theirs));
  }
  const { cases: tried, problems } = tryHttp2(seed, 500);
  sessions += tried;
  for (const problem of problems) {
    different++;
    console.log(`\nseed ${seed}: HTTP/2: ${problem}`);
  }
  seed++;
}
console.log(
  `${cases} inputs (seeds ${first} to ${seed - 1}), ${accepted} messages accepted by both, ${sessions} sessions of HTTP/2, ${different} differences`,
);
process.exitCode = different === 0 ? 0 : 1;
