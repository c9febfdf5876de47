import { readFileSync } from 'node:fs';
import { flood, floods } from '../../../src/proxy/http2/http2Floods.testing.ts';
import { RawClient } from '../../../src/proxy/wire.testing.ts';

/** The result of a flood. */
export interface Flooded {
  readonly name: string;
  readonly ended: boolean;
  readonly ms: number;
  readonly sentBytes: number;
  /** The growth of the process meanwhile, in bytes. */
  readonly grownBytes: number;
}

/** Sends each flood of HTTP/2 to a port of the process `pid`, one after the other. */
export async function runFloods(port: number, pid: number): Promise<readonly Flooded[]> {
  const results: Flooded[] = [];
  for (const [name, round] of Object.entries(floods)) {
    const client = await RawClient.connect(port);
    client.socket.setMaxListeners(0);
    const before = residentBytes(pid);
    const began = performance.now();
    const sentBytes = await flood(client, round);
    results.push({
      name,
      ended: client.ending !== 'open',
      ms: performance.now() - began,
      sentBytes,
      grownBytes: residentBytes(pid) - before,
    });
    client.close();
  }
  return results;
}

const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1_024;
