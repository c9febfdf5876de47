import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { Revision } from './combinations.ts';

/** The verdict of the suite on a check. A scenario may run a check several times. */
export interface Check {
  /** The distinct outcomes (`SUCCESS`, `FAILURE`, `INFO`, …), sorted and joined with `+`. */
  readonly outcome: string;
  /** The complaints of the suite. */
  readonly problem?: string;
}

/** The result of a scenario: check id → check. */
export type Checks = ReadonlyMap<string, Check>;

/** Scenario → checks. */
export type Results = ReadonlyMap<string, Checks>;

// The package exports nothing, so its files are found by path.
const program = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);

/** The scenarios that a revision demands of a server. The suite runs others, too, and does not score them. */
export async function scoredScenarios(revision: Revision): Promise<ReadonlySet<string>> {
  const text = await readFile(join(dirname(program), `../requirements/${revision}.yaml`), 'utf8');
  const { server } = parse(text) as { server: string[] };
  return new Set(server);
}

/**
 * Runs the official suite's server scenarios of one protocol revision against a URL.
 *
 * @throws Error with the suite's output when it wrote no results.
 */
export async function runSuite(url: string, revision: Revision): Promise<Results> {
  const directory = await mkdtemp(join(tmpdir(), 'portcullis-conformance-'));
  try {
    const child = spawn(
      process.execPath,
      [program, 'server', '--url', url, '--requirements', revision, '--output-dir', directory],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => void (output += chunk));
    }
    // Its exit code says whether a check failed, which the results say in detail.
    await once(child, 'close');
    const results = await readResults(directory);
    if (results.size === 0) throw new Error(`the conformance suite wrote no results:\n${output}`);
    return results;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function readResults(directory: string): Promise<Results> {
  const results = new Map<string, Checks>();
  for (const name of (await readdir(directory)).sort()) {
    // server-<scenario>-<time of the run>
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name)?.[1];
    if (scenario === undefined) continue;
    const runs = await readRuns(join(directory, name, 'checks.json'));
    const checks = Map.groupBy(runs, ({ id }) => id);
    results.set(scenario, new Map([...checks].map(([id, each]) => [id, toCheck(each)])));
  }
  return results;
}

/** A run of a check, as the suite writes it. */
interface Run {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** A scenario that breaks off leaves no file. */
async function readRuns(file: string): Promise<readonly Run[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return [{ id: 'scenario', status: 'FAILURE', errorMessage: 'broke off' }];
  return JSON.parse(text) as Run[];
}

function toCheck(runs: readonly Run[]): Check {
  const outcome = [...new Set(runs.map(({ status }) => status))].sort().join('+');
  const problems = new Set(runs.flatMap(({ errorMessage }) => errorMessage ?? []));
  return problems.size === 0 ? { outcome } : { outcome, problem: [...problems].join('; ') };
}
