/** `npm run bench`: see README.md. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from './arguments.ts';
import { benchHttp } from './http/run.ts';
import { benchIdle } from './idle/run.ts';
import { pickCores } from './machine.ts';
import { benchMcp } from './mcp/run.ts';
import { benchSessions } from './mcp/sessions.ts';
import { benchRules } from './rules/run.ts';
import { mcpReport, report } from './report/index.ts';
import { has, programs } from './tools.ts';

const args = readArguments(process.argv.slice(2));
const absent = Object.keys(programs).filter((program) => !has(program));
if (absent.length > 0) console.error(`not installed: ${absent.join(', ')} (npm run bench:setup)`);
// The load generator and the backend; competitors are left out where they are missing.
if (args.loadsProxies && (absent.includes('wrk') || absent.includes('nginx'))) process.exit(2);

const directory = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
// Also when the run is broken off.
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
const part = () => mkdtempSync(join(directory, 'part-'));

const cores = pickCores();
const [loadBefore = Number.NaN] = loadavg();
const started = performance.now();
const http = await benchHttp(args, part(), cores);
const idle = await benchIdle(args, part(), cores);
const mcp = args.wants('mcp') ? await benchMcp(args, part(), cores) : [];
const sessions = args.wants('mcp', 'sessions') ? await benchSessions(args, part(), cores) : [];
const rules = benchRules(args);
const minutes = (performance.now() - started) / 60_000;

const { output } = args;
const before = output !== undefined && existsSync(output) ? readFileSync(output, 'utf8') : '';
const run = { args, loadBefore, minutes, http, idle, mcp, sessions, rules, before };
const text = args.onlyMcp ? mcpReport(run) : report(run);
if (output !== undefined) writeFileSync(output, text);
console.log(`\n${text}`);
