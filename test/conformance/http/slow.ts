import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startGateway } from '../../support/gateway.ts';
import { listenOnLoopback } from '../../support/loopback.ts';

const CONNECTIONS = 300;
const SECONDS = 20;

/** The path whose answer is larger than the system's buffers for a client that does not read. */
const LARGE = '/large';
const large = Buffer.alloc(5_000_000);

/** Attacks of slowhttptest, and what they ask for. */
const modes = [
  { name: 'slow heads (-H)', args: ['-H'], path: '/' },
  { name: 'slow bodies (-B)', args: ['-B'], path: '/' },
  {
    name: 'slow readers (-X)',
    args: ['-X', '-n', '5', '-z', '32', '-w', '512', '-y', '1024'],
    path: LARGE,
  },
] as const;

export interface Slowness {
  readonly name: string;
  /** Seconds in which a new client was not served. */
  readonly unavailable: number;
  /** Connections of the attack at most, and those still open at its end. */
  readonly most: number;
  readonly left: number;
}

/** Runs each attack against the gateway, whose limits fit into its time. @throws Error where the program is not there */
export async function runSlow(): Promise<readonly Slowness[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-slow-'));
  const backend = createServer((incoming, outgoing) => {
    incoming.on('end', () => outgoing.end(incoming.url === LARGE ? large : 'ok'));
    incoming.resume();
  });
  const { port, close } = await listenOnLoopback(backend);
  const gateway = await startGateway({
    config: { limits: { headTimeout: '5s', bodyTimeout: '4s' } },
    binds: [{ listeners: [{ routes: [{ backends: [{ host: `127.0.0.1:${port}` }] }] }] }],
  });
  try {
    const results: Slowness[] = [];
    for (const { name, args, path } of modes) {
      const file = join(folder, args[0]);
      const target = ['-u', `http://127.0.0.1:${gateway.port}${path}`, '-g', '-o', file, '-v', '0'];
      const effort = ['-c', String(CONNECTIONS), '-r', '200', '-i', '5', '-l', String(SECONDS), '-p', '5'];
      const child = spawn('slowhttptest', [...args, ...target, ...effort], { stdio: 'ignore' });
      const ended = once(child, 'close');
      // Counted at the gateway, towards the end: the program does not notice that its slow readers were reset.
      await Promise.race([ended, delay((SECONDS - 2) * 1_000)]);
      const left = openConnections(gateway.port);
      await ended;
      results.push({ name, left, ...tally(readFileSync(`${file}.csv`, 'utf8')) });
    }
    return results;
  } finally {
    await gateway.stop();
    await close();
    rmSync(folder, { recursive: true });
  }
}

/** Columns: seconds, closed, pending, connected, available. The first second has no probe yet. */
function tally(csv: string): Pick<Slowness, 'unavailable' | 'most'> {
  const rows = csv
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.split(',').map(Number));
  return {
    unavailable: rows.filter((row) => row[4] === 0).length,
    most: Math.max(0, ...rows.map((row) => (row[1] ?? 0) + (row[3] ?? 0))),
  };
}

/** Sockets of this port for which the system still keeps something: neither listening (0A) nor only waiting (06). */
function openConnections(port: number): number {
  const local = new RegExp(
    `^ *\\d+: [0-9A-F]+:${port.toString(16).toUpperCase().padStart(4, '0')} \\S+ (?!0A|06)`,
    'gm',
  );
  return ['/proc/net/tcp', '/proc/net/tcp6'].reduce(
    (sum, file) => sum + (readFileSync(file, 'utf8').match(local)?.length ?? 0),
    0,
  );
}
