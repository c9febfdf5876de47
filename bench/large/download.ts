/** A thread that downloads large results, so that it takes no time of the thread that measures small calls. */
import { parentPort, workerData } from 'node:worker_threads';
import type { LargeCase } from './cases.ts';
import { LargeClient } from './client.ts';

export interface Download {
  readonly port: number;
  readonly way: LargeCase;
  readonly sessions: number;
}

/** The task of the thread: a download in every session, of so many megabytes. */
export interface Order {
  readonly megabytes: number;
}

const { port, way, sessions } = workerData as Download;
const clients = Array.from(
  { length: sessions },
  () => new LargeClient(new URL(`http://127.0.0.1:${port}${way.path}`), way),
);
for (const client of clients) await client.open();

parentPort!.on('message', ({ megabytes }: Order) => {
  const { text, idLast, tool } = way;
  void Promise.all(clients.map((client) => client.call(tool, { megabytes, text, idLast }))).then(
    (bytes) => parentPort!.postMessage(Math.min(...bytes)),
    (error: unknown) => parentPort!.postMessage(String(error)),
  );
});
parentPort!.postMessage(0);
