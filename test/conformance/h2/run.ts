/** `npm run conformance:h2`: the h2spec suite against the running gateway. Exit code 1 where a result changed. */
import { measureHttp2 } from './measure.ts';

for (const way of ['TLS', 'TCP'] as const) {
  const { passed, total, known, unexpected, gone } = await measureHttp2(way);
  console.log(`over ${way}: ${passed} of ${total} cases passed`);
  for (const [id, cause] of known) console.log(`known     ${id}\n          ${cause}`);
  for (const id of unexpected) console.log(`FAILED    ${id}`);
  for (const id of gone) console.log(`PASSED    ${id} (take it off the list)`);
  if (unexpected.length + gone.length > 0) process.exitCode = 1;
}
