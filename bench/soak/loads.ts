import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadWithH2load } from '../http/h2load.ts';
import type { Load, LoadResult } from '../http/load.ts';
import type { Setting } from '../http/setting.ts';
import { oneMegabyte, post, small, tenKilobytes, type Workload } from '../http/workloads.ts';
import { loadWithWrk } from '../http/wrk.ts';
import type { LoadOrders } from '../mcp/load.ts';
import { breakOff, breakings } from './breaking.ts';
import { breakOffHttp2, http2Breakings } from './breakingHttp2.ts';
import type { SoakGateway } from './gateway.ts';

/** The counts of the work that the gateway got. */
export interface Counts {
  requests: number;
  failed: number;
  brokenOff: number;
  mcpCalls: number;
  mcpFailures: number;
  reloads: number;
}

export interface Loads {
  describe(): string;
  /** Ends all of them after their present round. */
  stop(): Promise<Counts>;
}

const mcpLoad = fileURLToPath(new URL('../mcp/load.ts', import.meta.url));

/** Starts everything that a gateway may meet, all at once and over and over. */
export function startLoads(setting: Setting, gateway: SoakGateway): Loads {
  const counts: Counts = { requests: 0, failed: 0, brokenOff: 0, mcpCalls: 0, mcpFailures: 0, reloads: 0 };
  const stopped = new AbortController();
  const loop = async (turn: (number: number) => Promise<void>) => {
    for (let number = 0; !stopped.signal.aborted; number++) await turn(number);
  };
  const plain = `http://127.0.0.1:${gateway.port}`;
  const secure = `https://127.0.0.1:${gateway.tlsPort}`;
  const steady = (
    url: string,
    workload: Workload,
    connections: number,
    load: (what: Load) => Promise<LoadResult> = loadWithWrk,
  ) =>
    loop(async () => {
      // Rounds of some seconds: connections come and go, too.
      const result = await load({ url, workload, connections, core: setting.cores[1], seconds: 5 });
      counts.requests += result.requests;
      counts.failed += result.failed;
    });
  const running = [
    steady(plain, small, 16),
    steady(plain, post, 8),
    steady(plain, tenKilobytes, 8),
    steady(plain, oneMegabyte, 2),
    steady(secure, small, 8),
    steady(secure, tenKilobytes, 4),
    steady(secure, small, 16, loadWithH2load),
    steady(secure, oneMegabyte, 8, loadWithH2load),
    loop(async (number) => {
      const kind = breakings[number % breakings.length];
      if (kind !== undefined) await breakOff(kind, gateway);
      counts.brokenOff++;
      await delay(20);
    }),
    loop(async (number) => {
      const kind = http2Breakings[number % http2Breakings.length];
      if (kind !== undefined) await breakOffHttp2(kind, gateway);
      counts.brokenOff++;
      await delay(20);
    }),
    loop(async () => {
      const calls = await callTools(setting, gateway);
      if (calls === undefined) counts.mcpFailures++;
      else counts.mcpCalls += calls;
    }),
    loop(async (number) => {
      // In steps, so that the end of the run is not waited for.
      for (let step = 0; step < 20 && !stopped.signal.aborted; step++) await delay(1000);
      gateway.reload(number % 2 === 0 ? 1000 : 0);
      counts.reloads++;
    }),
  ];
  return {
    describe: () =>
      `requests ${counts.requests} (${counts.failed} failed)  broken off ${counts.brokenOff}  ` +
      `MCP calls ${counts.mcpCalls} (${counts.mcpFailures} failed)  reloads ${counts.reloads}`,
    stop: async () => {
      stopped.abort();
      await Promise.all(running);
      return counts;
    },
  };
}

/** Eight sessions that open, call for some seconds and close; the number of calls, undefined when one went wrong. */
async function callTools({ token, cores }: Setting, { mcpPort }: SoakGateway): Promise<number | undefined> {
  const orders: LoadOrders = {
    clients: 8,
    work: { method: 'tools/call', tool: 'echo', era: 'legacy' },
    target: { url: `http://127.0.0.1:${mcpPort}/mcp`, token },
  };
  const child = spawn('taskset', ['-c', `${cores[1]}`, process.execPath, mcpLoad], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, BENCH_LOAD: JSON.stringify(orders) },
  });
  child.stdin.write('5\nend\n');
  let output = '';
  for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) output += chunk;
  const result = output.trim().split('\n').at(-1) ?? '';
  return result.includes('"calls"') ? (JSON.parse(result) as { calls: number }).calls : undefined;
}
