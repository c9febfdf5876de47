import { largeText, onThread } from '../../../files/index.ts';
import type { OperationChoice } from '../../../model/index.ts';
import { describeApi, describeLinked, type Description } from './describe.ts';
import type { DescribeOrder, Described } from './describeWorker.ts';
import { DescriptionError } from './descriptionText.ts';
import type { LinkedDocuments, MissingDocuments } from './linkedDocuments.ts';

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
  return (await onOtherThread({ text, choice }, signal)) as Description;
}

/**
 * The same as `describeLinked`, on a thread of its own for large texts.
 * @param signal ends the thread
 * @throws DescriptionError; Error where the thread fails or was ended
 */
export async function describeLinkedElsewhere(
  text: string,
  choice: OperationChoice,
  documents: LinkedDocuments,
  signal: AbortSignal,
): Promise<Description | MissingDocuments> {
  const length = [...documents.texts.values()].reduce((sum, one) => sum + one.length, text.length);
  if (length < largeText) return describeLinked(text, choice, documents);
  return await onOtherThread({ text, choice, documents }, signal);
}

async function onOtherThread(
  workerData: DescribeOrder,
  signal: AbortSignal,
): Promise<Description | MissingDocuments> {
  const order = { program, workerData, maxHeapMb, reads: 'the description' };
  return await onThread(order, signal, (found: Described) => {
    if ('problem' in found) throw new DescriptionError(found.problem);
    return found;
  });
}
