/**
 * `npm run bench:start -- [--rounds 15] [--no-write]`: the start of the program of the npm package. Writes a section of
 * RESULTS.md that `npm run bench` keeps.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { resultsFile } from '../arguments.ts';
import { describeMachine } from '../machine.ts';
import { processTree, residentMegabytes } from '../processes.ts';
import { heading, line, show } from '../report/cells.ts';
import { withStart } from '../report/kept.ts';
import { has } from '../tools.ts';
import { settle } from '../settle.ts';
import { spread } from '../statistics.ts';
import { peers, startPeer, type Started } from './peers.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, 'no-write': { type: 'boolean', default: false } },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) {
  console.error('--rounds takes 1 to 100');
  process.exit(2);
}

const root = resolve(import.meta.dirname, '../..');
const directory = mkdtempSync(join(tmpdir(), 'portcullis-start-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

/** The files of the package that run. */
const installed = join(directory, 'installed');
mkdirSync(installed);
execFileSync(process.execPath, [join(root, 'scripts/bundle.ts'), installed], { stdio: 'inherit' });
for (const part of ['bin', 'package.json'])
  cpSync(join(root, part), join(installed, part), { recursive: true });

const launcher = join(installed, 'bin/portcullis');
const quickstart = join(root, 'examples/quickstart/config.yaml');
const oneRoute =
  'binds: [{ port: 0, listeners: [{ routes: [{ policies: { directResponse: { status: 204 } } }] }] }]';
const environment = (cache: boolean): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  ...(cache ? { XDG_CACHE_HOME: join(directory, 'cache') } : { NODE_DISABLE_COMPILE_CACHE: '1' }),
});

/** Milliseconds of a process from its start to its end. @throws Error where it fails */
function ended(args: readonly string[], cache = true): number {
  const before = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { env: environment(cache), encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
  return performance.now() - before;
}

/** A gateway with one route. @returns milliseconds until it is ready, and what ends it */
async function ready(cache = true): Promise<Started> {
  const before = performance.now();
  const child = spawn(process.execPath, [launcher, 'run', '-c', oneRoute, '--admin-port', '0'], {
    env: environment(cache),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = new Promise<void>((done) => child.on('exit', () => done()));
  for await (const text of createInterface({ input: child.stderr })) if (text.includes(' ready ')) break;
  const ms = performance.now() - before;
  child.stderr.resume();
  const stop = async (): Promise<void> => {
    child.kill();
    await exit;
  };
  return { ms, pid: child.pid ?? 0, stop };
}

/** @returns milliseconds until it is ready */
async function startMs(start: () => Promise<Started>): Promise<number> {
  const { ms, stop } = await start();
  await stop();
  return ms;
}

/** @returns megabytes of a process that rests */
async function restingMegabytes(start: () => Promise<Started>): Promise<number> {
  const { pid, stop } = await start();
  const resident = (): number => residentMegabytes(processTree(pid));
  await settle(() => [resident()]);
  const memory = resident();
  await stop();
  return memory;
}

/** The peers that `npm run bench:setup` has fetched. */
const present = peers
  .filter(({ name }) => has(name.toLowerCase()))
  .map((peer) => ({ name: peer.name, start: () => startPeer(peer, directory) }));

interface Row {
  readonly name: string;
  readonly goal: string;
  readonly measure: () => number | Promise<number>;
}
const check = [launcher, 'check', quickstart];
const rows: readonly Row[] = [
  { name: 'node -e 0, for comparison', goal: '', measure: () => ended(['-e', '0']) },
  { name: '`portcullis --version`', goal: '80', measure: () => ended([launcher, '--version']) },
  { name: '`portcullis check` of the quickstart', goal: '250', measure: () => ended(check) },
  { name: '`portcullis check`, without the compile cache', goal: '', measure: () => ended(check, false) },
  { name: 'gateway with one route, until it is ready', goal: '300', measure: () => startMs(ready) },
  { name: 'gateway, without the compile cache', goal: '', measure: () => startMs(() => ready(false)) },
  ...present.map(({ name, start }) => ({
    name: `${name} with one route, until it accepts connections`,
    goal: '',
    measure: () => startMs(start),
  })),
];

const [load = Number.NaN] = loadavg();
// The first run fills the cache.
ended(check);
await startMs(ready);
const samples = new Map(rows.map(({ name }) => [name, [] as number[]]));
for (let round = 0; round < rounds; round++)
  for (const { name, measure } of rows) samples.get(name)?.push(await measure());

const memory: (readonly [name: string, megabytes: number, goal: string])[] = [
  ['portcullis', await restingMegabytes(ready), '90'],
];
for (const { name, start } of present) memory.push([name, await restingMegabytes(start), '']);

const section = [
  'Written by `npm run bench:start`.',
  '',
  `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
  `- Machine: ${describeMachine()}`,
  `- Others on it: load average before the run ${load.toFixed(1)}`,
  `- The program of the npm package on Node ${process.versions.node}; ${String(rounds)} interleaved rounds; a cell is the median, with the range in brackets`,
  '',
  ...heading(['start', 'ms', 'goal']),
  ...rows.map(({ name, goal }) => line([name, show(spread(samples.get(name) ?? []), 0), goal])),
  '',
  ...heading(['resident memory at rest, with one route', 'MB', 'goal']),
  ...memory.map(([name, megabytes, goal]) => line([name, megabytes.toFixed(0), goal])),
];
console.log(`\n${section.join('\n')}`);
if (!values['no-write']) {
  const before = existsSync(resultsFile) ? readFileSync(resultsFile, 'utf8') : '# Benchmark results\n';
  writeFileSync(resultsFile, withStart(before, section));
}
