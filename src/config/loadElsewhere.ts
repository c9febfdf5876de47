import { setImmediate as nextTurn } from 'node:timers/promises';
import { receiveMessageOnPort, MessageChannel, Worker, type MessagePort } from 'node:worker_threads';
import { withRoutes, type Route } from '../model/index.ts';
import type { LoadOptions, LoadResult } from './load.ts';
import type { LoadOrder, Portion } from './loadWorker.ts';

/** A text this long takes long enough to parse that requests would notice. */
export const largeText = 65_536;

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
  const order: LoadOrder = { text, file: options.file, env: { ...options.env }, port: port2 };
  const worker = new Worker(program, {
    workerData: order,
    transferList: [port2],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const end = (): void => void worker.terminate();
  signal.addEventListener('abort', end, { once: true });
  try {
    await sent(worker);
    signal.throwIfAborted();
    return await received(port1);
  } finally {
    signal.removeEventListener('abort', end);
    port1.close();
    await worker.terminate();
  }
}

/** Resolves when the thread has put everything into the port. */
const sent = (worker: Worker): Promise<void> =>
  new Promise((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', reject);
    worker.once('exit', (code) =>
      reject(new Error(`the thread that reads the file ended with code ${code}`)),
    );
  });

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
