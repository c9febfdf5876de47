/**
 * The server that the MCP conformance suite talks to: `node fixture.ts` serves stdio, `node fixture.ts --http`
 * serves Streamable HTTP on a free loopback port and prints its URL on the first line of stdout.
 *
 * Options: `--era legacy` serves only revisions up to 2025-11-25, `--era modern` only 2026-07-28.
 */
import { parseArgs } from 'node:util';
import { allEras } from './fixture/eras.ts';
import { serveHttp } from './fixture/http.ts';
import { serveOverStdio } from './fixture/stdio.ts';

const { values } = parseArgs({
  options: { http: { type: 'boolean' }, era: { type: 'string', default: 'both' } },
});
const eras = allEras.find((each) => each === values.era);
if (eras === undefined) throw new Error(`--era ${values.era}: expected one of ${allEras.join(', ')}`);

if (values.http === true) {
  const { url } = await serveHttp(eras);
  console.log(url);
} else {
  await serveOverStdio(eras);
}
