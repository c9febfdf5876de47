/** `npm run bench`: see README.md. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments, type BenchArguments } from './arguments.ts';
import { benchHttp } from './http/run.ts';
import { pickCores } from './machine.ts';
import { benchMcp } from './mcp/run.ts';
import { profile } from './profile.ts';
import { report } from './report.ts';
import { has, programs, type Program } from './tools.ts';

const args = readArguments(process.argv.slice(2));
const missing = needed(args).filter((program) => !has(program));
if (missing.length > 0) {
  console.error(`missing: ${missing.join(', ')}; run \`npm run bench:setup\` first`);
  process.exit(2);
}

const directory = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
// Also when the run is broken off.
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

const cores = pickCores();
if (args.profile) {
  for (const file of await profile(args, directory, cores)) console.log(`profile: ${file}`);
} else {
  const [loadBefore = Number.NaN] = loadavg();
  const http = args.parts.includes('http') ? await benchHttp(args, directory, cores) : [];
  const mcp = args.parts.includes('mcp') ? await benchMcp(args, directory, cores) : [];
  const text = report(args, loadBefore, http, mcp);
  if (args.output !== undefined) writeFileSync(args.output, text);
  console.log(`\n${text}`);
}

/** The load generator and the backend always, competitors only when they take part. */
function needed({ parts, candidates, profile }: BenchArguments): Program[] {
  const base: readonly Program[] = parts.includes('http') ? ['wrk', 'nginx'] : [];
  const others = (Object.keys(programs) as Program[]).filter(
    (name) => !profile && (candidates?.some((chosen) => chosen.startsWith(name)) ?? true),
  );
  return [...new Set([...base, ...others])];
}
