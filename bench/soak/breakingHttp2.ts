import { connect } from 'node:http2';
import { oneMegabyte, post, small, type Workload } from '../http/workloads.ts';
import type { SoakGateway } from './gateway.ts';

/** A client of HTTP/2 that loses interest. */
interface Http2Breaking {
  readonly streams: number;
  readonly workload: Workload;
  /** A request whose body never ends. */
  readonly endless?: true;
  /** After so many bytes of all answers; 0 is at once. */
  readonly after: number;
  /** Each stream by itself, with the connection kept for a next request, or the connection with all of them. */
  readonly leaves: 'streams' | 'connection';
}

/** Each leaves something half done behind. */
export const http2Breakings: readonly Http2Breaking[] = [
  { streams: 20, workload: small, after: 0, leaves: 'connection' },
  { streams: 20, workload: small, after: 0, leaves: 'streams' },
  { streams: 4, workload: oneMegabyte, after: 100_000, leaves: 'connection' },
  { streams: 4, workload: oneMegabyte, after: 100_000, leaves: 'streams' },
  { streams: 4, workload: post, endless: true, after: 0, leaves: 'connection' },
  { streams: 4, workload: post, endless: true, after: 0, leaves: 'streams' },
];

/** Resolves when the connection is gone; never rejects, since being refused is an end as good as any. */
export function breakOffHttp2(
  { streams, workload, endless, after, leaves }: Http2Breaking,
  { tlsPort }: SoakGateway,
): Promise<void> {
  return new Promise((resolve) => {
    const session = connect(`https://127.0.0.1:${tlsPort}`, { rejectUnauthorized: false });
    session.setTimeout(5_000, () => session.destroy());
    session.on('error', () => undefined);
    session.on('close', () => resolve());
    const open = () => {
      const headers = { ':path': workload.path, ':authority': 'api.example.com' };
      const stream = session.request(endless === undefined ? headers : { ...headers, ':method': 'POST' }, {
        endStream: endless === undefined,
      });
      stream.on('error', () => undefined);
      return stream;
    };
    session.on('connect', () => {
      const all = Array.from({ length: streams }, open);
      if (endless !== undefined) for (const stream of all) stream.write('half');
      const leave = () => {
        if (leaves === 'connection') return session.destroy();
        for (const stream of all) stream.close(8);
        // The connection is as good as it was.
        const last = open();
        last.resume().on('close', () => session.destroy());
        if (endless !== undefined) last.end();
      };
      let received = 0;
      // The frames of a request have left before its answer, or the next turn, comes.
      if (after === 0) setImmediate(leave);
      for (const stream of all)
        stream.on('data', (chunk: Buffer) => {
          const before = received;
          received += chunk.length;
          if (before < after && received >= after) leave();
        });
    });
  });
}
