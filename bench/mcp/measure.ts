import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cpuBetween, processTree, residentMegabytes, type ProcessRecord } from '../processes.ts';
import { echoServer, type RunningGateway } from './gateways.ts';
import type { LoadOrders, LoadResult } from './load.ts';

const loadProgram = fileURLToPath(new URL('load.ts', import.meta.url));

/** A run against a gateway. */
export interface McpSample {
  readonly callsPerSecond: number;
  /** Microseconds of the gateway's own processes; NaN where there is none. */
  readonly gatewayCpuPerCall: number;
  /** Microseconds of the echo servers together. */
  readonly serverCpuPerCall: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The resident memory of the gateway's own processes. */
  readonly residentMegabytes: number;
}

/** A load generator with open sessions. */
export interface OpenLoad {
  /**
   * Sends requests for some seconds and reads CPU times right before and right after.
   * @throws Error when an answer is wrong or a session breaks.
   */
  sample(seconds: number, onLoad?: () => void): Promise<McpSample>;
  /** Closes the sessions. */
  close(): Promise<void>;
}

/**
 * Opens sessions with a gateway.
 *
 * @param running absent: the load generator starts the servers
 * @throws Error when an answer is wrong or a session breaks.
 */
export async function openLoad(
  running: RunningGateway | undefined,
  orders: LoadOrders,
  core: number,
): Promise<OpenLoad> {
  const load = spawn('taskset', ['-c', `${core}`, process.execPath, loadProgram], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, BENCH_LOAD: JSON.stringify(orders) },
  });
  const exited = once(load, 'exit');
  const lines = createInterface({ input: load.stdout })[Symbol.asyncIterator]();
  const read = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the load generator ended early');
    return JSON.parse(value) as unknown;
  };
  const root = running?.program.pid ?? load.pid ?? 0;
  const besides = (): ProcessRecord[] => (running?.beside ?? []).flatMap(({ pid }) => processTree(pid));
  // A load generator that ended early takes no lines, and `read` throws the error about it.
  load.stdin.on('error', () => undefined);
  await read();
  return {
    async sample(seconds, onLoad) {
      const before = processTree(root);
      const besideBefore = besides();
      onLoad?.();
      load.stdin.write(`${seconds}\n`);
      const result = (await read()) as LoadResult;
      const after = processTree(root);
      const besideAfter = besides();

      // The whole command line: a gateway has the server's among its own arguments.
      const isServer = ({ command }: ProcessRecord) => command.trim() === `${process.execPath} ${echoServer}`;
      const own = after.filter((record) => !isServer(record));
      return {
        callsPerSecond: result.calls / result.seconds,
        gatewayCpuPerCall: running === undefined ? Number.NaN : cpuBetween(before, own) / result.calls,
        serverCpuPerCall:
          (cpuBetween(before, after.filter(isServer)) + cpuBetween(besideBefore, besideAfter)) / result.calls,
        p50: result.p50,
        p99: result.p99,
        residentMegabytes: running === undefined ? Number.NaN : residentMegabytes(own),
      };
    },
    async close() {
      load.stdin.write('end\n');
      await exited;
    },
  };
}
