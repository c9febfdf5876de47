/** `npm run conformance:h2`: the h2spec suite against the running gateway. Exit code 1 where a result changed. */
import { measureHttp2 } from './measure.ts';

for (const mode of ['usual', 'strict'] as const) {
  const { passed, total, known, unexpected, gone } = await measureHttp2(mode);
  console.log(`${mode === 'strict' ? 'with strictHttp2Frames: ' : ''}${passed} of ${total} cases passed`);
  for (const [id, cause] of known) console.log(`known     ${id}\n          ${cause}`);
  for (const id of unexpected) console.log(`FAILED    ${id}`);
  for (const id of gone) console.log(`PASSED    ${id} (take it off the list)`);
  if (unexpected.length + gone.length > 0) process.exitCode = 1;
}
