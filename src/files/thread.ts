import { Worker, type WorkerOptions } from 'node:worker_threads';

/** A text this long takes long enough to parse that requests would notice. */
export const largeText = 65_536;

/** A program for a thread of its own. */
export interface ThreadOrder extends Pick<WorkerOptions, 'workerData' | 'transferList'> {
  readonly program: URL;
  /** A text that needs more must not take the memory of the gateway. */
  readonly maxHeapMb: number;
  /** Names the text in errors: `the file`. */
  readonly reads: string;
}

/**
 * Runs a program on a thread until it has sent its one message; the thread ends when the message has been used.
 * @param signal ends the thread
 * @throws Error where the thread fails or was ended, and what `use` throws
 */
export async function onThread<Message, Result>(
  { program, maxHeapMb, reads, ...options }: ThreadOrder,
  signal: AbortSignal,
  use: (message: Message) => Result | Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const worker = new Worker(program, {
    ...options,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const end = (): void => void worker.terminate();
  signal.addEventListener('abort', end, { once: true });
  try {
    const message = await firstMessage<Message>(worker, reads);
    signal.throwIfAborted();
    return await use(message);
  } finally {
    signal.removeEventListener('abort', end);
    await worker.terminate();
  }
}

const firstMessage = <Message>(worker: Worker, reads: string): Promise<Message> =>
  new Promise((resolve, reject) => {
    worker.once('message', (message: Message) => resolve(message));
    worker.once('error', reject);
    worker.once('exit', (code) =>
      reject(new Error(`the thread that reads ${reads} ended with code ${code}`)),
    );
  });
