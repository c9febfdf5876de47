/**
 * A thread of the main process that keeps the token buckets of all workers, started by `counter.ts`. It has a thread of
 * its own because the main one may be busy for a while, with a large configuration for instance, and every request of a
 * limited route waits for the answer.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { serveTokens } from './serveTokens.ts';

const { path, secret } = workerData as { readonly path: string; readonly secret: string };
await serveTokens(path, secret);
parentPort?.postMessage('ready');
