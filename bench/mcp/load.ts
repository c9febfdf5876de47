/**
 * The load generator, a process of its own: opens the sessions, calls a while, and says `{"ready":true}`. For each line
 * with a number of seconds on stdin, it sends requests on all sessions for that time, and prints the result as one line
 * of JSON. The line `end` has it close the sessions. Its orders are one JSON object in the environment variable
 * `BENCH_LOAD`.
 */
import { createInterface } from 'node:readline';
import { HttpClient, StdioClient, type BenchClient, type Work } from './client.ts';

export interface LoadOrders {
  readonly clients: number;
  readonly work: Work;
  /** An MCP endpoint, or a command that speaks stdio. */
  readonly target:
    { readonly url: string; readonly token?: string | undefined } | { readonly command: readonly string[] };
}

export interface LoadResult {
  readonly calls: number;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Calls before those that count. */
const settlingSeconds = 2;

const orders = JSON.parse(process.env['BENCH_LOAD'] ?? '') as LoadOrders;
const lines = createInterface({ input: process.stdin });

const clients = Array.from({ length: orders.clients }, (_, index): BenchClient => {
  const { target } = orders;
  return 'url' in target
    ? new HttpClient(index, new URL(target.url), target.token, orders.work)
    : new StdioClient(index, target.command);
});
// A few at a time: a gateway starts a process for each.
for (let index = 0; index < clients.length; index += 4) {
  await Promise.all(clients.slice(index, index + 4).map((client) => client.open()));
}
// The collector works off what the opening left, so that a call pays for calls.
await callFor(settlingSeconds);
console.log(JSON.stringify({ ready: true }));

for await (const line of lines) {
  if (line === 'end') break;
  console.log(JSON.stringify(await callFor(Number(line))));
}
await Promise.all(clients.map((client) => client.close()));
process.exit(0);

/** Every client calls in a closed loop. */
async function callFor(seconds: number): Promise<LoadResult> {
  const latencies: number[] = [];
  const start = performance.now();
  const end = start + seconds * 1000;
  await Promise.all(
    clients.map(async (client) => {
      for (let now = performance.now(); now < end;) {
        await client.work();
        const then = performance.now();
        latencies.push(then - now);
        now = then;
      }
    }),
  );
  const elapsed = (performance.now() - start) / 1000;
  latencies.sort((a, b) => a - b);
  const quantile = (q: number) => latencies[Math.floor(latencies.length * q)] ?? Number.NaN;
  return { calls: latencies.length, seconds: elapsed, p50: quantile(0.5), p99: quantile(0.99) };
}
