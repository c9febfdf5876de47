import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Load, LoadResult } from './load.ts';

const program = fileURLToPath(new URL('handshakeLoad.ts', import.meta.url));

/** The orders for the program beside. */
export interface HandshakeOrders {
  readonly port: number;
  readonly path: string;
  readonly seconds: number;
  readonly clients: number;
  /** Come back with the ticket of the connection before. */
  readonly resume: boolean;
}

/** A new TLS connection for each request, with a whole handshake or a resumed one. */
export const loadWithHandshakes =
  (resume: boolean) =>
  async ({ url, workload, core, seconds }: Load): Promise<LoadResult> => {
    const orders: HandshakeOrders = {
      port: Number(new URL(url).port),
      path: workload.path,
      seconds,
      clients: 16,
      resume,
    };
    const child = spawn('taskset', ['-c', `${core}`, process.execPath, program], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, BENCH_LOAD: JSON.stringify(orders) },
    });
    let output = '';
    for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) output += chunk;
    if (output === '') throw new Error('the handshake load ended early');
    return JSON.parse(output) as LoadResult;
  };
