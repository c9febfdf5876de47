import { setImmediate as nextTurn } from 'node:timers/promises';
import { receiveMessageOnPort, MessageChannel, type MessagePort } from 'node:worker_threads';
import { onThread } from '../files/index.ts';
import { withRoutes, type Route } from '../model/index.ts';
import type { LoadOptions, LoadResult } from './load.ts';
import type { LoadOrder, Portion } from './loadWorker.ts';

/** The compiled program has the worker beside it as JavaScript. */
const program = new URL(
  import.meta.url.endsWith('.ts') ? './loadWorker.ts' : './loadWorker.js',
  import.meta.url,
);

/** A configuration that needs more must not take the memory of the gateway. */
const maxHeapMb = 2_048;

/**
 * Reads a large configuration on a thread of its own, and takes the model over in portions, a portion a turn of the
 * event loop: requests are served meanwhile.
 *
 * @param signal ends the thread
 * @throws Error where the thread fails or was ended
 */
export async function loadElsewhere(
  text: string,
  options: LoadOptions,
  signal: AbortSignal,
): Promise<LoadResult> {
  signal.throwIfAborted();
  const { port1, port2 } = new MessageChannel();
  const workerData: LoadOrder = { text, file: options.file, env: { ...options.env }, port: port2 };
  const order = { program, workerData, transferList: [port2], maxHeapMb, reads: 'the file' };
  try {
    // The message says that everything is in the port.
    return await onThread(order, signal, () => received(port1));
  } finally {
    port1.close();
  }
}

async function received(port: MessagePort): Promise<LoadResult> {
  const routes: Route[] = [];
  for (;;) {
    const found = receiveMessageOnPort(port) as { readonly message: Portion } | undefined;
    if (found === undefined) throw new Error('the thread that reads the file sent no result');
    const { message } = found;
    if ('refused' in message) return message.refused;
    if ('frame' in message) return { ...message.rest, model: withRoutes(message.frame, routes) };
    routes.push(...message.routes);
    await nextTurn();
  }
}
