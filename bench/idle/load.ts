/**
 * A process of its own that holds connections open. It reads one JSON order a line: `{"open":N}` opens so many and
 * sends one request on each, `{}` closes them all. It answers each order with one line: how many are open.
 */
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { requestHeaders } from '../http/load.ts';

export interface IdleOrders {
  readonly open?: number;
}

const port = Number(process.argv[2]);
const path = process.argv[3] ?? '/';
const message = [
  `GET ${path} HTTP/1.1`,
  'Host: api.example.com',
  ...requestHeaders.map(([name, value]) => `${name}: ${value}`),
  '\r\n',
].join('\r\n');

const open = new Set<Socket>();

/** Resolves when the answer is there; the connection stays. */
function request(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    open.add(socket);
    socket.on('connect', () => socket.write(message));
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      const end = answer.indexOf('\r\n\r\n');
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(answer)?.[1]);
      if (end < 0 || answer.length < end + 4 + length) return;
      answer = '';
      resolve();
    });
    socket.on('error', reject);
    socket.on('close', () => open.delete(socket));
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const orders = JSON.parse(line) as IdleOrders;
  let left = orders.open ?? 0;
  // A few at a time, so that few connections to the backend serve them all.
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (left-- > 0) await request();
    }),
  );
  if (orders.open === undefined) for (const socket of open) socket.destroy();
  console.log(orders.open === undefined ? 0 : open.size);
}
