import { processTree, residentMegabytes } from '../processes.ts';
import { echoServer } from '../mcp/gateways.ts';
import type { SoakGateway } from './gateway.ts';

/** Megabytes, but for the first and the last. */
export interface MemorySample {
  readonly minute: number;
  /** The memory of the gateway's own processes, without the MCP servers that it starts. */
  readonly resident: number;
  /** In use, of V8's heap; garbage included. */
  readonly heap: number;
  /** Buffers outside of the heap. */
  readonly external: number;
  readonly files: number;
}

export async function readMemory(gateway: SoakGateway, minute: number): Promise<MemorySample> {
  const own = processTree(gateway.program.pid).filter(({ command }) => !command.includes(echoServer));
  const metrics = await readMetrics(gateway.statsPort);
  const megabytes = (name: string) => metrics(name) / 2 ** 20;
  return {
    minute,
    resident: residentMegabytes(own),
    heap: megabytes('nodejs_heap_size_used_bytes'),
    external: megabytes('nodejs_external_memory_bytes'),
    files: metrics('process_open_fds'),
  };
}

/** The sum of all series of a metric; NaN where it cannot be read. */
async function readMetrics(port: number): Promise<(name: string) => number> {
  try {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return (name) => {
      const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
      return values.length === 0 ? Number.NaN : values.reduce((sum, [, value]) => sum + Number(value), 0);
    };
  } catch {
    return () => Number.NaN;
  }
}
