/**
 * A process of its own that sends requests at a steady rate: `node load.ts PORT PATH`. It reads one JSON order a line,
 * `{"rate":5000,"seconds":3}`, and answers each with one line: `{"requests":N,"failed":N,"late":N}`.
 */
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { requestHeaders } from '../http/load.ts';

export interface RateOrder {
  readonly rate: number;
  readonly seconds: number;
}

export interface RateResult {
  readonly requests: number;
  /** Answers that were not 200. */
  readonly failed: number;
  /** Requests that found no free connection in their time, and were sent later. */
  readonly late: number;
}

const connections = 64;
const tickMs = 2;
const [port, path = '/'] = process.argv.slice(2);
const message = [
  `GET ${path} HTTP/1.1`,
  'Host: api.example.com',
  ...requestHeaders.map(([name, value]) => `${name}: ${value}`),
  '\r\n',
].join('\r\n');

const free: Socket[] = [];
let requests = 0;
let failed = 0;

function open(): Socket {
  const socket = connect(Number(port), '127.0.0.1').setNoDelay(true);
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1');
    const end = answer.indexOf('\r\n\r\n');
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(answer)?.[1]);
    if (end < 0 || answer.length < end + 4 + length) return;
    if (!answer.startsWith('HTTP/1.1 200')) failed++;
    requests++;
    answer = '';
    free.push(socket);
  });
  socket.on('error', (error) => {
    throw error;
  });
  return socket;
}

async function send({ rate, seconds }: RateOrder): Promise<RateResult> {
  requests = 0;
  failed = 0;
  let sent = 0;
  let late = 0;
  const start = performance.now();
  for (let now = start; now < start + seconds * 1_000; now = performance.now()) {
    const due = Math.floor(((now - start) / 1_000) * rate);
    while (sent < due && free.length > 0) {
      free.pop()?.write(message);
      sent++;
    }
    if (sent < due) late++;
    await delay(tickMs);
  }
  while (free.length < connections) await delay(tickMs);
  return { requests, failed, late };
}

free.push(...Array.from({ length: connections }, open));
for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await send(JSON.parse(line) as RateOrder)));
