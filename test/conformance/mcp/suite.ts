import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The result of a scenario: check id → its distinct outcomes (`SUCCESS`, `FAILURE`, `INFO`, …), sorted. */
export type Checks = ReadonlyMap<string, string>;

/** Scenario → checks. */
export type Results = ReadonlyMap<string, Checks>;

// Its package exports nothing, so the entry is found by path.
const program = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);

/**
 * Runs the official suite's server scenarios of one protocol revision against a URL.
 *
 * @throws Error with the suite's output when it wrote no results.
 */
export async function runSuite(url: string, revision: string): Promise<Results> {
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
    const checks = JSON.parse(await readFile(join(directory, name, 'checks.json'), 'utf8')) as {
      id: string;
      status: string;
    }[];
    const outcomes = new Map<string, Set<string>>();
    for (const { id, status } of checks) {
      outcomes.set(id, (outcomes.get(id) ?? new Set()).add(status));
    }
    results.set(
      scenario,
      new Map([...outcomes].map(([id, statuses]) => [id, [...statuses].sort().join('+')])),
    );
  }
  return results;
}
