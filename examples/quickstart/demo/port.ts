import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** The wanted port if nobody has it, else a free one. Somebody may still take it before it is used. */
export async function freePort(wanted: number): Promise<number> {
  return (await tryPort(wanted)) ?? (await tryPort(0)) ?? wanted;
}

async function tryPort(port: number): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen(port);
    await once(server, 'listening');
    const { port: taken } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    return taken;
  } catch {
    return undefined;
  }
}
