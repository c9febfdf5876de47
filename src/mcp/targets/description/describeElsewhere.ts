import { Worker } from 'node:worker_threads';
import type { OperationChoice } from '../../../model/index.ts';
import { describeApi, type Description } from './describe.ts';
import type { DescribeOrder, Described } from './describeWorker.ts';
import { DescriptionError } from './descriptionText.ts';

/** A text this long takes long enough to parse that requests would notice. */
const largeText = 65_536;

/** The compiled program has the worker beside it as JavaScript. */
const program = new URL(
  import.meta.url.endsWith('.ts') ? './describeWorker.ts' : './describeWorker.js',
  import.meta.url,
);

/** A description that needs more must not take the memory of the gateway. */
const maxHeapMb = 1_024;

/**
 * The same as `describeApi`, on a thread of its own for a large text.
 * @param signal ends the thread
 * @throws DescriptionError; Error where the thread fails or was ended
 */
export async function describeElsewhere(
  text: string,
  choice: OperationChoice,
  signal: AbortSignal,
): Promise<Description> {
  if (text.length < largeText) return describeApi(text, choice);
  signal.throwIfAborted();
  const order: DescribeOrder = { text, choice };
  const worker = new Worker(program, {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const end = (): void => void worker.terminate();
  signal.addEventListener('abort', end, { once: true });
  try {
    const found = await answerOf(worker);
    if ('problem' in found) throw new DescriptionError(found.problem);
    return found;
  } finally {
    signal.removeEventListener('abort', end);
    await worker.terminate();
  }
}

const answerOf = (worker: Worker): Promise<Described> =>
  new Promise((resolve, reject) => {
    worker.once('message', (found: Described) => resolve(found));
    worker.once('error', reject);
    worker.once('exit', (code) =>
      reject(new Error(`the thread that reads the description ended with code ${code}`)),
    );
  });
