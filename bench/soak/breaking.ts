import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { oneMegabyte, post, small } from '../http/workloads.ts';
import type { SoakGateway } from './gateway.ts';

/** A client that leaves: what it sends, and when it goes. */
interface Breaking {
  readonly tls?: true;
  readonly send: string;
  /** After so many bytes of the answer; 0 is at once. */
  readonly after: number;
}

const head = (method: string, path: string, more = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: api.example.com\r\n${more}\r\n`;

/** Each leaves something half done behind. */
export const breakings: readonly Breaking[] = [
  { send: 'GET /v2/ord', after: 0 },
  { send: head('GET', small.path), after: 0 },
  { send: head('GET', oneMegabyte.path), after: 1 },
  { send: head('GET', oneMegabyte.path), after: 300_000 },
  { send: `${head('POST', post.path, 'Content-Length: 100000\r\n')}half`, after: 0 },
  { send: `${head('POST', post.path, 'Transfer-Encoding: chunked\r\n')}5\r\nhal`, after: 0 },
  { send: head('GET', small.path).repeat(20), after: 100 },
  { send: 'NONSENSE\r\n\r\n', after: 1 },
  { tls: true, send: '', after: 0 },
  { tls: true, send: head('GET', oneMegabyte.path), after: 50_000 },
];

/** Resolves when the connection is gone; never rejects, since being refused is an end as good as any. */
export function breakOff({ tls, send, after }: Breaking, gateway: SoakGateway): Promise<void> {
  return new Promise((resolve) => {
    const host = '127.0.0.1';
    const socket: Socket =
      tls === true
        ? connectTls({ host, port: gateway.tlsPort, rejectUnauthorized: false })
        : connect(gateway.port, host);
    let received = 0;
    // With a reset, which is how most clients that lose interest look from here.
    const leave = () => (tls === true ? socket.destroy() : socket.resetAndDestroy());
    socket.setTimeout(5000, leave);
    socket.on(tls === true ? 'secureConnect' : 'connect', () => {
      socket.write(send, () => {
        if (after === 0) leave();
      });
    });
    socket.on('data', (chunk) => {
      received += chunk.length;
      if (received >= after) leave();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
  });
}
