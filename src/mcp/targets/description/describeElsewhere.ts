import { largeText, onThread } from '../../../files/index.ts';
import type { OperationChoice } from '../../../model/index.ts';
import { describeApi, type Description } from './describe.ts';
import type { DescribeOrder, Described } from './describeWorker.ts';
import { DescriptionError } from './descriptionText.ts';

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
  const workerData: DescribeOrder = { text, choice };
  const order = { program, workerData, maxHeapMb, reads: 'the description' };
  return await onThread(order, signal, (found: Described) => {
    if ('problem' in found) throw new DescriptionError(found.problem);
    return found;
  });
}
