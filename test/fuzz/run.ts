/**
 * `npm run fuzz -- --seconds 60 [--seed 1]`: compares our reader of HTTP/1.1 with llhttp on generated messages until
 * the time is over. Prints every difference; exit code 1 when there is one.
 */
import { parseArgs } from 'node:util';
import { compareReaders } from './http1.ts';

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '30' }, seed: { type: 'string' } },
});
const end = performance.now() + Number(values.seconds) * 1_000;
const first = values.seed === undefined ? Date.now() % 1_000_000 : Number(values.seed);
let seed = first;
let cases = 0;
let accepted = 0;
let different = 0;
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
  seed++;
}
console.log(
  `${cases} inputs (seeds ${first} to ${seed - 1}), ${accepted} messages accepted by both, ${different} differences`,
);
process.exitCode = different === 0 ? 0 : 1;
