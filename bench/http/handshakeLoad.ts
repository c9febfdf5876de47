/**
 * A process of its own: clients that open a TLS connection, send one request, read the answer to its end and begin
 * again. Its orders are one JSON object in the environment variable `BENCH_LOAD`; the result is one on stdout.
 */
import { connect, type ConnectionOptions } from 'node:tls';
import type { HandshakeOrders } from './handshakes.ts';
import { quantiles, requestHeaders, type LoadResult } from './load.ts';

const orders = JSON.parse(process.env['BENCH_LOAD'] ?? '') as HandshakeOrders;

const head = [
  `GET ${orders.path} HTTP/1.1`,
  'Host: api.example.com',
  ...requestHeaders.map(([name, value]) => `${name}: ${value}`),
  'Connection: close',
  '\r\n',
].join('\r\n');

// The same curve for all, or the newest servers and clients would agree on a dearer one than the others.
const options: ConnectionOptions = {
  host: '127.0.0.1',
  port: orders.port,
  servername: 'api.example.com',
  ALPNProtocols: ['http/1.1'],
  rejectUnauthorized: false,
  ecdhCurve: 'X25519',
  minVersion: 'TLSv1.3',
};

interface Outcome {
  readonly ok: boolean;
  readonly ticket: Buffer | undefined;
}

function once(ticket: Buffer | undefined): Promise<Outcome> {
  return new Promise((resolve) => {
    let next: Buffer | undefined;
    let answer = '';
    let reused = false;
    const socket = connect(ticket === undefined ? options : { ...options, session: ticket });
    socket.on('session', (session) => (next = session));
    socket.on('secureConnect', () => {
      reused = socket.isSessionReused();
      socket.write(head);
    });
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    socket.on('error', () => resolve({ ok: false, ticket: undefined }));
    // A resumed connection that was not resumed is a failure: the row would show something else.
    socket.on('close', () =>
      resolve({
        ok: answer.startsWith('HTTP/1.1 200') && reused === (ticket !== undefined),
        ticket: orders.resume ? next : undefined,
      }),
    );
  });
}

const times: number[] = [];
let failed = 0;
const start = performance.now();
const end = start + orders.seconds * 1000;
await Promise.all(
  Array.from({ length: orders.clients }, async () => {
    let ticket: Buffer | undefined;
    for (let now = performance.now(); now < end;) {
      const outcome = await once(ticket);
      if (!outcome.ok) failed++;
      ({ ticket } = outcome);
      const then = performance.now();
      times.push(then - now);
      now = then;
    }
  }),
);
const result: LoadResult = {
  requests: times.length,
  seconds: (performance.now() - start) / 1000,
  failed,
  ...quantiles(times),
};
console.log(JSON.stringify(result));
