import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const holders = Array.from({ length: count }, () => createServer().listen(0));
  await Promise.all(holders.map((holder) => once(holder, 'listening')));
  const ports = holders.map((holder) => (holder.address() as AddressInfo).port);
  for (const holder of holders) holder.close();
  await Promise.all(holders.map((holder) => once(holder, 'close')));
  return ports;
}
