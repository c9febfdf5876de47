import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { programs } from '../tools.ts';
import { quantiles, requestHeaders, type Load, type LoadResult } from './load.ts';

const run = promisify(execFile);

/** Streams of one connection that are open at the same time. */
const streams = 8;

/** HTTP/2 over TLS: the requests under way share an eighth as many connections. */
export async function loadWithH2load({
  url,
  workload,
  connections,
  core,
  seconds,
}: Load): Promise<LoadResult> {
  const log = join(tmpdir(), `portcullis-h2load-${randomUUID()}.log`);
  try {
    const { stdout } = await run('taskset', [
      '-c',
      `${core}`,
      programs.h2load,
      '--threads=1',
      `--clients=${connections / streams}`,
      `--max-concurrent-streams=${streams}`,
      `--duration=${seconds}`,
      `--log-file=${log}`,
      '--header',
      ':authority: api.example.com',
      ...requestHeaders.flatMap(([name, value]) => ['--header', `${name.toLowerCase()}: ${value}`]),
      `${url}${workload.path}`,
    ]);
    // Start, status (-1 where there was none) and microseconds of each.
    const lines = readFileSync(log, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t').map(Number));
    const failed = lines.filter(([, status = -1]) => status < 200 || status > 399).length;
    if (lines.length < 2) throw new Error(`h2load said nothing:\n${stdout}`);
    return {
      requests: lines.length,
      seconds,
      failed,
      ...quantiles(lines.map(([, , time = Number.NaN]) => time / 1000)),
    };
  } finally {
    rmSync(log, { force: true });
  }
}
