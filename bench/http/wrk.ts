import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { programs } from '../tools.ts';
import type { Load, LoadResult } from './load.ts';

const script = fileURLToPath(new URL('wrk.lua', import.meta.url));
const run = promisify(execFile);

/** HTTP/1.1 over keep-alive connections, each with one request at a time. */
export async function loadWithWrk({
  url,
  workload,
  connections,
  core,
  seconds,
  token,
  routes,
}: Load): Promise<LoadResult> {
  const { stdout } = await run(
    'taskset',
    [
      '-c',
      `${core}`,
      programs.wrk,
      '--threads=1',
      `--connections=${connections}`,
      `--duration=${seconds}s`,
      '--timeout=10s',
      `--script=${script}`,
      `${url}${workload.path}`,
    ],
    {
      env: {
        ...process.env,
        BENCH_METHOD: workload.method,
        BENCH_BODY: workload.body ?? '',
        BENCH_TOKEN: token ?? '',
        BENCH_ROUTES: routes === undefined ? '' : `${routes}`,
      },
    },
  );
  const line = /^RESULT (.+)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk said nothing:\n${stdout}`);
  const result = JSON.parse(line) as Record<'requests' | 'microseconds' | 'failed' | 'p50' | 'p99', number>;
  return {
    requests: result.requests,
    seconds: result.microseconds / 1e6,
    failed: result.failed,
    p50: result.p50 / 1000,
    p99: result.p99 / 1000,
  };
}
