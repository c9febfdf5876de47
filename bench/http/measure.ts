import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cpuBetween, processTree, residentMegabytes } from '../processes.ts';
import { programs } from '../tools.ts';
import type { Running } from './candidates.ts';
import type { Workload } from './workloads.ts';

const script = fileURLToPath(new URL('wrk.lua', import.meta.url));
const run = promisify(execFile);

/** One run of one workload against one candidate. */
export interface Sample {
  readonly requestsPerSecond: number;
  /** Of the proxy's process tree; NaN where there is none. */
  readonly cpuPerRequest: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly residentMegabytes: number;
  readonly requests: number;
  /** Answers that were not 2xx or 3xx, and broken connections. */
  readonly failed: number;
}

export const connections = 64;

/** Loads a candidate for some seconds and reads its CPU time before and after. */
export async function measure(
  running: Running,
  workload: Workload,
  core: number,
  seconds: number,
): Promise<Sample> {
  const pid = running.program?.pid;
  const before = pid === undefined ? [] : processTree(pid);
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
      `http://127.0.0.1:${running.port}${workload.path}`,
    ],
    {
      env: {
        ...process.env,
        BENCH_METHOD: workload.method,
        BENCH_BODY: workload.body ?? '',
        BENCH_TOKEN: running.token ?? '',
        BENCH_ROUTES: workload.name === 'routes' ? `${running.routes}` : '',
      },
    },
  );
  const after = pid === undefined ? [] : processTree(pid);
  const line = /^RESULT (.+)$/m.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk said nothing:\n${stdout}`);
  const result = JSON.parse(line) as Record<'requests' | 'microseconds' | 'failed' | 'p50' | 'p99', number>;
  return {
    requestsPerSecond: result.requests / (result.microseconds / 1e6),
    cpuPerRequest: pid === undefined ? Number.NaN : cpuBetween(before, after) / result.requests,
    p50: result.p50 / 1000,
    p99: result.p99 / 1000,
    residentMegabytes: residentMegabytes(after),
    requests: result.requests,
    failed: result.failed,
  };
}

/**
 * One request of the workload, and one that shows what the proxy adds.
 *
 * @throws Error when the answer is not the backend's, or a forwarded header or the request id is missing: a proxy that
 * does less would be measured as if it were fast.
 */
export async function check(running: Running, workload: Workload, isProxy: boolean): Promise<void> {
  const answer = await send(running, workload.method, workload.path, workload.body);
  if (answer.status !== 200 || answer.body.length !== workload.answerBytes) {
    throw new Error(`${workload.name}: status ${answer.status}, ${answer.body.length} bytes`);
  }
  if (!isProxy) return;
  const { body } = await send(running, 'GET', '/v2/seen', undefined);
  const seen = JSON.parse(body.toString()) as Record<'for' | 'proto' | 'host' | 'id', string>;
  const ok =
    // Envoy writes the machine's address in place of a loopback one.
    isIP(seen.for) !== 0 &&
    seen.proto === 'http' &&
    seen.host.startsWith('api.example.com') &&
    seen.id.length >= 16;
  if (!ok) throw new Error(`the backend saw ${body.toString()}`);
}

function send(
  running: Running,
  method: string,
  path: string,
  body: string | undefined,
): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = { host: 'api.example.com' };
    if (running.token !== undefined) headers['authorization'] = `Bearer ${running.token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    const req = request(
      { host: '127.0.0.1', port: running.port, method, path, headers, agent: false },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () => resolve({ status: res.statusCode ?? 0, body: Buffer.concat(chunks) }));
        res.on('error', reject);
      },
    );
    req.on('error', reject);
    req.end(body);
  });
}
