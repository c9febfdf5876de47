import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below those that the system gives to clients by itself (from 32 768 on Linux), any of which may be somebody's in the
 * next moment, and those of NodePorts (from 30 000).
 */
const lowest = 20_000;
const highest = 29_999;

/** Ports that were free a moment ago, for connections and for datagrams, all of them different. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest + 1);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const socket = createSocket('udp4');
  try {
    await once(server.listen(port), 'listening');
    await once(socket.bind(port), 'listening');
    return true;
  } catch {
    return false;
  } finally {
    if (server.listening) await once(server.close(), 'close');
    await once(socket.close(), 'close');
  }
}
