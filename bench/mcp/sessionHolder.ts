/**
 * A process of its own that holds MCP sessions. It reads one JSON order a line: `{"open":N}` opens so many and says
 * that they are initialized, `{}` ends them all. It answers each order with one line: how many are open. Sessions share
 * a few connections, so that the gateway's memory for connections is none of theirs.
 */
import { createInterface } from 'node:readline';
import { HttpClient } from './client.ts';
import { HttpConnection } from './httpConnection.ts';

export interface HolderOrders {
  readonly open?: number;
}

const url = new URL(process.env['BENCH_URL'] ?? '');
const token = process.env['BENCH_TOKEN'];
/** Each with its sessions: a connection takes one request at a time. */
const connections = Array.from({ length: 16 }, () => ({
  connection: new HttpConnection(Number(url.port)),
  clients: [] as HttpClient[],
}));
const work = { method: 'tools/call', tool: 'echo', era: 'legacy' } as const;

for await (const line of createInterface({ input: process.stdin })) {
  const { open: wanted } = JSON.parse(line) as HolderOrders;
  let left = wanted ?? 0;
  await Promise.all(
    connections.map(async ({ connection, clients }) => {
      while (left-- > 0) {
        const client = new HttpClient(0, url, token, work, connection);
        await client.open();
        clients.push(client);
      }
      if (wanted === undefined) for (const client of clients.splice(0)) await client.end();
    }),
  );
  console.log(connections.reduce((sum, { clients }) => sum + clients.length, 0));
}
